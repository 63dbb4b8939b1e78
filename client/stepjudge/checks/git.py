"""The git check: what an attempt changed in a repository, and whether a patch fits it."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from stepjudge.checks.check import Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import in_thread
from stepjudge.checks.running.patch import run_apply
from stepjudge.checks.running.repository import changed, shielded
from stepjudge.checks.running.root import Inside, Root
from stepjudge.checks.running.scratch import Scratch, scratch

MAX_PATCH_BYTES = 16 * 2**20


class Git(Check):
    """One repository. Nothing that it configures is run: no hook, filter, pager, external diff or file watcher."""

    kind: Literal["git"] = "git"
    repository: Inside = "."
    """Its work tree, which holds `.git`."""
    base: str = Field(default="HEAD", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./~^@{}-]{0,199}$")
    """What the work tree is compared with. An attempt can move HEAD: better a commit's full name."""
    clean: bool = False
    """Whether nothing may differ from the base, and nothing may be untracked."""
    touches: tuple[str, ...] | None = None
    """Patterns, such as `src/*`, that every changed or new path must match one of; `*` also stands for `/`."""
    applies: Inside | None = None
    """A patch in the suite's folder that must apply to the work tree."""
    applied: Inside | None = None
    """A patch in the suite's folder that must already be in the work tree: its reverse applies."""

    @model_validator(mode="after")
    def _demands_something(self) -> Self:
        if not self.clean and self.touches is None and self.applies is None and self.applied is None:
            raise ValueError("say what must hold: clean, touches, applies or applied")
        return self

    async def run(self, scene: Scene) -> Finding:
        tree = Root.of(scene).inside(self.repository)
        async with scratch(None) as made:
            unmet: list[str] = []
            evidence: list[CheckEvidence] = []
            if self.clean or self.touches is not None:
                paths = await self._changed(tree, made)
                evidence.append(CheckEvidence.of(f"changed since {self.base}", "\n".join(paths)))
                unmet += self._unmet(paths)
            for patch, option in ((self.applies, "--check"), (self.applied, "--reverse")):
                if patch is not None:
                    unmet += await self._misfit(patch, option, scene, tree, made, evidence)
        reason = f"the repository {'; '.join(unmet) or 'is as it must be'}"
        return Finding(outcome="fail" if unmet else "pass", reason=reason, evidence=tuple(evidence))

    async def _changed(self, tree: Path, made: Scratch) -> tuple[str, ...]:
        git_dir = made.out / "git"
        await in_thread(lambda clock: shielded(Root(tree), git_dir, clock))
        return await changed(tree, git_dir, made.home, self.base)

    def _unmet(self, paths: tuple[str, ...]) -> list[str]:
        unmet = [f"is not clean: {len(paths)} paths differ, such as {paths[0]!r}"] if self.clean and paths else []
        if self.touches is not None:
            stray = [path for path in paths if not any(fnmatchcase(path, each) for each in self.touches)]
            unmet += [f"was changed elsewhere: {', '.join(map(repr, stray[:5]))}"] if stray else []
        return unmet

    async def _misfit(
        self, patch: str, option: str, scene: Scene, tree: Path, made: Scratch, evidence: list[CheckEvidence]
    ) -> list[str]:
        text = Root.of_suite(scene).read(patch, MAX_PATCH_BYTES)
        ended = await run_apply(text, tree, made.home, "--check", *(() if option == "--check" else (option,)))
        if ended.status == 0:
            return []
        evidence.append(CheckEvidence.of(patch, ended.stderr.text))
        return [f"does not take {patch!r}" if option == "--check" else f"does not hold {patch!r}"]

"""The directory check: whether a folder of the final environment holds exactly what it should."""

from fnmatch import fnmatchcase
from typing import Literal, Self

from pydantic import Field, model_validator

from stepjudge.checks.check import Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.root import Inside, Root
from stepjudge.digest import digest


class Directory(Check):
    """One folder with all that is below it."""

    kind: Literal["directory"] = "directory"
    path: Inside = "."
    same_as: Inside | None = None
    """A folder in the suite's folder that it must equal, byte by byte. Links must have the same target."""
    digest: str | None = Field(default=None, pattern="^sha256:[0-9a-f]{64}$")
    """What its listing hashes to; a failing check tells what it is."""
    ignore: tuple[str, ...] = ()
    """Patterns of paths that are not looked at, such as `*.pyc` or `.git/*`; `*` also stands for `/`."""
    more: bool = False
    """Whether there may be more than `same_as` holds."""

    @model_validator(mode="after")
    def _has_one_measure(self) -> Self:
        if (self.same_as is None) == (self.digest is None):
            raise ValueError("give either same_as or digest")
        if self.more and self.same_as is None:
            raise ValueError("more: is about same_as, and a digest is of everything")
        return self

    async def run(self, scene: Scene) -> Finding:
        root = Root.of(scene)
        suite = None if self.same_as is None else Root.of_suite(scene)
        return await in_thread(lambda clock: self._look(root, suite, clock))

    def _look(self, root: Root, suite: Root | None, clock: Clock) -> Finding:
        kind = root.kind(self.path)
        if kind != "directory":
            return Finding(outcome="fail", reason=f"{self.path!r} is no folder, but {kind}")
        found = self._listed(root.tree(self.path, clock))
        if suite is not None and self.same_as is not None:
            return self._compared(found, self._listed(suite.tree(self.same_as, clock)))
        summed = digest(dict(found))
        outcome = "pass" if summed == self.digest else "fail"
        listing = "\n".join(f"{name} {entry}" for name, entry in found.items())
        evidence = (CheckEvidence.of(self.path, listing),)
        return Finding(outcome=outcome, reason=f"{self.path!r} has the digest {summed}", evidence=evidence)

    def _compared(self, found: dict[str, str], expected: dict[str, str]) -> Finding:
        lines = [f"missing: {name}" for name in expected if name not in found]
        lines += [f"different: {name}" for name in expected if found.get(name, expected[name]) != expected[name]]
        lines += [] if self.more else [f"unexpected: {name}" for name in found if name not in expected]
        if not lines:
            return Finding(outcome="pass", reason=f"{self.path!r} has the {len(expected):,} entries it must have")
        reason = f"{self.path!r} differs in {len(lines):,} entries, such as {lines[0]}"
        return Finding(outcome="fail", reason=reason, evidence=(CheckEvidence.of(self.path, "\n".join(lines)),))

    def _listed(self, tree: dict[str, str]) -> dict[str, str]:
        return {name: entry for name, entry in tree.items() if not any(fnmatchcase(name, each) for each in self.ignore)}

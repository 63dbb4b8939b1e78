"""The file check: whether a file of the final environment exists or not, which bytes it holds, and what it says."""

from typing import Literal, Self

from pydantic import Field, model_validator

from stepjudge.checks.check import Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import TextCondition
from stepjudge.checks.running.root import Inside, Root


class File(Check):
    """One file."""

    kind: Literal["file"] = "file"
    path: Inside
    exists: bool = True
    """False: nothing may be there, neither file nor folder."""
    sha256: str | None = Field(default=None, pattern=r"^(sha256:)?[0-9a-f]{64}$")
    """Of its bytes."""
    text: TextCondition | None = None
    max_bytes: int = Field(default=16 * 2**20, gt=0)
    """A text that is longer is not read, and the outcome is `error`."""

    @model_validator(mode="after")
    def _is_no_contradiction(self) -> Self:
        if not self.exists and (self.sha256 or self.text):
            raise ValueError("exists: a file that must not be there has neither sha256 nor text")
        return self

    async def run(self, scene: Scene) -> Finding:
        root = Root.of(scene)
        return await in_thread(lambda clock: self._look(root, clock))

    def _look(self, root: Root, clock: Clock) -> Finding:
        kind = root.kind(self.path)
        if not self.exists:
            return self._verdict(() if kind == "missing" else (f"is there, a {kind}",), "is not there")
        if kind != "file":
            return self._verdict(("is not there" if kind == "missing" else f"is no regular file, but a {kind}",), "")
        unmet: list[str] = []
        evidence: tuple[CheckEvidence, ...] = ()
        if self.sha256 is not None:
            found = root.sha256(self.path, clock)
            evidence += (CheckEvidence.of(f"{self.path} sha256", found),)
            unmet += [] if found == self.sha256.removeprefix("sha256:") else [f"has the digest {found}"]
        if self.text is not None:
            text = root.read(self.path, self.max_bytes).decode("utf-8", "replace")
            evidence += (CheckEvidence.of(self.path, text),)
            unmet += self.text.unmet(text, clock)
        asked = self.sha256 is not None or self.text is not None
        return self._verdict(tuple(unmet), "is as it must be" if asked else "is there", evidence)

    def _verdict(self, unmet: tuple[str, ...], met: str, evidence: tuple[CheckEvidence, ...] = ()) -> Finding:
        reason = f"{self.path!r} {', '.join(unmet) or met}"
        return Finding(outcome="fail" if unmet else "pass", reason=reason, evidence=evidence)

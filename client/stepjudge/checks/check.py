"""A check is a deterministic test of what an attempt left behind: it passes, fails, or could not be run (`error`)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, JsonValue

from stepjudge.digest import digest
from stepjudge.errors import StepjudgeError
from stepjudge.trace import Trace
from stepjudge.value import JsonObject, Value
from stepjudge.visible import visible

Outcome = Literal["pass", "fail", "error"]

MAX_EVIDENCE = 2_000
"""Characters of one piece of evidence; of longer ones head and tail are kept."""


class BadCheck(StepjudgeError):
    """A check is not well formed: which field, and how to mend it."""


class CannotCheck(StepjudgeError):
    """What a check raises when it cannot tell: its outcome is then `error`, which is not a `fail`."""


@dataclass(frozen=True)
class Scene:
    """What one attempt left behind, as its checks see it."""

    root: Path | None = None
    """The final environment."""
    final_output: str | None = None
    trace: Trace | None = None
    reference: JsonObject = field(default_factory=dict[str, JsonValue])
    """Of the task, for graders only."""
    folder: Path | None = None
    """The suite's folder, where files for graders lie beside the suite: expected folders, patches, hidden tests."""
    hosts: frozenset[str] = frozenset()
    """Hosts that whoever runs the checks lets them reach, as `name` or `name:port`; loopback needs no leave."""


class CheckEvidence(Value):
    """What was seen, and where."""

    place: str
    text: str

    @classmethod
    def of(cls, place: str, text: str) -> Self:
        """The text with every character visible, cut in the middle when it is long."""
        return cls(place=visible(place), text=visible(_cut(text)))


def _cut(text: str) -> str:
    if len(text) <= MAX_EVIDENCE:
        return text
    half = MAX_EVIDENCE // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


class Finding(Value):
    """What a check found."""

    outcome: Outcome
    reason: str
    """One sentence, full of facts."""
    evidence: tuple[CheckEvidence, ...] = ()


class CheckResult(Value):
    """A finding, as the record of an attempt keeps it."""

    name: str
    kind: str
    outcome: Outcome
    reason: str
    evidence: tuple[CheckEvidence, ...] = ()
    digest: str
    """Of outcome and evidence: two runs that saw the same have the same."""
    seconds: float = Field(ge=0)

    @classmethod
    def of(cls, name: str, kind: str, finding: Finding, seconds: float) -> Self:
        seen = finding.model_dump(mode="json", include={"outcome", "evidence"})
        return cls(
            name=name,
            kind=kind,
            outcome=finding.outcome,
            reason=visible(_cut(finding.reason)),
            evidence=finding.evidence,
            digest=digest(seen),
            seconds=round(seconds, 3),
        )


class Check(Value, ABC):
    """What every check is built on. Its module in `stepjudge.checks` is found by itself."""

    kind: Any
    """Says which check this is: a `Literal` in each, which the type checker would not take in place of `str`."""
    name: str | None = Field(default=None, min_length=1, max_length=200)
    """As views name it, `check.NAME`; the kind when null."""
    timeout_s: float = Field(default=60, gt=0, le=86_400)
    """Seconds after which the check is given up, with the outcome `error`."""

    @abstractmethod
    async def run(self, scene: Scene) -> Finding:
        """The finding. Raises CannotCheck when it cannot tell, and leaves nothing running, also when cancelled."""

"""A stale verdict is one that would be given anew today: the rubric, the judge or the prompt has changed since."""

from typing import Literal

from stepjudge.rubric import Rubric
from stepjudge.value import Value

Reason = Literal[
    "rubric",  # its words have changed
    "judge",  # another model, endpoint or sampling parameter
    "prompt",  # another version of what stands around the rubric, of the reader of replies, or of the facts
    "unfinished",  # it was never whole: the provider failed, or the budget was spent
]


class StaleRequest(Value):
    """Which stored verdicts would be given anew, and for how much."""

    rubric: str | Rubric | None = None
    """The rubric that takes the place of the one of its name; null for the newest version of every rubric."""
    judge: str | None = None
    """The judge that takes the place of others; null for each verdict's own, as it is configured today."""


class StaleVerdict(Value):
    """One verdict that would be given anew."""

    verdict_id: str
    key: str
    """The one that the new verdict will have."""
    step: int
    state_digest: str
    step_digest: str
    reasons: tuple[Reason, ...]
    requests: int
    """Model calls, without re-asks; none where facts settle the step, or where no model is asked."""
    cost_usd: float | None
    """From the tokens that the stored verdict took, at the judge's price; null when the price is not known."""


class StaleGroup(Value):
    """The verdicts of one judge under one version of a rubric."""

    rubric: str
    rubric_digest: str
    judge: str
    judge_digest: str
    becomes_rubric: str
    becomes_judge: str
    verdicts: int
    """Steps with a verdict: the newest of each counts."""
    current: int
    """Those that hold: the same question to the same judge is answered already."""
    reasons: dict[Reason, int]
    """Why the others do not; a verdict may have several."""
    requests: int
    cost_usd: float | None
    """Null when a price is not known."""
    why_unknown: str = ""
    """Why they cannot be given anew here; empty when they can."""
    stale: tuple[StaleVerdict, ...]
    """The first thousand, oldest first."""


class StaleReport(Value):
    """All groups, and what giving their stale verdicts anew would take together. A step of two groups is counted once."""

    groups: tuple[StaleGroup, ...]
    stale: int
    requests: int
    cost_usd: float | None

"""A mark is what a step shows at a glance: how it was read, and whether somebody should look at it."""

from dataclasses import dataclass
from typing import Literal

from stepjudge.contract import Scorecard, StepScore
from stepjudge.trace import Trace

Tone = Literal["pass", "idle", "bad", "unknown", "unjudged"]
"""The score +1, 0, −1; that it cannot be told; that nobody was asked."""

TONES: tuple[Tone, ...] = ("pass", "idle", "bad", "unknown", "unjudged")

Flag = Literal["failing", "undetermined", "ungrounded", "recovered"]
"""What the report can be filtered by."""

FLAGS: dict[Flag, str] = {
    "failing": "Steps that do not pass",
    "undetermined": "Steps with an answer that could not be had",
    "ungrounded": "Steps with an answer whose quote does not stand where the judge said",
    "recovered": "Steps that corrected an earlier setback",
}


@dataclass(frozen=True)
class Mark:
    """One step at a glance."""

    step: int
    tone: Tone
    flags: tuple[Flag, ...] = ()


def marks(trace: Trace | None, card: Scorecard | None) -> tuple[Mark, ...]:
    """The marks of a trial's steps, judged or not."""
    scores = {score.index: score for score in card.steps} if card else {}
    recovered = {recovery.step for recovery in card.recoveries} if card else set[int]()
    taken = range(1, len(trace.steps) + 1) if trace else ()
    return tuple(
        _mark(scores[step], recovered=step in recovered) if step in scores else Mark(step, "unjudged")
        for step in sorted({*taken, *scores})
    )


def _mark(score: StepScore, *, recovered: bool) -> Mark:
    found: dict[Flag, bool] = {
        "failing": score.passes is False,
        "undetermined": any(answer.answer == "undetermined" for answer in score.details) or score.passes is None,
        "ungrounded": any(answer.ungrounded for answer in score.details),
        "recovered": recovered,
    }
    tones: dict[int | None, Tone] = {1: "pass", 0: "idle", -1: "bad", None: "unknown"}
    return Mark(score.index, tones[score.score], tuple(flag for flag, holds in found.items() if holds))

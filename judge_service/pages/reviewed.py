"""A reviewed step is one whose questions are all answered: the annotator's answers beside those of every judge."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_service.review import Sitting, Walk
from stepjudge.label import Label
from stepjudge.label_contract import StepVerdict
from stepjudge.verdict import Answer


@dataclass(frozen=True)
class Answered:
    """A question about the step, and what the annotator said; null before it is answered."""

    criterion: str
    call: int | None
    label: Label | None


@dataclass(frozen=True)
class Beside:
    """A judge's answer to a question beside the annotator's."""

    verdict: StepVerdict
    answer: Answer | None
    """Null when the judge was not asked this."""
    equal: bool | None
    """Null where one of the two does not say."""


@dataclass(frozen=True)
class Row:
    mine: Answered
    judges: tuple[Beside, ...]


def answered(walk: Walk, sitting: Sitting) -> tuple[Answered, ...]:
    return tuple(Answered(*asked, walk.said(sitting, *asked)) for asked in sitting.asked)


def rows(walk: Walk, sitting: Sitting, verdicts: Sequence[StepVerdict]) -> tuple[Row, ...]:
    """One for each question."""
    return tuple(Row(mine, tuple(_beside(mine, each) for each in verdicts)) for mine in answered(walk, sitting))


def _beside(mine: Answered, verdict: StepVerdict) -> Beside:
    theirs = next(
        (each for each in verdict.answers if (each.criterion, each.call) == (mine.criterion, mine.call)), None
    )
    said = mine.label.answer if mine.label else None
    silent = theirs is None or said in (None, "undetermined") or theirs.answer == "undetermined"
    return Beside(verdict, theirs, None if silent or theirs is None else theirs.answer == said)

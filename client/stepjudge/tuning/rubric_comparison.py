"""A rubric comparison sets one judge under two rubrics on the same labelled steps, and says if the labels tell them apart.

A step's questions, and a task's steps, are alike. So a difference counts as supported only where two tests agree: McNemar's
over the questions, and the interval that draws whole tasks again; where tasks show no spread, the sign test over tasks.
"""

from collections.abc import Sequence
from math import isclose
from typing import Literal, NamedTuple

from stepjudge.agreement import Answered
from stepjudge.difference import Difference
from stepjudge.interval import Cluster, paired_bootstrap
from stepjudge.label import SCORE, Settled, settled
from stepjudge.mcnemar import McNemar, mcnemar
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.step_reading import judged_reading, people_reading
from stepjudge.tuning.example import Example
from stepjudge.tuning.rubric_test import Answers
from stepjudge.value import Value
from stepjudge.verdict import Answer, Cause

LEVEL = 0.05

DERIVED = ("passes", "bad")


class Said(Value):
    """What the judge said under one of the rubrics."""

    answer: AnswerWord
    reason: str
    cause: Cause | None
    ungrounded: bool


class Flip(Value):
    """An answer that differs between the rubrics."""

    trace_id: str
    step: int
    state_digest: str
    step_digest: str
    criterion: str
    call: int | None
    label: Answered | None
    """What people say; null where nobody answered this, or they differ."""
    first: Said
    second: Said
    effect: Literal["gained", "lost", "neither"]
    """Whether the second is the one that agrees with people, or the first, or none can be told to."""


class PairedReading(Value):
    """One criterion, or one reading of the step, under both rubrics."""

    reading: str
    derived: bool
    """Whether it is made of the criteria."""
    labelled: int
    equal: Difference
    """The share of what people answered that the judge answered alike. Undetermined counts as unlike."""
    questions: McNemar
    tasks: McNemar
    """The sign test over tasks: those on which one rubric was alike more often than the other."""
    p_value: float
    """McNemar's, after Holm, for as many readings as were tested at once."""
    supported: bool


class RubricComparison(Value):
    """The first rubric beside the second."""

    first: str
    first_digest: str
    second: str
    second_digest: str
    judge: str
    judge_digest: str
    steps: int
    whole: PairedReading
    """All that people answered about criteria that both rubrics have, taken together."""
    readings: tuple[PairedReading, ...]
    flips: tuple[Flip, ...]
    """Every answer that differs, labelled or not, in the order of traces and steps."""

    @property
    def words(self) -> str:
        """The plain line."""
        whole = self.whole
        equal, many = whole.equal, whole.labelled
        if equal.first is None or equal.second is None:
            return "nothing that people answered was asked under both rubrics"
        counts = f"{round(equal.first * many)} → {round(equal.second * many)} of {many} answers as people gave them"
        if not whole.supported:
            return f"no difference is supported by these labels: {counts}, {whole.questions}"
        better = self.second if (equal.difference or 0) > 0 else self.first
        return f"supported: under {better} the judge answers more often as people do: {counts}, {whole.questions}"


class _Point(NamedTuple):
    """One thing that people answered, and whether the judge answered alike under each rubric."""

    reading: str
    name: str
    task: str
    first: bool
    second: bool


def rubric_comparison(
    rubrics: tuple[Rubric, Rubric], found: Sequence[Example], answers: tuple[Answers, Answers], judge: tuple[str, str]
) -> RubricComparison:
    """Both rubrics on these examples. `judge` is its name and digest. Needs the statistics of `stepjudge[labels]`."""
    first, second = rubrics
    points = [point for example in found for point in _points(example, rubrics, answers)]
    plain = [point for point in points if point.reading not in DERIVED]
    rows = [_paired(name, [each for each in points if each.reading == name]) for name in _readings(points)]
    return RubricComparison(
        first=first.reference,
        first_digest=first.digest,
        second=second.reference,
        second_digest=second.digest,
        judge=judge[0],
        judge_digest=judge[1],
        steps=len(found),
        whole=_supported(_paired("all", plain)),
        readings=tuple(map(_supported, _holm(rows))),
        flips=tuple(flip for example in _in_order(found) for flip in _flips(example, rubrics, answers)),
    )


def _points(example: Example, rubrics: tuple[Rubric, Rubric], answers: tuple[Answers, Answers]) -> list[_Point]:
    shared, mine = _shared(rubrics), settled(example.labels)
    said = (answers[0].get(example.key, ()), answers[1].get(example.key, ()))
    name = " ".join(example.key)
    points: list[_Point] = []
    for each in mine:
        criterion, call = each.question.criterion, each.question.call
        if each.said in (None, "undetermined") or criterion not in {*shared, SCORE}:
            continue
        one, two = (_told(rubric, mine_, each) == each.said for rubric, mine_ in zip(rubrics, said, strict=True))
        points.append(_Point(criterion, f"{name} {criterion} {call}", example.task, one, two))
    if rubrics[0].scoring == rubrics[1].scoring:
        people = people_reading(rubrics[0], mine, said[0])
        one, two = (judged_reading(rubric, mine_) for rubric, mine_ in zip(rubrics, said, strict=True))
        for reading in DERIVED:
            if (human := people.told(reading)) is not None:
                both = one.told(reading) == human, two.told(reading) == human
                points.append(_Point(reading, name, example.task, *both))
    return points


def _told(rubric: Rubric, said: Sequence[Answer], each: Settled) -> Answered | None:
    if each.question.criterion == SCORE:
        return judged_reading(rubric, said).score
    found = _find(said, each.question.criterion, each.question.call)
    return found and found.answer


def _flips(example: Example, rubrics: tuple[Rubric, Rubric], answers: tuple[Answers, Answers]) -> list[Flip]:
    people = {(each.question.criterion, each.question.call): each.said for each in settled(example.labels)}
    flips: list[Flip] = []
    for one in answers[0].get(example.key, ()):
        two = _find(answers[1].get(example.key, ()), one.criterion, one.call)
        if two is None or two.answer == one.answer or one.criterion not in _shared(rubrics):
            continue
        label = people.get((one.criterion, one.call))
        flips.append(
            Flip(
                trace_id=example.trace.trace_id,
                step=example.step,
                state_digest=example.key[0],
                step_digest=example.key[1],
                criterion=one.criterion,
                call=one.call,
                label=label,
                first=_said(one),
                second=_said(two),
                effect=_effect(label, one, two),
            )
        )
    return flips


def _effect(label: Answered | None, one: Answer, two: Answer) -> Literal["gained", "lost", "neither"]:
    if label in (None, "undetermined"):
        return "neither"
    return "gained" if two.answer == label else "lost" if one.answer == label else "neither"


def _said(answer: Answer) -> Said:
    return Said(answer=answer.answer, reason=answer.reason, cause=answer.cause, ungrounded=answer.ungrounded)


def _shared(rubrics: tuple[Rubric, Rubric]) -> tuple[str, ...]:
    """Criteria that both have, asked of the same unit."""
    units = {criterion.name: criterion.unit for criterion in rubrics[1].criteria}
    return tuple(each.name for each in rubrics[0].criteria if units.get(each.name) == each.unit)


def _readings(points: Sequence[_Point]) -> list[str]:
    """Criteria first, then what is made of them."""
    names = list(dict.fromkeys(point.reading for point in points))
    return sorted(names, key=lambda name: name in DERIVED)


def _paired(reading: str, points: Sequence[_Point]) -> PairedReading:
    test = mcnemar({each.name: each.first for each in points}, {each.name: each.second for each in points})
    counts: dict[str, list[_Point]] = {}
    for each in points:
        counts.setdefault(each.task, []).append(each)
    pairs = {
        task: (
            Cluster(sum(each.first for each in mine), len(mine)),
            Cluster(sum(each.second for each in mine), len(mine)),
        )
        for task, mine in counts.items()
    }
    ahead = {task: one.numerator > two.numerator for task, (one, two) in pairs.items()}
    behind = {task: one.numerator < two.numerator for task, (one, two) in pairs.items()}
    return PairedReading(
        reading=reading,
        derived=reading in DERIVED,
        labelled=len(points),
        equal=_difference(points, list(pairs.values())),
        questions=test,
        tasks=mcnemar(ahead, behind),
        p_value=test.p_value,
        supported=False,
    )


def _difference(points: Sequence[_Point], pairs: Sequence[tuple[Cluster, Cluster]]) -> Difference:
    if not points:
        return Difference(first=None, second=None, difference=None, tasks=0, why_no_interval="nothing was answered")
    one, two = (sum(sides) / len(points) for sides in zip(*((p.first, p.second) for p in points), strict=True))
    interval = paired_bootstrap(pairs, 0) if len(pairs) > 1 else None
    spread = interval is not None and not isclose(interval.low, interval.high, abs_tol=1e-12)
    return Difference(
        first=one,
        second=two,
        difference=two - one,
        tasks=len(pairs),
        interval=interval.holding(two - one) if interval and spread else None,
        why_no_interval="" if spread else "one task" if len(pairs) < 2 else "every task differs alike",
    )


def _supported(row: PairedReading) -> PairedReading:
    interval = row.equal.interval
    apart = row.tasks.p_value < LEVEL if interval is None else interval.low > 0 or interval.high < 0
    return row.model_copy(update={"supported": row.p_value < LEVEL and apart})


def _holm(rows: Sequence[PairedReading]) -> list[PairedReading]:
    """S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statistics 6 (1979) 65–70."""
    order = sorted(range(len(rows)), key=lambda place: rows[place].p_value)
    adjusted: dict[int, float] = {}
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, rows[place].p_value * (len(rows) - rank)))
        adjusted[place] = highest
    return [row.model_copy(update={"p_value": adjusted[place]}) for place, row in enumerate(rows)]


def _find(answers: Sequence[Answer], criterion: str, call: int | None) -> Answer | None:
    return next((each for each in answers if (each.criterion, each.call) == (criterion, call)), None)


def _in_order(found: Sequence[Example]) -> list[Example]:
    return sorted(found, key=lambda each: (each.trace.trace_id, each.step, each.key))

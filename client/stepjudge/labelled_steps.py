"""Labelled steps are scorecards joined with people's labels: each scored step with what people made of it, where they did.

A label meets every step with its content and its past, in whatever run. Scorecards of older services do not name these:
there it meets its step by trace and number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stepjudge.calibration import CalibratedReading, raw_reading
from stepjudge.calibration_features import features_of
from stepjudge.contract import Scorecard, StepScore
from stepjudge.digest import digest
from stepjudge.errors import StepjudgeError
from stepjudge.label import Label, Settled, settled
from stepjudge.labelled import representative
from stepjudge.labelled_draw import DrawnStep, chances
from stepjudge.labelled_sample import SampledStep
from stepjudge.rubric import Rubric
from stepjudge.step_reading import StepReading, people_reading


class CannotJoin(StepjudgeError):
    """Labels and scorecards do not belong together: where, and how to mend it."""


class LabelledStep(NamedTuple):
    """One scored step."""

    trace: str
    task: str
    step: StepScore
    people: StepReading | None
    """Null when nobody labelled it."""
    labels: tuple[Label, ...]
    drawn: StepReading | None = None
    """What people make of it by representative labels alone: blind, of a step drawn with known probability."""
    drawn_labels: tuple[Label, ...] = ()

    @property
    def key(self) -> tuple[str, str | int]:
        """Equal for steps that one label answers."""
        return (self.step.state_digest, self.step.step_digest) if _known(self.step) else (self.trace, self.step.index)


class Met(NamedTuple):
    """How the labels of a file met the steps of scorecards."""

    unmet: int
    """Labels of this rubric that label no step of the scorecards."""
    other_wording: int
    """Labels that count, although they were given for another version of the rubric."""
    other_rubric: int
    """Labels for another rubric, which do not count."""


def joined(rubric: Rubric, cards: Sequence[Scorecard], labels: Iterable[Label]) -> tuple[LabelledStep, ...]:
    """Every step of the scorecards. Raises CannotJoin when these are of several rubrics or judges, or of one trace twice."""
    _belong_together(rubric, cards)
    mine = [label for label in labels if label.rubric_name == rubric.name]
    every, drawn = _Places(mine), _Places([label for label in mine if representative(label)])
    tasks = {label.trace_id: label.task_digest for label in mine}
    return tuple(
        _step(rubric, card.trace_id, task, step, every.of(card, step), drawn.of(card, step))
        for card in cards
        for task in [_task(card, every, tasks)]
        for step in card.steps
    )


def met(rubric: Rubric, steps: Sequence[LabelledStep], labels: Iterable[Label]) -> Met:
    """How the labels met the steps that they were joined with."""
    given = [*labels]
    mine = [label for label in given if label.rubric_name == rubric.name]
    there = {(label.question, label.annotator): label for each in steps for label in each.labels}
    standing = [label for point in settled(mine) for label in point.labels]
    return Met(
        unmet=sum((label.question, label.annotator) not in there for label in standing),
        other_wording=sum(label.rubric_digest != rubric.digest for label in there.values()),
        other_rubric=len(given) - len(mine),
    )


def distinct(steps: Iterable[LabelledStep]) -> tuple[LabelledStep, ...]:
    """Each step once, however often it occurs."""
    first: dict[tuple[str, str | int], LabelledStep] = {}
    for each in steps:
        first.setdefault(each.key, each)
    return tuple(first.values())


def sample(
    steps: Sequence[LabelledStep], reading: CalibratedReading, *, traces_by_lot: bool = False
) -> tuple[tuple[SampledStep, ...], bool, int]:
    """For a correction: every step that differs, whether labels came as whole traces, and how many labels were left out.

    Left out are labelled steps without a label that is blind and of known probability, or that people could not tell.
    `traces_by_lot` says that traces were labelled whole and drawn by lot. Raises BadSample for labels that stand for
    other steps than these.
    """
    found: dict[tuple[str, str | int], list[LabelledStep]] = {}
    for each in steps:
        found.setdefault(each.key, []).append(each)
    units = list(found.values())
    said = [_told(unit[0].drawn, reading) for unit in units]
    drawn = [
        DrawnStep(bool(unit[0].labels), tuple(label.sampling for label in unit[0].drawn_labels) if word else ())
        for unit, word in zip(units, said, strict=True)
    ]
    chance = chances(drawn, traces_by_lot=traces_by_lot)
    made = tuple(
        SampledStep(
            unit[0].task,
            _trace(unit),
            _number(_judged(unit, reading)),
            _number(word),
            probability,
            len(unit),
        )
        for unit, word, probability in zip(units, said, chance, strict=True)
    )
    whole = any(sampling.design == "whole_traces" for each in drawn for sampling in each.samplings)
    return made, whole, sum(bool(each[0].labels) for each in units) - sum(word is not None for word in said)


def labels_digest(steps: Sequence[LabelledStep]) -> str:
    """Of the labels that met a step, whatever their order."""
    every = {digest(label.model_dump(mode="json", exclude_defaults=True)) for each in steps for label in each.labels}
    return digest([*sorted(every)])


def people_class(step: LabelledStep, reading: CalibratedReading) -> str | None:
    """What people make of the step; null where they did not say, or differ."""
    return _told(step.people, reading)


def drawn_class(step: LabelledStep, reading: CalibratedReading) -> str | None:
    """The same by representative labels alone."""
    return _told(step.drawn, reading)


def step_features(step: LabelledStep) -> dict[str, float]:
    """What a calibration reads of the step."""
    return features_of(step.step)


class _Places:
    """Where people stand, by the step that they speak of."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self._by_content: dict[tuple[str, str], list[Settled]] = {}
        self._by_place: dict[tuple[str, int], list[Settled]] = {}
        for point in settled(labels):
            self._by_content.setdefault(point.question[:2], []).append(point)
            for place in {(label.trace_id, label.step) for label in point.labels}:
                self._by_place.setdefault(place, []).append(point)

    def of(self, card: Scorecard, step: StepScore) -> Sequence[Settled]:
        """Of one step. Raises CannotJoin where only its place is known, and labels of several steps name it."""
        if _known(step):
            return self._by_content.get((step.state_digest, step.step_digest), ())
        points = self._by_place.get((card.trace_id, step.index), ())
        if len({point.question[:2] for point in points}) > 1:
            raise CannotJoin(
                f"step {step.index} of trace {card.trace_id!r}: labels of several runs of this name differ in what the step "
                "is, and the scorecard does not say which it scored: score the trace again (verdicts are remembered)"
            )
        return points


def _known(step: StepScore) -> bool:
    return bool(step.state_digest and step.step_digest)


def _task(card: Scorecard, places: _Places, by_trace: dict[str, str]) -> str:
    """What stands before the first step, where the scorecard or a label names it; else each trace is its own task."""
    if not all(map(_known, card.steps)):
        return by_trace.get(card.trace_id, card.trace_id)
    opening = (step.state_digest for step in card.steps if step.index == 1)
    return next(opening, None) or next(_told_tasks(card, places), card.trace_id)


def _told_tasks(card: Scorecard, places: _Places) -> Iterator[str]:
    return (label.task_digest for step in card.steps for point in places.of(card, step) for label in point.labels)


def _step(
    rubric: Rubric, trace: str, task: str, step: StepScore, points: Sequence[Settled], drawn: Sequence[Settled]
) -> LabelledStep:
    every, fair = (people_reading(rubric, some, step.details) if some else None for some in (points, drawn))
    return LabelledStep(trace, task, step, every, _labels(points), fair, _labels(drawn))


def _labels(points: Sequence[Settled]) -> tuple[Label, ...]:
    return tuple(label for point in points for label in point.labels)


def _trace(unit: Sequence[LabelledStep]) -> str:
    """Where its annotator met the step, if that is one of these traces."""
    named = {label.trace_id for label in unit[0].drawn_labels}
    return next((each.trace for each in unit if each.trace in named), unit[0].trace)


def _judged(unit: Sequence[LabelledStep], reading: CalibratedReading) -> str | None:
    """The judge's usual reading: asked afresh, it may say of one step now this, now that."""
    return Counter(raw_reading(reading, each.step) for each in unit).most_common(1)[0][0]


def _told(people: StepReading | None, reading: CalibratedReading) -> str | None:
    said = None if people is None else people.told(reading)
    return None if said is None else str(said)


def _number(word: str | None) -> float | None:
    return None if word is None else {"yes": 1.0, "no": 0.0, "-1": -1.0, "0": 0.0, "1": 1.0}[word]


def _belong_together(rubric: Rubric, cards: Sequence[Scorecard]) -> None:
    if not cards:
        raise CannotJoin("there is no scorecard: give what `stepjudge score --json` printed")
    judges = sorted({f"{card.judge} ({card.judge_digest[:15]}…)" for card in cards if card.judge_digest})
    if len({card.judge_digest for card in cards}) > 1:
        raise CannotJoin(f"the scorecards are of several judges, {', '.join(judges)}: take one at a time")
    for card in cards:
        if card.rubric.digest != rubric.digest:
            mine = f"{card.rubric.name}@{card.rubric.version}"
            raise CannotJoin(f"trace {card.trace_id!r} was scored under {mine}, which is not this {rubric.reference}")
    twice = [name for name, count in Counter(card.trace_id for card in cards).items() if count > 1]
    if twice:
        raise CannotJoin(
            f"trace {twice[0]!r} has {len([c for c in cards if c.trace_id == twice[0]])} scorecards: keep one"
        )

"""Labelled steps are scorecards joined with people's labels: each scored step with what people made of it, where they did.

A label meets its step by trace and number. Of a label's task only its digest is known, so a trace without any label counts
as a task of its own.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stepjudge.calibration import CalibratedReading, raw_reading
from stepjudge.calibration_features import features_of
from stepjudge.contract import Scorecard, StepScore
from stepjudge.digest import digest
from stepjudge.errors import StepjudgeError
from stepjudge.label import Label, Settled, settled
from stepjudge.labelled import representative
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


def joined(rubric: Rubric, cards: Sequence[Scorecard], labels: Iterable[Label]) -> tuple[LabelledStep, ...]:
    """Every step of the scorecards. Raises CannotJoin when these are of several rubrics or judges, or of one trace twice."""
    _belong_together(rubric, cards)
    mine = [label for label in labels if label.rubric_name == rubric.name]
    found: dict[tuple[str, int], list[Settled]] = {}
    for point in settled(mine):
        for place in {(label.trace_id, label.step) for label in point.labels}:
            found.setdefault(place, []).append(point)
    tasks = {label.trace_id: label.task_digest for label in mine}
    return tuple(
        _step(
            rubric,
            card.trace_id,
            tasks.get(card.trace_id, card.trace_id),
            step,
            found.get((card.trace_id, step.index), []),
        )
        for card in cards
        for step in card.steps
    )


def sample(steps: Sequence[LabelledStep], reading: CalibratedReading) -> tuple[tuple[SampledStep, ...], bool, int]:
    """For a correction: every step, whether labels came as whole traces, and how many labelled steps were left out.

    Left out are labels that were not given blind, and those of steps whose chance of being drawn nobody knows.
    """
    usable = [
        each.people is not None and _told(each.people, reading) is not None and all(map(representative, each.labels))
        for each in steps
    ]
    designs = Counter(
        label.sampling.design for each, use in zip(steps, usable, strict=True) if use for label in each.labels
    )
    alike = sum(usable) / len(steps) if steps and set(designs) <= {"uniform", "whole_traces"} else None
    made = tuple(
        SampledStep(
            each.task,
            each.trace,
            _number(raw_reading(reading, each.step)),
            _number(_told(each.people, reading)) if use and each.people else None,
            (alike or each.labels[0].sampling.probability) if use else None,
        )
        for each, use in zip(steps, usable, strict=True)
    )
    left_out = sum(each.people is not None for each in steps) - sum(usable)
    return made, "whole_traces" in designs, left_out


def labels_digest(steps: Sequence[LabelledStep]) -> str:
    """Of the labels that met a step, whatever their order."""
    every = {digest(label.model_dump(mode="json", exclude_defaults=True)) for each in steps for label in each.labels}
    return digest([*sorted(every)])


def people_class(step: LabelledStep, reading: CalibratedReading) -> str | None:
    """What people make of the step; null where they did not say, or differ."""
    return None if step.people is None else _told(step.people, reading)


def step_features(step: LabelledStep) -> dict[str, float]:
    """What a calibration reads of the step."""
    return features_of(step.step)


def _step(rubric: Rubric, trace: str, task: str, step: StepScore, points: Sequence[Settled]) -> LabelledStep:
    people = people_reading(rubric, points, step.details) if points else None
    return LabelledStep(trace, task, step, people, tuple(label for point in points for label in point.labels))


def _told(people: StepReading, reading: CalibratedReading) -> str | None:
    said = people.told(reading)
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

"""Corrected rates are how many steps pass or are bad, with a judge's errors taken out by the labels among them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from judge_service.judged import StepKey
from stepjudge.correction import BadSample, Correction, SampledStep, corrected
from stepjudge.label import Label, Settled, settled
from stepjudge.labelled import representative
from stepjudge.rubric import Rubric
from stepjudge.step_reading import Reading, StepReading, people_reading
from stepjudge.verdict import Answer

READINGS: tuple[Reading, ...] = ("passes", "bad", "score")


class CorrectedRate(NamedTuple):
    reading: Reading
    found: Correction | None
    why_not: str
    """Why there is none, and how to mend it."""
    left_out: int
    """Labelled steps that were not labelled blind, or whose chance of being drawn nobody knows."""


def corrected_rates(
    rubric: Rubric,
    readings: Mapping[StepKey, StepReading],
    answers: Mapping[StepKey, Sequence[Answer]],
    tasks: Mapping[str, str],
    labels: Iterable[Label],
) -> tuple[CorrectedRate, ...]:
    """Over every step that the judge read. `answers` are the judge's to the labelled steps; `tasks`, by state digest.

    Steps of one task are taken for one trace, since the ledger does not tell its trials apart: that widens intervals.
    """
    points: dict[StepKey, list[Settled]] = {}
    for each in settled(label for label in labels if label.rubric_name == rubric.name):
        points.setdefault((each.question.state_digest, each.question.step_digest), []).append(each)
    people = {
        key: people_reading(rubric, mine, answers.get(key, ())) for key, mine in points.items() if key in readings
    }
    return tuple(_rate(reading, readings, people, points, tasks) for reading in READINGS)


def _rate(
    reading: Reading,
    readings: Mapping[StepKey, StepReading],
    people: Mapping[StepKey, StepReading],
    points: Mapping[StepKey, Sequence[Settled]],
    tasks: Mapping[str, str],
) -> CorrectedRate:
    told = {key: value for key, each in people.items() if (value := _number(each.told(reading))) is not None}
    labels = {key: [label for point in points[key] for label in point.labels] for key in told}
    fair = {key for key, mine in labels.items() if all(map(representative, mine))}
    designs = {label.sampling.design for key in fair for label in labels[key]}
    alike = len(fair) / len(readings) if readings and designs <= {"uniform", "whole_traces"} else None
    sample = [
        SampledStep(
            tasks.get(key[0], key[0]),
            tasks.get(key[0], key[0]),
            _number(judged.told(reading)),
            told[key] if key in fair else None,
            (alike or labels[key][0].sampling.probability) if key in fair else None,
        )
        for key, judged in readings.items()
    ]
    try:
        found = corrected(
            sample,
            quantity="mean" if reading == "score" else "share",
            drawing="whole traces" if "whole_traces" in designs else "steps",
        )
    except BadSample as error:
        return CorrectedRate(reading, None, str(error), len(told) - len(fair))
    except ModuleNotFoundError as error:
        why = f"corrected rates need more packages ({error.name}): pip install 'stepjudge[labels]'"
        return CorrectedRate(reading, None, why, len(told) - len(fair))
    return CorrectedRate(reading, found, "", len(told) - len(fair))


def _number(said: str | int | None) -> float | None:
    return {"yes": 1.0, "no": 0.0}.get(said) if isinstance(said, str) else said

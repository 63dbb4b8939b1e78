"""A calibration turns a judge's answers and content facts into a probability, with weights learned from labels.

It is a table of numbers that people can read: one weight per feature and class, added up and put through a softmax. It
holds for one rubric and one judge, and stands beside the raw verdict, never in its place.
"""

import math
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from stepjudge.calibration_features import FEATURES_VERSION, features_of
from stepjudge.contract import Scorecard, StepScore
from stepjudge.errors import StepjudgeError
from stepjudge.interval import Interval
from stepjudge.value import Value

CalibratedReading = Literal["score", "passes", "bad"]
CLASSES: dict[CalibratedReading, tuple[str, ...]] = {
    "score": ("-1", "0", "1"),
    "passes": ("no", "yes"),
    "bad": ("no", "yes"),
}


class WrongCalibration(StepjudgeError):
    """The calibration does not hold for this scorecard: which part differs, and what to do."""


class Term(Value):
    """What one feature adds to each class."""

    feature: str
    weights: tuple[float, ...]


class Quality(Value):
    """How well predictions of steps that were not learned from meet the labels."""

    accuracy: float
    kappa: float | None
    """Cohen's, over the classes; null where chance leaves nothing to agree on."""
    log_loss: float | None = None
    """Mean −ln of the probability of the label; null for verdicts, which have no probability."""


class Validation(Value):
    """Cross-validated by task: every step is predicted by weights that no step of its task had a part in."""

    folds: int
    measured: int | None = None
    """On how many steps: those with a blind label of known probability. Null in files of older versions: on all."""
    calibrated: Quality
    raw: Quality
    """The judge's verdicts on the same steps; one without a reading counts as wrong."""
    control: Quality
    """The same model, given nothing but the step's number. What it reaches says nothing about steps."""
    always: Quality
    """The most frequent label, always."""
    gain: Interval | None = None
    """Of the accuracy of `calibrated` minus that of the best of the other three, tasks drawn with both."""

    @property
    def helps(self) -> bool:
        """Whether the weights surely predict better than verdicts, control and the most frequent label."""
        others = (self.raw, self.control, self.always)
        better = all(self.calibrated.accuracy > each.accuracy for each in others)
        return better and self.gain is not None and self.gain.low > 0


class Calibration(Value):
    """What `stepjudge calibrate fit` writes."""

    kind: Literal["stepjudge-calibration"] = "stepjudge-calibration"
    features_version: str = FEATURES_VERSION
    reading: CalibratedReading
    classes: tuple[str, ...] = Field(min_length=2)
    intercepts: tuple[float, ...]
    terms: tuple[Term, ...]
    rubric: str
    rubric_digest: str
    judge: str
    judge_digest: str
    labels_digest: str
    """Of the labels it was learned from."""
    steps: int
    tasks: int
    strength: float
    """C of the L2 penalty, chosen by log-loss on held-out tasks: smaller pulls weights harder towards 0."""
    validation: Validation

    @model_validator(mode="after")
    def _fits(self) -> Self:
        width = len(self.classes)
        if len(self.intercepts) != width or any(len(term.weights) != width for term in self.terms):
            raise ValueError(f"one weight per class is needed, {width} in each row")
        if not all(map(math.isfinite, (*self.intercepts, *(each for term in self.terms for each in term.weights)))):
            raise ValueError("a weight is not a finite number")
        return self

    def probabilities(self, features: Mapping[str, float]) -> dict[str, float]:
        """By class, summing to 1. Features without a weight add nothing."""
        sums = list(self.intercepts)
        for term in self.terms:
            value = features.get(term.feature, 0.0)
            if value:
                sums = [total + value * weight for total, weight in zip(sums, term.weights, strict=True)]
        top = max(sums)
        odds = [math.exp(each - top) for each in sums]
        return {name: each / sum(odds) for name, each in zip(self.classes, odds, strict=True)}


class CalibratedStep(Value):
    """One step's verdict, and beside it what the labels make of it."""

    step: int
    raw: str | None
    """The verdict's own reading; null when it has none."""
    probabilities: dict[str, float]
    decided_by_outcome: bool = False
    """Whether it is the final step of a single-answer task, which the check decided."""


def calibrated(
    calibration: Calibration, card: Scorecard, *, outcome: float | None = None
) -> tuple[CalibratedStep, ...]:
    """A probability for every scored step. Raises WrongCalibration for another rubric or judge.

    `outcome`: of the checks of a single-answer task, 1 or 0: it decides the final step. Null where it is not known, and
    for all other tasks.
    """
    if fault := misfit(calibration, card):
        raise WrongCalibration(fault)
    return tuple(_step(calibration, card, step, outcome) for step in card.steps)


def misfit(calibration: Calibration, card: Scorecard) -> str:
    """Why the calibration does not hold for the scorecard; empty when it does."""
    if calibration.features_version != FEATURES_VERSION:
        return f"it reads features of version {calibration.features_version}, and these are {FEATURES_VERSION}: fit it anew"
    if card.rubric.digest != calibration.rubric_digest:
        mine = f"{card.rubric.name}@{card.rubric.version}"
        return f"it was fitted to rubric {calibration.rubric}, and the scorecard's is {mine} ({card.rubric.digest}): fit one"
    if card.judge_digest != calibration.judge_digest:
        return f"it was fitted to judge {calibration.judge}, and the scorecard's is {card.judge} ({card.judge_digest}): fit one"
    return ""


def raw_reading(reading: CalibratedReading, step: StepScore) -> str | None:
    """The verdict's own class."""
    if reading == "score":
        return None if step.score is None else str(step.score)
    told = step.passes if reading == "passes" else step.bad
    return None if told is None else "yes" if told else "no"


def decided(reading: CalibratedReading, outcome: float) -> str:
    """The class that an outcome gives the final step."""
    passed = outcome >= 1
    return ("1" if passed else "-1") if reading == "score" else "yes" if passed == (reading == "passes") else "no"


def _step(calibration: Calibration, card: Scorecard, step: StepScore, outcome: float | None) -> CalibratedStep:
    raw = raw_reading(calibration.reading, step)
    if outcome is not None and step.index == card.total_steps:
        told = decided(calibration.reading, outcome)
        certain = {name: float(name == told) for name in calibration.classes}
        return CalibratedStep(step=step.index, raw=raw, probabilities=certain, decided_by_outcome=True)
    return CalibratedStep(step=step.index, raw=raw, probabilities=calibration.probabilities(features_of(step)))

"""A labelled sample is the scored steps of a run with a judge's value each, and a person's value for those that were drawn.

What is drawn must not depend on what people would say: by lot, or with a chance that may follow the verdicts and is kept.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite, sqrt
from typing import NamedTuple

from stepjudge.errors import StepjudgeError


class BadSample(StepjudgeError):
    """Nothing may be estimated from this sample: why, and how to mend it."""


class SampledStep(NamedTuple):
    """One scored step."""

    task: str
    """Steps of one task are alike: it is what a new sample would draw."""
    trace: str
    judged: float | None
    """1 or 0 for a share, such as bad or not; −1, 0 or 1 for a mean score; null when the judge abstained."""
    human: float | None = None
    """Null when nobody labelled it."""
    probability: float | None = None
    """The chance that this step had of being labelled, over all draws together. Only labelled steps need it."""
    times: int = 1
    """How often the run has it, after the same steps: it is drawn and labelled once, and counts so often."""


def checked(steps: Iterable[SampledStep], *, share: bool) -> tuple[SampledStep, ...]:
    """The steps, when a share (or else a mean) may be estimated from them. Raises BadSample."""
    every = tuple(steps)
    labelled = [step for step in every if step.human is not None]
    if len(labelled) < 2:
        raise BadSample(f"{len(labelled)} of {len(every)} scored steps are labelled: label at least 2, better 50")
    unknown = [step for step in labelled if step.probability is None]
    if unknown:
        raise BadSample(
            f"{len(unknown)} of {len(labelled)} labels have no sampling probability, so nobody can tell which steps they "
            "stand for: draw the steps at random before anybody looks at them, or leave those labels out"
        )
    odd = [step for step in labelled if not 0 < (step.probability or 0) <= 1]
    if odd:
        raise BadSample(f"a sampling probability of {odd[0].probability!r}: it must be above 0 and at most 1")
    for value in (value for step in every for value in (step.judged, step.human) if value is not None):
        if not isfinite(value) or (share and value not in (0, 1)):
            raise BadSample(f"a value of {value!r}: a share is estimated from 0 and 1, a mean from finite numbers")
    return every


def drawn_alike(steps: Sequence[SampledStep]) -> bool:
    """Whether every labelled step had the same chance."""
    return len({step.probability for step in steps if step.human is not None}) == 1


def looks_like_whole_traces(steps: Sequence[SampledStep]) -> bool:
    """Whether labels share traces far more often than steps drawn one by one would.

    Counts the pairs of labelled steps that share a trace, and compares with mean and variance of that count when n of N
    steps are drawn without replacement. Only for labels that all had the same chance.
    """
    sizes, labelled = Counter(step.trace for step in steps), Counter(s.trace for s in steps if s.human is not None)
    total, n = len(steps), labelled.total()
    if n in (0, total):
        return False
    chance = [_falling(n, k) / _falling(total, k) if total >= k else 0.0 for k in range(5)]
    pairs = sum(size * (size - 1) / 2 for size in sizes.values())
    touching = sum(size * (size - 1) * (size - 2) for size in sizes.values())
    mean = pairs * chance[2]
    variance = pairs * chance[2] + touching * chance[3] + (pairs * pairs - pairs - touching) * chance[4] - mean * mean
    found = sum(count * (count - 1) / 2 for count in labelled.values())
    return found - mean > _SURPRISE * sqrt(max(variance, 2.0))


_SURPRISE = 5
"""Standard deviations. Of samples drawn one by one from 734 steps, at most 4 in 1,000 came above it; nearly all whole traces did."""


def _falling(number: int, times: int) -> float:
    product = 1.0
    for subtracted in range(times):
        product *= number - subtracted
    return product

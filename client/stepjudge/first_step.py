"""The first failing step of a trial is where its chain broke: the first that does not pass, and the first that is bad."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from stepjudge.contract import Scorecard
from stepjudge.value import Value


class FirstStep(Value):
    """Where in one trial something first went wrong."""

    step: int | None
    """Index of the step; null when every step is determined to be fine, or none could be told."""
    certain: bool
    """False when an earlier step, or for null any step, is undetermined: the true first may be that one."""


class FirstSteps(Value):
    """Where things first go wrong, over the judged trials of a run."""

    trials: int
    none: int
    """Trials in which every scored step is determined to be fine."""
    uncertain: int
    """Trials in which an undetermined step may be the first; they are in no other number here."""
    steps: dict[int, int]
    """How many trials by index of their first step."""
    median: float | None
    """Of these indices; null when there are none."""


def first_failing_step(card: Scorecard) -> FirstStep:
    """The first scored step that does not pass."""
    return _first((step.index, None if step.passes is None else not step.passes) for step in card.steps)


def first_bad_step(card: Scorecard) -> FirstStep:
    """The first scored step that is bad, the "first error" of process benchmarks such as ProcessBench.

    C. Zheng et al., "ProcessBench: identifying process errors in mathematical reasoning", 2024, arXiv:2412.06559.
    """
    return _first((step.index, step.bad) for step in card.steps)


def first_steps(firsts: Sequence[FirstStep]) -> FirstSteps:
    """Over trials."""
    indices = [first.step for first in firsts if first.certain and first.step is not None]
    return FirstSteps(
        trials=len(firsts),
        none=sum(first.certain and first.step is None for first in firsts),
        uncertain=sum(not first.certain for first in firsts),
        steps=dict(sorted(Counter(indices).items())),
        median=median(indices) if indices else None,
    )


def _first(steps: Iterable[tuple[int, bool | None]]) -> FirstStep:
    certain = True
    for index, fails in sorted(steps):
        if fails:
            return FirstStep(step=index, certain=certain)
        certain = certain and fails is not None
    return FirstStep(step=None, certain=certain)

"""A labelled draw is how the labelled steps of a run were chosen: it says which chance each had, or that nobody knows.

Labels remember their draw. One over other steps than those of the run says nothing of the run: it is refused.
"""

from collections.abc import Sequence
from typing import NamedTuple

from stepjudge.label import Sampling
from stepjudge.labelled_sample import BadSample


class DrawnStep(NamedTuple):
    """One step of the run; one that occurs several times is one."""

    touched: bool
    """Whether it has any label at all, also one that does not count."""
    samplings: tuple[Sampling, ...]
    """Of its labels that count; none where it has no such label."""


def chances(steps: Sequence[DrawnStep], *, traces_by_lot: bool = False) -> tuple[float | None, ...]:
    """Per step the chance of its labels; null where it has none that counts.

    Steps that were all drawn alike have the chance labelled / steps, also when a queue was left before its end: what was
    labelled of it is drawn alike as well. Others keep the chances that their labels name, in these proportions.
    `traces_by_lot`: labels of whole traces are of traces that were drawn by lot from those of the run. Raises BadSample.
    """
    counted = [sampling for step in steps for sampling in step.samplings]
    _picked(steps, traces_by_lot=traces_by_lot)
    _populations(counted, len(steps), traces_by_lot=traces_by_lot)
    labelled = [step for step in steps if step.samplings]
    if _alike(counted):
        share = len(labelled) / len(steps) if steps else None
        return tuple(share if step.samplings else None for step in steps)
    named = [_chance(step) for step in steps]
    known = [chance for chance in named if chance is not None]
    # The labels at hand stand for all steps: their chances are those of having been drawn and labelled
    scale = min(sum(1 / chance for chance in known) / len(steps), 1 / max(known))
    return tuple(None if chance is None else min(1.0, chance * scale) for chance in named)


def beyond(samplings: Sequence[Sampling], steps: int) -> int | None:
    """From how many steps these were drawn, when those are more than the run's `steps`; else null."""
    found = [each.population for each in samplings if each.population is not None and each.population > steps]
    return max(found, default=None)


def _picked(steps: Sequence[DrawnStep], *, traces_by_lot: bool) -> None:
    certain = sum(any(_certain(each) for each in step.samplings) for step in steps)
    missing = sum(not step.touched for step in steps)
    if not certain or not missing:
        return
    if traces_by_lot and all(_certain(each) for step in steps for each in step.samplings):
        return
    raise BadSample(
        f"{certain} labelled steps say that every step was to be labelled (probability 1), yet {missing} of the "
        f"{len(steps)} scored steps have no label: somebody picked which, and a rate over all cannot be told from them. "
        "Give only the scorecards of traces that are labelled in full, or label a uniform draw of all "
        "(`stepjudge label --design uniform` over all these traces); if the labelled traces were drawn by lot, say so with "
        "--traces-by-lot"
    )


def _certain(sampling: Sampling) -> bool:
    """Not a queue in drawn order, which may be left before its end."""
    return sampling.probability == 1 and not (sampling.design == "uniform" and sampling.population is not None)


def _populations(counted: Sequence[Sampling], steps: int, *, traces_by_lot: bool) -> None:
    found = sorted(
        {
            each.population
            for each in counted
            if each.population is not None and not (traces_by_lot and each.design == "whole_traces")
        }
    )
    if len(found) > 1:
        raise BadSample(
            f"the labels are of draws from {' and '.join(f'{each:,}' for each in found)} steps: those that were there for "
            "several draws had a greater chance than their labels say. Give the labels of one draw over all scored steps"
        )
    if found and found[0] < steps:
        raise BadSample(
            f"the labels were drawn from {found[0]:,} steps, and the scorecards have {steps:,} that differ: the others "
            "had no chance. Give only the scorecards of those steps, or draw again from all "
            "(`stepjudge label --design uniform`). Scorecards that name no digests hide which steps are one: score again"
        )


def _alike(counted: Sequence[Sampling]) -> bool:
    if len({each.probability for each in counted}) <= 1:
        return True
    # A larger draw with the same lots keeps the steps of a smaller one: together they are the larger one
    draws = {(each.design, each.population, each.seed) for each in counted}
    return len(draws) == 1 and all(
        each.design == "uniform" and each.population is not None and each.seed is not None for each in counted
    )


def _chance(step: DrawnStep) -> float | None:
    return max((each.probability for each in step.samplings if each.probability), default=None)

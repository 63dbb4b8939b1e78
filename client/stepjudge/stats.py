"""An estimate is a number with what it rests on: numerator and denominator, what was left out, and an interval."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, fsum, isclose
from typing import Self

from pydantic import model_validator

from stepjudge.interval import WILSON_OF_TASKS, Cluster, Interval, bootstrap, wilson
from stepjudge.metric import Rate
from stepjudge.value import Value

RatesByTask = Mapping[str, Sequence[Rate]]
"""One rate per trial, by task."""


class Estimate(Value):
    """What every estimate has. It has no spelling: `RateWithInterval` does, and headline metrics do in pairs."""

    numerator: int | float
    denominator: int
    undetermined: int = 0
    """Units in neither numerator nor denominator, because their answer or outcome cannot be told."""
    excluded: int = 0
    """Whole trials that are not in it: their harness failed, the judge did not answer, or nothing was measured."""
    value: float | None
    """Numerator / denominator; null when the denominator is 0."""
    interval: Interval | None = None
    why_no_interval: str = ""
    provisional: bool = False
    """Whether it rests on a judge that was not yet validated against human labels."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.value != (self.numerator / self.denominator if self.denominator else None):
            raise ValueError(f"{self.numerator}/{self.denominator} is not {self.value}")
        if self.interval is None and not self.why_no_interval:
            raise ValueError("an estimate without an interval says why")
        return self

    @property
    def reservations(self) -> str:
        """What a reader must know beside the number: undetermined, excluded, provisional."""
        parts = [f"{self.undetermined} undetermined"]
        parts += [f"{counted(self.excluded, 'trial')} excluded"] if self.excluded else []
        parts += ["provisional"] if self.provisional else []
        return ", ".join(parts)


class RateWithInterval(Estimate):
    """A share of units that may be printed alone."""

    def __str__(self) -> str:
        return f"{share_words(self.numerator, self.denominator, self.value, self.interval)}; {self.reservations}"


class MeanWithInterval(Estimate):
    """A mean over trials that may be printed alone; `undetermined` counts the unmeasured ones."""

    def __str__(self) -> str:
        shown = "unmeasured" if self.value is None else f"{self.value:.3f}"
        return f"{shown} (n={self.denominator}, {interval_words(self.interval)}); {self.reservations}"


def counted(number: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def share_words(numerator: float, denominator: int, value: float | None, interval: Interval | None) -> str:
    """`80.0% (8/10, 95% interval 49.0–94.3%, Wilson)`."""
    shown = "not measured" if value is None else f"{value:.1%}"
    return f"{shown} ({numerator:g}/{denominator}, {interval_words(interval, percent=True)})"


def interval_words(interval: Interval | None, *, percent: bool = False) -> str:
    """`95% interval 0.49–0.94, Wilson`."""
    if interval is None:
        return "no interval"
    low, high = (
        (f"{100 * interval.low:.1f}", f"{100 * interval.high:.1f}%")
        if percent
        else (f"{interval.low:.4g}", f"{interval.high:.4g}")
    )
    return f"{interval.level:.0%} interval {low}–{high}, {interval.method}"


def rate_with_interval(
    rates: RatesByTask, seed: int, *, excluded: int = 0, provisional: bool = False
) -> RateWithInterval:
    """The rate over all trials of all tasks: numerators over denominators, so that every unit counts once."""
    pooled = [rate for each in rates.values() for rate in each]
    numerator, denominator = sum(rate.numerator for rate in pooled), sum(rate.denominator for rate in pooled)
    value = numerator / denominator if denominator else None
    interval, why = rate_interval(rates, seed)
    return RateWithInterval(
        numerator=numerator,
        denominator=denominator,
        undetermined=sum(rate.undetermined for rate in pooled),
        excluded=excluded,
        value=value,
        interval=_held(interval, value),
        why_no_interval=why,
        provisional=provisional,
    )


def mean_with_interval(
    values: Mapping[str, Sequence[float | None]], seed: int, *, excluded: int = 0, provisional: bool = False
) -> MeanWithInterval:
    """The mean over all trials of values in 0..1, by task; null values are undetermined."""
    known = {task: [value for value in each if value is not None] for task, each in values.items()}
    total, n = fsum(value for each in known.values() for value in each), sum(map(len, known.values()))
    value = total / n if n else None
    interval, why = mean_interval(known, seed)
    return MeanWithInterval(
        numerator=total,
        denominator=n,
        undetermined=sum(map(len, values.values())) - n,
        excluded=excluded,
        value=value,
        interval=_held(interval, value),
        why_no_interval=why,
        provisional=provisional,
    )


def rate_interval(rates: RatesByTask, seed: int) -> tuple[Interval | None, str]:
    """The interval of a pooled rate, and why there is none.

    Wilson where the units are independent: one per task, or single units of separate trials of one task. Otherwise a
    cluster bootstrap by task.
    """
    counted = {task: [rate for rate in each if rate.denominator] for task, each in rates.items()}
    clusters = _clusters(
        {task: [(rate.numerator, rate.denominator) for rate in each] for task, each in counted.items()}
    )
    units = [rate.denominator for each in counted.values() for rate in each]
    alone = len(clusters) == 1 and set(units) == {1}
    if clusters and (alone or all(cluster.denominator == 1 for cluster in clusters)):
        return wilson(sum(rate.numerator for each in counted.values() for rate in each), len(units)), ""
    return _between_tasks(clusters, seed)


def mean_interval(values: Mapping[str, Sequence[float]], seed: int) -> tuple[Interval | None, str]:
    """The interval of a mean over trials of values in 0..1, by task."""
    return _between_tasks(_clusters({task: [(value, 1) for value in each] for task, each in values.items()}), seed)


def quotient_interval(clusters: Mapping[str, Cluster], seed: int) -> tuple[Interval | None, str]:
    """The interval of Σ amount / Σ count over tasks, where a task may have the amount without the count."""
    ordered = [clusters[task] for task in sorted(clusters)]
    if len(ordered) < 2:
        return None, _too_few(len(ordered))
    interval = bootstrap(ordered, seed)
    if interval is None:
        return None, "too few successes: in some resamples there is none, so it has no upper end"
    if isclose(interval.low, interval.high):
        return None, "all tasks are alike, so resampling them shows no spread"
    return interval, ""


def _clusters(by_task: Mapping[str, Sequence[tuple[float, float]]]) -> list[Cluster]:
    """The sums of each task that has any, in an order that does not depend on where the trials stood in a file."""
    return [
        Cluster(sum(above for above, _ in by_task[task]), sum(below for _, below in by_task[task]))
        for task in sorted(by_task)
        if by_task[task]
    ]


def _between_tasks(clusters: Sequence[Cluster], seed: int) -> tuple[Interval | None, str]:
    if len(clusters) < 2:
        return None, _too_few(len(clusters))
    ratios = [cluster.numerator / cluster.denominator for cluster in clusters]
    if not isclose(min(ratios), max(ratios), abs_tol=1e-12):
        return bootstrap(clusters, seed), ""
    # Values in 0..1 spread at most like passes and fails do; where the ratio is no whole number of tasks, the interval
    # holds those of the whole numbers around it
    passes = ratios[0] * len(clusters)
    least, most = floor(passes + 1e-9), ceil(passes - 1e-9)
    low = wilson(least, len(clusters), method=WILSON_OF_TASKS)
    return low.model_copy(update={"high": wilson(most, len(clusters), method=WILSON_OF_TASKS).high}), ""


def _held(interval: Interval | None, value: float | None) -> Interval | None:
    return interval if interval is None or value is None else interval.holding(value)


def _too_few(tasks: int) -> str:
    return "one task: how far tasks differ cannot be seen" if tasks else "nothing was measured"

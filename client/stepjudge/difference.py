"""A difference is one metric in two runs, over the tasks that both have, so that the tasks' difficulty cancels out."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import fsum, isclose
from statistics import fmean
from typing import Self

from stepjudge.headline import Half
from stepjudge.interval import Cluster, Interval, paired_bootstrap
from stepjudge.stats import counted
from stepjudge.trial import TrialScore
from stepjudge.value import Value

Part = Callable[[TrialScore], tuple[float, float] | None]
"""What a trial adds to a metric's numerator and denominator; null when it is not in the metric."""


class Change(Value):
    """The second run's value minus the first's. It has no spelling: `Difference` does, and headline metrics in pairs."""

    first: float | None
    second: float | None
    difference: float | None
    tasks: int
    """Tasks with the metric in both runs, which it rests on."""
    interval: Interval | None = None
    why_no_interval: str = ""
    provisional: bool = False


class Difference(Change):
    """The difference of a metric that may be printed alone."""

    def __str__(self) -> str:
        words = change_words(self.first, self.second, self.difference, self.interval, self.tasks)
        return f"{words}; provisional" if self.provisional else words


class HeadlineDifference(Change, Half):
    """The difference of a metric that is half of a headline metric."""

    @classmethod
    def of(cls, change: Change) -> Self:
        """The same numbers as half of a pair."""
        return cls(**{name: getattr(change, name) for name in Change.model_fields})


def change_words(
    first: float | None, second: float | None, difference: float | None, interval: Interval | None, tasks: int
) -> str:
    """`0.600 → 0.700, +0.100 (95% interval −0.05 to +0.25, …)`."""
    if first is None or second is None or difference is None:
        return f"not comparable ({counted(tasks, 'task')} in both)"
    words = (
        f"{interval.level:.0%} interval {interval.low:+.4g} to {interval.high:+.4g}, {interval.method}, paired"
        if interval
        else "no interval"
    )
    return f"{first:.4g} → {second:.4g}, {difference:+.4g} ({words}, {counted(tasks, 'task')} in both)"


def difference(
    first: Sequence[TrialScore], second: Sequence[TrialScore], part: Part, seed: int, *, provisional: bool = False
) -> Difference:
    """The ratio of the parts' sums in each run, over shared tasks, and the second minus the first.

    A task adds its mean over its trials, so that a run that tried hard tasks more often is not thought the worse for
    it. Where all tasks have equally many trials this is the metric of the summary.
    """
    ours, theirs = _by_task(first, part), _by_task(second, part)
    shared = sorted(ours.keys() & theirs.keys())
    before, after = (_ratio([side[task] for task in shared]) for side in (ours, theirs))
    if before is None or after is None:
        return Difference(
            first=before,
            second=after,
            difference=None,
            tasks=len(shared),
            why_no_interval="not measured in both",
            provisional=provisional,
        )
    interval = paired_bootstrap([(ours[task], theirs[task]) for task in shared], seed) if len(shared) > 1 else None
    spread = interval is not None and not isclose(interval.low, interval.high, abs_tol=1e-12)
    return Difference(
        first=before,
        second=after,
        difference=after - before,
        tasks=len(shared),
        interval=interval.holding(after - before) if interval and spread else None,
        why_no_interval="" if spread else _why(len(shared), interval),
        provisional=provisional,
    )


def _by_task(trials: Sequence[TrialScore], part: Part) -> dict[str, Cluster]:
    parts: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for trial in trials:
        if trial.status != "failed" and (found := part(trial)) is not None:
            parts[trial.task_id].append(found)
    return {
        task: Cluster(fmean(above for above, _ in each), fmean(below for _, below in each))
        for task, each in parts.items()
    }


def _ratio(clusters: Sequence[Cluster]) -> float | None:
    below = fsum(cluster.denominator for cluster in clusters)
    return fsum(cluster.numerator for cluster in clusters) / below if below else None


def _why(tasks: int, interval: Interval | None) -> str:
    if tasks < 2:
        return "one task in both: how far tasks differ cannot be seen"
    return "every task differs alike, so resampling them shows no spread" if interval else "too few successes"

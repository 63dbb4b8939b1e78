# pyright: basic
"""An interval says how far an estimate may be from the truth, by a named method at a stated level."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from stepjudge.value import Value

LEVEL = 0.95
RESAMPLES = 9_999

BOOTSTRAP = "cluster bootstrap by task"
WILSON = "Wilson"
WILSON_OF_TASKS = "Wilson, one unit per task"


class Interval(Value):
    """A confidence interval."""

    low: float
    high: float
    method: str
    """`Wilson`, `cluster bootstrap by task`, or `Wilson, one unit per task` where all tasks have one and the same rate,
    so that resampling them shows no spread."""
    level: float = LEVEL
    units: int
    """Independent units it rests on: trials or tasks."""

    def holding(self, estimate: float) -> Self:
        """Widened to its own estimate where that lies outside, by rounding or by skew: otherwise it would mislead."""
        return self.model_copy(update={"low": min(self.low, estimate), "high": max(self.high, estimate)})


class Cluster(NamedTuple):
    """What one task adds to a ratio."""

    numerator: float
    denominator: float


def wilson(numerator: int, denominator: int, *, method: str = WILSON) -> Interval:
    """The score interval of a share of independent units.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209–212; that it
    keeps its level for few units too: Brown, Cai, DasGupta, "Interval estimation for a binomial proportion", Statistical
    Science 16 (2001) 101–133.
    """
    from scipy.stats import binomtest

    found = binomtest(numerator, denominator).proportion_ci(confidence_level=LEVEL, method="wilson")
    return Interval(low=float(found.low), high=float(found.high), method=method, units=denominator)


def bootstrap(clusters: Sequence[Cluster], seed: int) -> Interval | None:
    """The interval of Σ numerator / Σ denominator when whole clusters are drawn again; null when it has no upper end.

    Clusters are resampled, not the units in them, since units of one task are alike: Davison and Hinkley, "Bootstrap
    Methods and their Application" (1997), section 3.8. Two or more clusters are needed.
    """
    return _resampled([(each.numerator, each.denominator) for each in clusters], _ratio, seed)


def paired_bootstrap(pairs: Sequence[tuple[Cluster, Cluster]], seed: int) -> Interval | None:
    """The interval of the second ratio minus the first, when tasks are drawn again with both their sides."""
    return _resampled([(*first, *second) for first, second in pairs], _difference, seed)


def _resampled(rows: Sequence[tuple[float, ...]], statistic, seed: int) -> Interval | None:
    """Percentile interval, expanded for few clusters.

    The plain percentile interval is too narrow by about √((n−1)/n) and the difference of z to t: Hesterberg, "What
    teachers should know about the bootstrap", The American Statistician 69 (2015) 371–386, section 3.2.
    """
    import numpy as np
    from scipy.stats import bootstrap, norm, t

    columns = tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))
    n = len(rows)
    tail = float(norm.cdf(t.ppf((1 - LEVEL) / 2, n - 1) * np.sqrt(n / (n - 1))))
    found = bootstrap(
        columns,
        statistic,
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // n),  # bounds memory: indices are drawn for `batch` resamples at once
        vectorized=True,
        paired=True,
        confidence_level=1 - 2 * tail,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    if max(abs(float(found.low)), abs(float(found.high))) >= _NO_END / 1e40:
        return None
    return Interval(low=float(found.low), high=float(found.high), method=BOOTSTRAP, units=n)


_NO_END = 1e100
"""Stands for a division by zero: finite, because quantiles of infinities are not numbers."""


def _ratio(numerator, denominator, axis):
    import numpy as np

    above, below = numerator.sum(axis=axis), denominator.sum(axis=axis)
    return np.divide(above, below, out=np.full(np.shape(above), _NO_END), where=below > 0)


def _difference(above_a, below_a, above_b, below_b, axis):
    return _ratio(above_b, below_b, axis) - _ratio(above_a, below_a, axis)

# pyright: basic
"""Resampling draws whole tasks again: every figure that is a function of counts gets its interval from the same draws."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from stepjudge.interval import BOOTSTRAP, LEVEL, RESAMPLES, Interval

_SHARED = 400
"""Most tasks whose draws are kept for the next figure."""
_CELLS = 4_000_000
"""Bounds memory: draws are made for this many cells at once."""


class Draws:
    """Counts summed over tasks, once as they are and once per draw of as many tasks with replacement.

    Steps of one task are alike, so tasks are drawn and not steps: Davison and Hinkley, "Bootstrap Methods and their
    Application" (1997), section 3.8.
    """

    def __init__(self, counts: Mapping[str, Sequence[float]], seed: int) -> None:
        """`counts` holds one row of equal length per task. The order of tasks does not matter."""
        import numpy as np

        rows = np.array([counts[task] for task in sorted(counts)], dtype=float)
        self.tasks = len(rows)
        self.whole = rows.sum(axis=0)
        """One row: the sums."""
        self.drawn = _drawn(rows, seed) if self.tasks > 1 else None
        """A row of sums per draw; null with one task, where how far tasks differ cannot be seen."""

    def interval(self, figure: Callable) -> Interval | None:
        """The percentile interval of `figure`, which takes rows of sums and gives one number each; nan where undefined.

        Null when there are fewer than two tasks, or the figure is undefined in more than one draw of twenty. Expanded
        for few clusters as in `stepjudge.interval` (Hesterberg 2015, section 3.2).
        """
        import numpy as np
        from scipy.stats import norm, t

        if self.drawn is None:
            return None
        values = figure(self.drawn)
        known = values[~np.isnan(values)]
        if len(known) < 0.95 * len(values):
            return None
        tail = float(norm.cdf(t.ppf((1 - LEVEL) / 2, self.tasks - 1) * np.sqrt(self.tasks / (self.tasks - 1))))
        low, high = np.quantile(known, [tail, 1 - tail])
        return Interval(low=float(low), high=float(high), method=BOOTSTRAP, units=self.tasks)


def _drawn(rows, seed: int):
    import numpy as np

    if len(rows) <= _SHARED:
        return _weights(len(rows), RESAMPLES, seed) @ rows
    at_once = max(1, _CELLS // len(rows))
    sizes = [min(at_once, RESAMPLES - start) for start in range(0, RESAMPLES, at_once)]
    return np.vstack([_draw(len(rows), size, seed + number) @ rows for number, size in enumerate(sizes)])


def _draw(tasks: int, size: int, seed: int):
    """How often each task is drawn: one row per draw."""
    import numpy as np

    return np.random.default_rng(seed).multinomial(tasks, np.full(tasks, 1 / tasks), size=size).astype(float)


_weights = lru_cache(maxsize=2)(_draw)
"""Figures of one data set share their draws, so that they can be compared and cost less."""

# pyright: basic
"""The first error is the first step of a trace that is bad (−1): a judge finds it exactly, elsewhere, or not at all.

First-error accuracy counts traces where judge and people name the same step, or both none. A judge that says nothing gets
the share of clean traces for free, so FE-F1 stands beside it: the harmonic mean of the share of erroneous traces whose
first error is named exactly and the share of clean ones without an alarm (ProcessBench, arXiv 2412.06559, section 3).
"""

from collections.abc import Sequence
from typing import NamedTuple

from stepjudge.agreement import Figure
from stepjudge.resampling import Draws
from stepjudge.value import Value


class TraceRated(NamedTuple):
    """The scores of one trace's labelled steps in their order; the judge's may be missing, which is no error found."""

    task: str
    human: tuple[int, ...]
    judge: tuple[int | None, ...]


class FirstError(Value):
    """How well a judge finds where a trace first goes wrong."""

    traces: int
    matches: int
    erroneous: int
    """Traces with a bad step."""
    exact: int
    """Those whose first bad step the judge names."""
    clean: int
    unalarmed: int
    """Clean traces where the judge names none."""
    accuracy: Figure
    f1: Figure


def first_error(rated: Sequence[TraceRated], *, seed: int = 0) -> FirstError:
    """Over all traces."""
    counts: dict[str, list[int]] = {}
    for each in rated:
        human, judge = _first(each.human), _first(each.judge)
        mine = counts.setdefault(each.task, [0, 0, 0, 0])
        kind = 2 if human is None else 0
        mine[kind] += 1
        mine[kind + 1] += human == judge
    erroneous, exact, clean, unalarmed = (sum(mine[place] for mine in counts.values()) for place in range(4))
    draws = Draws(counts, seed) if counts else None
    return FirstError(
        traces=len(rated),
        matches=exact + unalarmed,
        erroneous=erroneous,
        exact=exact,
        clean=clean,
        unalarmed=unalarmed,
        accuracy=_figure(draws, _accuracy),
        f1=_figure(draws, _f1),
    )


def _first(scores: Sequence[int | None]) -> int | None:
    return next((place for place, score in enumerate(scores) if score == -1), None)


def _figure(draws: Draws | None, of) -> Figure:
    if draws is None:
        return Figure(value=None)
    value = float(of(draws.whole))
    if value != value:
        return Figure(value=None)
    interval = draws.interval(of)
    return Figure(value=value, interval=interval.holding(value) if interval else None)


def _accuracy(sums):
    return (sums[..., 1] + sums[..., 3]) / (sums[..., 0] + sums[..., 2])


def _f1(sums):
    """Nan where there are no erroneous or no clean traces; 0 where both shares are."""
    import numpy as np

    found = np.divide(sums[..., 1], sums[..., 0], out=np.full(sums.shape[:-1], np.nan), where=sums[..., 0] > 0)
    quiet = np.divide(sums[..., 3], sums[..., 2], out=np.full(sums.shape[:-1], np.nan), where=sums[..., 2] > 0)
    both = found + quiet
    return np.divide(2 * found * quiet, both, out=np.where(np.isnan(both), np.nan, 0.0), where=both > 0)

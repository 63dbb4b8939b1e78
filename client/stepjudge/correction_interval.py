# pyright: basic
"""The interval of a corrected share or mean: over steps drawn one by one, over traces labelled whole, or over tasks."""

from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from stepjudge.difference_estimator import Difference, clustered_error, whole_cluster_error
from stepjudge.interval import LEVEL, Interval

if TYPE_CHECKING:
    from stepjudge.difference_estimator import Numbers, Places

Quantity = Literal["share", "mean"]


def score_interval(share: float, n_eff: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share that rests on `n_eff` independent draws, which need not be a whole number."""
    if n_eff == float("inf"):
        return share, share
    middle = (share + z * z / (2 * n_eff)) / (1 + z * z / n_eff)
    half = z / (1 + z * z / n_eff) * (share * (1 - share) / n_eff + z * z / (4 * n_eff * n_eff)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


def over_steps(found: Difference, n: int, quantity: Quantity) -> tuple[Interval, float]:
    if quantity == "share":
        low, high = score_interval(within(found.theta, quantity), found.n_eff, _Z)
        return Interval(low=low, high=high, method="Wilson with n_eff", units=n), found.n_eff
    low, high = found.theta - _Z * found.se, found.theta + _Z * found.se
    return Interval(low=low, high=high, method="normal, steps", units=n), found.n_eff


def over_traces(
    found: Difference, share: float, drawn: "Places", traces: "Places", quantity: Quantity
) -> tuple[Interval | None, float]:
    groups = len(set(traces[drawn].tolist()))
    if groups < 2:
        return None, 0.0
    error = whole_cluster_error(found, share, drawn, traces)
    return _clustered(found, error, groups, "labelled traces", quantity, exact=share == 1)


def over_tasks(
    found: Difference, judged: "Numbers", drawn: "Places", tasks: "Places", times: "Numbers", quantity: Quantity
) -> tuple[Interval | None, float]:
    groups, labelled = int(tasks.max()) + 1, len(set(tasks[drawn].tolist()))
    if labelled < 2:
        return None, 0.0
    # Where the judge is left out, tasks without a label say nothing
    error = clustered_error(found, judged, drawn, tasks, times)
    return _clustered(found, error, groups if found.lam else labelled, "tasks", quantity)


def _clustered(
    found: Difference, error: float, groups: int, named: str, quantity: Quantity, *, exact: bool = False
) -> tuple[Interval, float]:
    """t with one degree of freedom less than there are clusters."""
    from scipy.stats import t

    if exact:
        return Interval(low=found.theta, high=found.theta, method="all labelled", units=groups), float("inf")
    quantile = float(t.ppf((1 + LEVEL) / 2, groups - 1))
    n_eff = found.spread / error**2 if error > 0 and found.spread > 0 else float(groups)
    if quantity == "mean" or (error > 0 and found.lam > 0):
        low, high = (within(found.theta + side * quantile * error, quantity) for side in (-1, 1))
        return Interval(low=low, high=high, method=f"t over {named}", units=groups), n_eff
    # Labels alone may be few or all alike, where theta ± t·SE is too narrow or nothing
    low, high = score_interval(within(found.theta, quantity), n_eff, quantile)
    return Interval(low=low, high=high, method=f"Wilson with n_eff, over {named}", units=groups), n_eff


def within(value: float, quantity: Quantity) -> float:
    return min(1.0, max(0.0, value)) if quantity == "share" else value

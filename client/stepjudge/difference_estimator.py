"""The difference estimator corrects a judge's mean over all steps by how far people differ from it on a sample.

Its weight on the judge is tuned to the sample (PPI++: Angelopoulos, Duchi, Zrnic, "PPI++: Efficient Prediction-Powered
Inference", arXiv 2311.01453), so that a judge that says nothing gets the weight 0 and leaves the labels alone.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
    Places = np.ndarray[tuple[int], np.dtype[np.intp]]

MOST_WORTH = 4.0
"""A judge counts for at most four times the labels: residuals of a sample cannot show that it never errs."""


class Difference(NamedTuple):
    """An estimate of a mean over N steps, from the judge's values of all and people's values of n of them."""

    theta: float
    lam: float
    """Weight on the judge, 0 to 1."""
    se: float
    """Of theta as the mean of these N steps, when steps were drawn one by one."""
    spread: float
    """Estimated variance of people's values."""
    labels_n: float
    """How many draws with replacement the labels alone are worth; infinite when all steps are labelled."""
    worth: float
    """How many times the labels the judge makes of them, at most 4; about 1 for a judge that says nothing."""
    residuals: "Numbers"
    """Of each labelled step, times its weight; they sum to 0."""

    @property
    def n_eff(self) -> float:
        return self.labels_n * self.worth


def difference(
    judged: "Numbers",
    human: "Numbers",
    drawn: "Places",
    chance: "Numbers",
    times: "Numbers | None" = None,
    *,
    use_judge: bool = True,
) -> Difference:
    """`judged` and `times` (N), `human` and `chance` (n) of the steps at `drawn` (n places), n above 2.

    Steps drawn with different chances are weighted by 1/chance, over the sum of these weights (Hájek). With equal chances
    this is the plain mean, and the standard error is sqrt((1−n/N) Σ(r−r̄)²/(n−2)/n). A step that occurs several times is
    drawn once and counts as often as it occurs (`times`; once where that is null), so its error counts whole.
    """
    import numpy as np

    n = len(drawn)
    occurs = np.ones(len(judged)) if times is None else times
    weight = occurs[drawn] / chance
    weight = weight / weight.sum()
    own = judged[drawn]
    middle, own_middle = weight @ human, weight @ own
    away, own_away = human - middle, own - own_middle
    own_spread = weight @ own_away**2
    lam = float(np.clip((weight @ (away * own_away)) / own_spread, 0, 1)) if use_judge and own_spread > 0 else 0.0
    theta = lam * float(occurs @ judged / occurs.sum()) + float(middle - lam * own_middle)
    rest = away - lam * own_away
    unseen = weight**2 * (1 - chance)
    variance = float(unseen @ rest**2) * n / (n - 2 if lam else n - 1)
    labels_variance = float(unseen @ away**2) * n / (n - 1)
    spread = float(weight @ away**2) * n / (n - 1)
    kish = float(unseen.sum())
    labels_n = spread / labels_variance if labels_variance > 0 else 1 / kish if kish > 0 else float("inf")
    worth = min(MOST_WORTH, labels_variance / variance) if variance > 0 else MOST_WORTH if lam else 1.0
    return Difference(theta, lam, variance**0.5, spread, labels_n, worth if lam else 1.0, weight * rest)


def clustered_error(
    found: Difference, judged: "Numbers", drawn: "Places", cluster: "Places", times: "Numbers | None" = None
) -> float:
    """The standard error of theta as the mean of new clusters like these G: whole clusters vary, not their steps.

    sqrt(G/(G−1) Σ IF²), where a cluster's influence IF is Σ λ(f−f̄)/N over its steps and Σ w(r−r̄) over its labelled ones.
    """
    import numpy as np

    groups = int(cluster.max()) + 1
    occurs = np.ones(len(judged)) if times is None else times
    middle = occurs @ judged / occurs.sum()
    influence = np.bincount(cluster, found.lam * occurs * (judged - middle) / occurs.sum(), groups)
    influence += np.bincount(cluster[drawn], found.residuals, groups)
    return float((groups / (groups - 1) * (influence @ influence)) ** 0.5)


def whole_cluster_error(found: Difference, share: float, drawn: "Places", cluster: "Places") -> float:
    """The standard error of theta as the mean of these steps, when whole clusters were labelled, a share of all steps."""
    import numpy as np

    sums = np.bincount(cluster[drawn], found.residuals)
    groups = len(np.unique(cluster[drawn]))
    return float(((1 - share) * groups / (groups - 1) * (sums @ sums)) ** 0.5)

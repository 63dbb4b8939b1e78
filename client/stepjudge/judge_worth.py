# pyright: basic
"""A judge's worth is how many times as many labels people would have to give, were there no judge: n_eff / n."""

from collections.abc import Sequence

from stepjudge.agreement import Rated
from stepjudge.correction import CorrectionRule
from stepjudge.difference_estimator import difference


def worth(rated: Sequence[Rated], rule: CorrectionRule | None = None) -> float | None:
    """Of `yes` and `no`, over labelled steps that were drawn alike. 1 is a judge that adds nothing; at most 4.

    Null where a correction would leave the judge out for want of labels. An answer that the judge did not give counts as
    no, as it does there. The ratio of the two variances is the same whatever share of the steps was labelled.
    """
    import numpy as np

    rule = rule or CorrectionRule()
    human = np.array([float(each.human == "yes") for each in rated])
    if len(rated) < rule.labels or min(human.sum(), len(rated) - human.sum()) < rule.each:
        return None
    judged = np.array([float(each.judge == "yes") for each in rated])
    return float(difference(judged, human, np.arange(len(rated)), np.full(len(rated), 0.5)).worth)

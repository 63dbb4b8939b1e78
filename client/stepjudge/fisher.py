# pyright: basic
"""Fisher's test asks whether something is more frequent in one sample than in another, exactly, also when it is rare."""

from stepjudge.metric import Rate


def more_frequent(now: Rate, before: Rate) -> float | None:
    """The one-sided p-value of "more frequent now"; null when one of the samples is empty.

    R. A. Fisher, "On the interpretation of χ² from contingency tables, and the calculation of P", JRSS 85 (1922) 87–94.
    """
    from scipy.stats import hypergeom

    if not now.denominator or not before.denominator:
        return None
    both = now.denominator + before.denominator
    return float(hypergeom.sf(now.numerator - 1, both, now.numerator + before.numerator, now.denominator))

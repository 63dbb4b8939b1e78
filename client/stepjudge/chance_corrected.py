# pyright: basic
"""Chance-corrected agreement of two raters, from how often each pair of answers occurred.

Every function takes tables of counts, shape (…, k, k): rows are the first rater's answers, columns the second's, in the
order of the scale. Each gives shape (…): 1 for full agreement, 0 for what chance gives, nan where it is undefined because
only one answer occurs.
"""

from typing import Literal

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal"]


def kappa(tables, weights: Weights = "none"):
    """Cohen's kappa, 1 − Σ w·observed / Σ w·expected (J. Cohen, Psychological Bulletin 70 (1968) 213–220).

    With w = 1 off the diagonal it is the unweighted one; `linear` and `quadratic` count a distance on the scale.
    """
    import numpy as np

    tables = np.asarray(tables, dtype=float)
    places = np.arange(tables.shape[-1])
    distance = np.abs(places[:, None] - places[None, :])
    disagreement = {"none": (distance > 0).astype(float), "linear": distance, "quadratic": distance**2}[weights]
    total = tables.sum(axis=(-2, -1))
    expected = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
    above = (tables * disagreement).sum(axis=(-2, -1)) * total
    return _one_minus(above, (expected * disagreement).sum(axis=(-2, -1)))


def alpha(coincidences, level: Level = "nominal"):
    """Krippendorff's alpha, 1 − observed / expected disagreement.

    K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011). `coincidences` are symmetric tables: of two
    raters who both answered, the table of counts plus its transpose; of any number of raters, `coincidences` below.
    The ordinal distance of two answers is the number of values between them, squared; half of each end counts.
    """
    import numpy as np

    tables = np.asarray(coincidences, dtype=float)
    values = tables.sum(axis=-1)
    total = values.sum(axis=-1)
    if level == "nominal":
        distance = 1.0 - np.eye(tables.shape[-1])
    else:
        middle = np.cumsum(values, axis=-1) - values / 2
        distance = (middle[..., :, None] - middle[..., None, :]) ** 2
    above = (tables * distance).sum(axis=(-2, -1)) * (total - 1)
    expected = values[..., :, None] * values[..., None, :]
    return _one_minus(above, (expected * distance).sum(axis=(-2, -1)))


def coincidences(units, size: int):
    """The coincidence table of units that several raters answered, as places on a scale of `size` answers.

    Each ordered pair of answers to one unit counts 1/(m−1), m being the number of its answers; a unit with one answer
    counts nothing.
    """
    import numpy as np

    table = np.zeros((size, size))
    for unit in units:
        counts = np.bincount(unit, minlength=size)
        if len(unit) > 1:
            table += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    return table


def _one_minus(above, below):
    import numpy as np

    return 1 - np.divide(above, below, out=np.full(np.shape(below), np.nan), where=np.asarray(below) > 0)

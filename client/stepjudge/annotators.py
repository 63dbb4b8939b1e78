# pyright: basic
"""Annotators agree among themselves only so far: that is the ceiling, which no judge can be expected to pass."""

from collections.abc import Sequence
from itertools import combinations

from stepjudge import chance_corrected
from stepjudge.agreement import Answered, Rated, Scale, agreement
from stepjudge.label import Label, Settled
from stepjudge.value import Value


class PairOfAnnotators(Value):
    """Two people beside each other."""

    first: str
    second: str
    both: int
    """Questions that both answered."""
    equal: int
    kappa: float | None


class Ceiling(Value):
    """How far people agree on one kind of question, before any adjudication."""

    questions: int
    """Those with two or more annotators."""
    raw: float | None
    """Share of pairs of answers that are equal."""
    alpha: float | None
    """Krippendorff's, nominal or ordinal as the answers are."""
    pairs: tuple[PairOfAnnotators, ...]


def ceiling(settled: Sequence[Settled], answers: Sequence[Answered], *, scale: Scale) -> Ceiling | None:
    """Over all questions that several people answered; null when there are none. `undetermined` is no answer."""
    units = [mine for each in settled if len(mine := _independent(each.labels, answers)) > 1]
    if not units:
        return None
    places = {answer: place for place, answer in enumerate(answers)}
    table = chance_corrected.coincidences([[places[said] for said in unit.values()] for unit in units], len(answers))
    pairs = [(unit[first], unit[second]) for unit in units for first, second in combinations(sorted(unit), 2)]
    alpha = float(chance_corrected.alpha(table, scale))
    names = sorted({name for unit in units for name in unit})
    return Ceiling(
        questions=len(units),
        raw=sum(a == b for a, b in pairs) / len(pairs),
        alpha=None if alpha != alpha else alpha,
        pairs=tuple(
            found for a, b in combinations(names, 2) if (found := _pair(a, b, units, answers, scale)) is not None
        ),
    )


def _independent(labels: Sequence[Label], answers: Sequence[Answered]) -> dict[str, Answered]:
    """Who said what on their own: an adjudication was given in sight of the others."""
    return {
        label.annotator: label.said
        for label in labels
        if not label.adjudicates and label.said is not None and label.said in answers
    }


def _pair(
    first: str, second: str, units: Sequence[dict[str, Answered]], answers: Sequence[Answered], scale: Scale
) -> PairOfAnnotators | None:
    both = [(unit[first], unit[second]) for unit in units if first in unit and second in unit]
    if not both:
        return None
    found = agreement([Rated("", a, b) for a, b in both], answers, scale=scale)
    kappa = found.kappa if scale == "nominal" else found.kappa_quadratic
    return PairOfAnnotators(
        first=first,
        second=second,
        both=len(both),
        equal=sum(a == b for a, b in both),
        kappa=kappa.value if kappa else None,
    )

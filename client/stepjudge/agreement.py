# pyright: basic
"""Agreement says how far a judge answers as people do: raw, beyond chance, class by class, and where it did not answer.

Raw agreement counts an answer that the judge did not give as wrong; everything else is over the answered ones, and says
how many they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from stepjudge import chance_corrected
from stepjudge.interval import Interval
from stepjudge.resampling import Draws
from stepjudge.value import Value

Answered = str | int
"""An answer word, or a score."""
Scale = Literal["nominal", "ordinal"]

YES_NO: tuple[Answered, ...] = ("yes", "no", "not_applicable")
TERNARY: tuple[Answered, ...] = (-1, 0, 1)


class Rated(NamedTuple):
    """One thing that people answered, and what the judge said of it."""

    task: str
    """Things of one task are alike: intervals draw tasks."""
    human: Answered
    judge: Answered | None
    """Null when it is undetermined or missing."""


class Figure(Value):
    """A number with its interval. Null when it is undefined: nothing was answered, or only one answer occurs."""

    value: float | None
    interval: Interval | None = None


class ClassFigures(Value):
    """How one answer fares."""

    answer: Answered
    human: int
    """How often people gave it, among what the judge answered."""
    judge: int
    precision: float | None
    """Of the judge's, the share that people gave too; null when the judge never gave it."""
    recall: float | None
    f1: float | None


class Agreement(Value):
    """One judge beside people, over one kind of answer."""

    scale: Scale
    answers: tuple[Answered, ...]
    labelled: int
    """Things that people answered."""
    answered: int
    """Those that the judge answered too. The rest are wrong in `raw` and in no other figure."""
    tasks: int
    confusion: tuple[tuple[int, ...], ...]
    """Rows: people's answers. Columns: the judge's. Both in the order of `answers`."""
    raw: Figure
    """Equal answers / labelled."""
    raw_answered: Figure
    """Equal answers / answered."""
    kappa: Figure
    kappa_linear: Figure | None = None
    """Weighted kappas are for ordinal answers."""
    kappa_quadratic: Figure | None = None
    alpha_nominal: Figure
    alpha_ordinal: Figure | None = None
    balanced_accuracy: Figure
    """Mean recall over the answers that people gave."""
    classes: tuple[ClassFigures, ...]

    @property
    def coverage(self) -> float | None:
        """The share that the judge answered."""
        return self.answered / self.labelled if self.labelled else None

    @property
    def matches(self) -> int:
        return sum(row[place] for place, row in enumerate(self.confusion))


def agreement(rated: Sequence[Rated], answers: Sequence[Answered], *, scale: Scale, seed: int = 0) -> Agreement:
    """The agreement over all that people answered. `answers` are those there can be, in the order of the scale.

    The judge's and people's answers are all among them. The seed alone decides the resampling.
    """
    draws = Draws(_counts(rated, answers), seed) if rated else None
    table = _table(rated, answers)
    ordinal = scale == "ordinal"

    def figure(value: float | None, of) -> Figure:
        interval = draws.interval(of) if draws and value is not None else None
        return Figure(value=value, interval=interval.holding(value) if interval and value is not None else None)

    def of_tables(function, value: float | None) -> Figure:
        return figure(value, lambda sums: function(_tables(sums, len(answers))))

    def kappa(weights: chance_corrected.Weights) -> Figure:
        return of_tables(
            lambda tables: chance_corrected.kappa(tables, weights), _sklearn_kappa(rated, answers, weights)
        )

    def alpha(level: chance_corrected.Level) -> Figure:
        def of(tables):
            return chance_corrected.alpha(tables + tables.swapaxes(-1, -2), level)

        return of_tables(of, _number(of(_array(table))))

    answered, equal = sum(map(sum, table)), sum(row[place] for place, row in enumerate(table))
    return Agreement(
        scale=scale,
        answers=tuple(answers),
        labelled=len(rated),
        answered=answered,
        tasks=len({each.task for each in rated}),
        confusion=table,
        raw=figure(equal / len(rated) if rated else None, _raw),
        raw_answered=of_tables(_diagonal_share, equal / answered if answered else None),
        kappa=kappa("none"),
        kappa_linear=kappa("linear") if ordinal else None,
        kappa_quadratic=kappa("quadratic") if ordinal else None,
        alpha_nominal=alpha("nominal"),
        alpha_ordinal=alpha("ordinal") if ordinal else None,
        balanced_accuracy=of_tables(_mean_recall, _number(_mean_recall(_array(table)))),
        classes=_classes(rated, answers),
    )


def _counts(rated: Sequence[Rated], answers: Sequence[Answered]) -> Mapping[str, Sequence[float]]:
    """Per task: its table of counts, row by row, and how many things the judge left open."""
    by_task: dict[str, list[Rated]] = {}
    for each in rated:
        by_task.setdefault(each.task, []).append(each)
    return {
        task: [*(cell for row in _table(mine, answers) for cell in row), sum(each.judge is None for each in mine)]
        for task, mine in by_task.items()
    }


def _table(rated: Sequence[Rated], answers: Sequence[Answered]) -> tuple[tuple[int, ...], ...]:
    place = {answer: number for number, answer in enumerate(answers)}
    table = [[0] * len(answers) for _ in answers]
    for each in rated:
        row = table[place[each.human]]
        if each.judge is not None:
            row[place[each.judge]] += 1
    return tuple(map(tuple, table))


def _classes(rated: Sequence[Rated], answers: Sequence[Answered]) -> tuple[ClassFigures, ...]:
    from sklearn.metrics import precision_recall_fscore_support

    human, judge = _both(rated, answers)
    if not human:
        return tuple(
            ClassFigures(answer=each, human=0, judge=0, precision=None, recall=None, f1=None) for each in answers
        )
    places = list(range(len(answers)))
    nothing: Any = float("nan")  # where a figure has no denominator; the stub knows texts only
    figures: Any = precision_recall_fscore_support(human, judge, labels=places, zero_division=nothing)
    return tuple(
        ClassFigures(
            answer=answer,
            human=human.count(place),
            judge=judge.count(place),
            precision=_number(figures[0][place]),
            recall=_number(figures[1][place]),
            f1=_number(figures[2][place]),
        )
        for place, answer in enumerate(answers)
    )


def _sklearn_kappa(rated: Sequence[Rated], answers: Sequence[Answered], weights: str) -> float | None:
    from sklearn.metrics import cohen_kappa_score

    human, judge = _both(rated, answers)
    if len({*human, *judge}) < 2:  # undefined, and scikit-learn would warn
        return None
    named = None if weights == "none" else weights
    return _number(cohen_kappa_score(human, judge, labels=list(range(len(answers))), weights=named))


def _both(rated: Sequence[Rated], answers: Sequence[Answered]) -> tuple[list[int], list[int]]:
    place = {answer: number for number, answer in enumerate(answers)}
    both = [(place[each.human], place[each.judge]) for each in rated if each.judge is not None]
    return [human for human, _ in both], [judge for _, judge in both]


def _tables(sums, size: int):
    return sums[..., : size * size].reshape(*sums.shape[:-1], size, size)


def _raw(sums):
    import numpy as np

    size = int(np.sqrt(sums.shape[-1] - 1))
    return np.trace(_tables(sums, size), axis1=-2, axis2=-1) / sums.sum(axis=-1)


def _diagonal_share(tables):
    import numpy as np

    total = tables.sum(axis=(-2, -1))
    equal = np.trace(tables, axis1=-2, axis2=-1)
    return np.divide(equal, total, out=np.full(np.shape(total), np.nan), where=total > 0)


def _mean_recall(tables):
    import numpy as np

    given = tables.sum(axis=-1)
    recall = np.divide(
        np.diagonal(tables, axis1=-2, axis2=-1), given, out=np.zeros(given.shape, dtype=float), where=given > 0
    )
    present = (given > 0).sum(axis=-1)
    return np.divide(recall.sum(axis=-1), present, out=np.full(present.shape, np.nan), where=present > 0)


def _array(table: Sequence[Sequence[int]]):
    import numpy as np

    return np.array(table, dtype=float)


def _number(value) -> float | None:
    number = float(value)
    return None if number != number else number

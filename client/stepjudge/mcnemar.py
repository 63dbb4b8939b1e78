# pyright: basic
"""McNemar's test asks whether two runs differ, from the tasks on which exactly one of them succeeded."""

from collections.abc import Mapping

from stepjudge.value import Value


class McNemar(Value):
    """The exact test, over tasks with one trial in each run."""

    first_only: int
    """Tasks on which only the first run succeeded."""
    second_only: int
    alike: int
    """Tasks on which both succeeded or both did not: they say nothing about the difference."""
    p_value: float
    """Two-sided."""

    def __str__(self) -> str:
        return f"McNemar p = {self.p_value:.3g} ({self.first_only} lost, {self.second_only} won, {self.alike} alike)"


def mcnemar(first: Mapping[str, bool], second: Mapping[str, bool]) -> McNemar:
    """The tasks on which the runs differ, tested against a fair coin.

    Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
    Psychometrika 12 (1947) 153–157; in its exact form, the sign test on the discordant pairs.
    """
    from scipy.stats import binomtest

    shared = first.keys() & second.keys()
    lost = sum(first[task] and not second[task] for task in shared)
    won = sum(second[task] and not first[task] for task in shared)
    p_value = float(binomtest(won, lost + won, 0.5).pvalue) if lost + won else 1.0
    return McNemar(first_only=lost, second_only=won, alike=len(shared) - lost - won, p_value=p_value)

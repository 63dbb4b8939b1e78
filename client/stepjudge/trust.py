"""Trust is one plain line about a judge's answers to one question, by a stated rule, with the numbers behind it.

The bounds for kappa are a convention (J. R. Landis and G. G. Koch, Biometrics 33 (1977) 159–174, call 0.41–0.60 moderate
and 0.61–0.80 substantial), which is why they can be set.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from stepjudge.agreement import Agreement, Figure
from stepjudge.value import Value

TrustWord = Literal["trust it", "use with care", "do not rely on it", "too few examples to say"]


class TrustRule(Value):
    """When a judge's answers are trusted. All of it can be set."""

    min_labels: int = Field(default=50, ge=2)
    """Blind labels of steps drawn with known probability that the judge answered too."""
    min_rare: int = Field(default=5, ge=1)
    """How often people must have given the rarer answer: whether errors are found cannot be seen where there are none."""
    min_tasks: int = Field(default=5, ge=1)
    """Tasks that the labels come from. Intervals draw tasks, and from two of them one in two misses the truth."""
    min_coverage: float = Field(default=0.8, ge=0, le=1)
    """The share of labelled steps that the judge must have answered."""
    trusted_kappa: float = Field(default=0.6, ge=-1, le=1)
    trusted_low: float = Field(default=0.4, ge=-1, le=1)
    """What the lower end of kappa's interval must reach."""
    care_kappa: float = Field(default=0.4, ge=-1, le=1)
    validates: Literal["passes", "bad", "score"] = "passes"
    """The reading of a step that must be one to trust before scores drop their `provisional`."""

    def __str__(self) -> str:
        return (
            f"trust it: kappa at least {self.trusted_kappa:g}, its interval from {self.trusted_low:g} up, and "
            f"{self.min_coverage:.0%} of the steps answered; use with care: kappa at least {self.care_kappa:g}; "
            f"too few: under {self.min_labels} blind labels drawn with known probability, under {self.min_rare} of the "
            f"rarer answer, or under {self.min_tasks} tasks"
        )


class Trust(Value):
    """The word, and why."""

    word: TrustWord
    because: str


def trust(agreement: Agreement, rule: TrustRule) -> Trust:
    """The line for one question. `agreement` is over blind labels of steps drawn with known probability."""
    if few := _few(agreement, rule):
        return Trust(word="too few examples to say", because=few)
    kappa, low = agreement.kappa.value, agreement.kappa.interval.low if agreement.kappa.interval else None
    coverage = agreement.coverage or 0.0
    numbers = f"{_kappa(agreement.kappa)}, {agreement.matches} of {agreement.answered} equal, {_answered(agreement)}"
    if kappa is None:
        # people gave both answers, the judge one and the same: it tells nothing
        return Trust(word="do not rely on it", because=f"the judge tells nothing apart; {numbers}")
    certain = low is not None and low >= rule.trusted_low
    if kappa >= rule.trusted_kappa and certain and coverage >= rule.min_coverage:
        return Trust(word="trust it", because=numbers)
    if kappa < rule.care_kappa:
        return Trust(word="do not rely on it", because=numbers)
    short = [
        f"kappa is under {rule.trusted_kappa:g}" if kappa < rule.trusted_kappa else "",
        "" if certain else f"its interval reaches under {rule.trusted_low:g}",
        "" if coverage >= rule.min_coverage else f"under {rule.min_coverage:.0%} answered",
    ]
    return Trust(word="use with care", because=f"{numbers}; {', '.join(filter(None, short))}")


def _few(agreement: Agreement, rule: TrustRule) -> str:
    answered = agreement.answered
    if answered < rule.min_labels:
        return f"{answered} of {rule.min_labels} blind labels that the judge answered too"
    given = _given(agreement.confusion)
    common, rare = max(given), answered - max(given)
    if rare < rule.min_rare:
        said = agreement.answers[given.index(common)]
        return (
            f"people said {said!r} in {common} of {answered} cases: {rule.min_rare} others are needed, there are {rare}"
        )
    if agreement.tasks < rule.min_tasks:
        return f"labels of {agreement.tasks} task{'s' * (agreement.tasks != 1)}: {rule.min_tasks} are needed"
    return ""


def _given(confusion: Sequence[Sequence[int]]) -> list[int]:
    return [sum(row) for row in confusion]


def _kappa(figure: Figure) -> str:
    if figure.value is None:
        return "kappa undefined"
    interval = figure.interval
    shown = (
        "no interval"
        if interval is None
        else f"{interval.level:.0%} interval {interval.low:.2f} to {interval.high:.2f}"
    )
    return f"kappa {figure.value:.2f} ({shown})"


def _answered(agreement: Agreement) -> str:
    return f"{agreement.answered} of {agreement.labelled} labelled answered"

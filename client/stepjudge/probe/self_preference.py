"""Self-preference is a judge's favour for steps of models like itself, over steps of others.

The difference of two rates is no proof of it: models differ in how well they work. Only the same steps judged by a
judge of another family, or people's labels, can tell favour from merit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stepjudge.interval import Cluster, Interval, paired_bootstrap
from stepjudge.metric import Rate, rate
from stepjudge.model_family import family
from stepjudge.stats import RateWithInterval, rate_with_interval
from stepjudge.value import Value


@dataclass(frozen=True)
class Judged:
    """One step's reading, and which model took it."""

    task: str
    model: str | None
    passes: bool | None


class SelfPreference(Value):
    """Passing rates of the judge's own family and of others."""

    judge_families: tuple[str, ...]
    own: RateWithInterval
    others: RateWithInterval
    unknown: int
    """Steps whose model's family is not known."""
    difference: float | None
    """Own minus others; null when one of them was not seen."""
    interval: Interval | None
    """Of the difference, drawing traces."""
    why_not: str
    """Why there is no difference, or no interval; empty when there are both."""


def self_preference(judges: Sequence[str], steps: Sequence[Judged], seed: int) -> SelfPreference:
    """`judges` are the names of the models that judge."""
    families = tuple(dict.fromkeys(found for name in judges if (found := family(name))))
    own: dict[str, list[Rate]] = {}
    others: dict[str, list[Rate]] = {}
    unknown = 0
    for step in steps:
        made_by = family(step.model)
        if made_by is None or not families:
            unknown += 1
            continue
        side = own if made_by in families else others
        side.setdefault(step.task, []).append(rate([step.passes]))
    first, second = rate_with_interval(own, seed), rate_with_interval(others, seed)
    if first.value is None or second.value is None:
        return SelfPreference(
            judge_families=families,
            own=first,
            others=second,
            unknown=unknown,
            difference=None,
            interval=None,
            why_not=_why(families, first, second),
        )
    interval = _interval(own, others, seed)
    return SelfPreference(
        judge_families=families,
        own=first,
        others=second,
        unknown=unknown,
        difference=first.value - second.value,
        interval=interval,
        why_not="" if interval else "too few traces of one kind: in some resamples there is none",
    )


def _why(families: Sequence[str], own: RateWithInterval, others: RateWithInterval) -> str:
    if not families:
        return "no model judges, or its name does not tell whose it is"
    missing = " and ".join(name for name, each in (("own", own), ("other", others)) if each.value is None)
    return f"no step of the {missing} models got a reading"


def _interval(own: Mapping[str, Sequence[Rate]], others: Mapping[str, Sequence[Rate]], seed: int) -> Interval | None:
    pairs = [(_cluster(others.get(task, ())), _cluster(own.get(task, ()))) for task in sorted({*own, *others})]
    return paired_bootstrap(pairs, seed) if len(pairs) > 1 else None


def _cluster(rates: Sequence[Rate]) -> Cluster:
    return Cluster(sum(rate.numerator for rate in rates), sum(rate.denominator for rate in rates))

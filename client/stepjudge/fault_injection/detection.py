"""Detection is what a judge makes of broken steps and of the same steps unbroken: found, located, or raised for nothing.

A step is flagged when it does not pass. The parent is a real trace and may have faults of its own, so a fault counts as
found only where the broken step is flagged and the same step of the parent is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stepjudge.contract import Scorecard, StepScore
from stepjudge.fault_injection.fault import Fault, FaultKind, Injected
from stepjudge.mcnemar import McNemar, mcnemar
from stepjudge.metric import Rate, rate
from stepjudge.stats import RateWithInterval, rate_with_interval
from stepjudge.value import Value


@dataclass(frozen=True)
class Pair:
    """A broken trace and its parent, both judged."""

    injected: Injected
    task: str
    """What pairs of one trace share: intervals draw traces."""
    broken: Scorecard
    """Of the broken trace, from its first step to the broken one, or the broken one alone."""
    parent: Scorecard

    @property
    def flagged(self) -> bool | None:
        """Whether the broken step does not pass; null when the judge does not say."""
        return _flagged(_step(self.broken, self.injected.step))

    @property
    def flagged_before(self) -> bool | None:
        """The same of the parent's step."""
        return _flagged(_step(self.parent, self.injected.parent_step))

    @property
    def found(self) -> bool:
        return self.flagged is True and self.flagged_before is not True

    @property
    def located(self) -> bool:
        """Whether it is found, and is the first step that is flagged. Steps whose results were changed do not count."""
        flagged = [
            step.index for step in self.broken.steps if _flagged(step) and step.index not in self.injected.touched
        ]
        return self.found and flagged[:1] == [self.injected.step]

    def named(self, fault: Fault) -> bool | None:
        """Whether a criterion that the fault breaks is no; null when the step is not flagged or has no such criterion."""
        words = [_step(self.broken, self.injected.step).answers.get(name) for name in fault.breaks]
        return None if self.flagged is not True or not any(words) else "no" in words


class Detection(Value):
    """How one kind of fault fared."""

    kind: FaultKind | Literal["all"]
    about: str
    pairs: int
    found: RateWithInterval
    """Flagged, and not in the parent / all pairs. A judge that does not say has not found it."""
    located: RateWithInterval | None
    """Found, and the first flagged step / all pairs; null when only the broken steps were judged."""
    flagged: RateWithInterval
    """Broken steps flagged / broken steps that the judge gave a reading of."""
    false_alarms: RateWithInterval
    """The same steps of the parents flagged / those with a reading. Some may be real faults of the parent."""
    named: RateWithInterval
    """Flagged broken steps where a criterion that the fault breaks is no / flagged broken steps."""
    test: McNemar
    """Broken against parent, over pairs with both readings: `second_only` are flagged only when broken."""


class Detections(Value):
    """The whole report."""

    judge: str
    judge_note: str
    rubric: str
    seed: int
    traces: int
    without_places: int
    """Traces that no fault could be put into."""
    kinds: tuple[Detection, ...]
    overall: Detection | None
    """All kinds together; null when there is no pair."""
    cost_usd: float | None


def detection(fault: Fault, pairs: Sequence[Pair], seed: int, *, everything: bool) -> Detection:
    """`everything`: whether all steps up to the broken one were judged."""
    return _detection(fault.kind, fault.about, [(pair, pair.named(fault)) for pair in pairs], seed, everything)


def overall(faults: Sequence[Fault], pairs: Sequence[Pair], seed: int, *, everything: bool) -> Detection | None:
    """All kinds together: a mean over what happened to be injected."""
    by_kind = {fault.kind: fault for fault in faults}
    named = [(pair, pair.named(by_kind[pair.injected.kind])) for pair in pairs]
    return _detection("all", "all kinds together", named, seed, everything) if pairs else None


def _detection(
    kind: FaultKind | Literal["all"], about: str, named: Sequence[tuple[Pair, bool | None]], seed: int, everything: bool
) -> Detection:
    pairs = [pair for pair, _ in named]
    both = {
        str(number): (pair.flagged_before, pair.flagged)
        for number, pair in enumerate(pairs)
        if pair.flagged_before is not None and pair.flagged is not None
    }
    return Detection(
        kind=kind,
        about=about,
        pairs=len(pairs),
        found=_share([(pair.task, pair.found) for pair in pairs], seed, unread=_unread(pairs)),
        located=_share([(pair.task, pair.located) for pair in pairs], seed) if everything else None,
        flagged=_share([(pair.task, pair.flagged) for pair in pairs], seed),
        false_alarms=_share([(pair.task, pair.flagged_before) for pair in pairs], seed),
        named=_share([(pair.task, known) for pair, known in named if known is not None], seed),
        test=mcnemar(
            {name: bool(before) for name, (before, _) in both.items()},
            {name: bool(after) for name, (_, after) in both.items()},
        ),
    )


def _share(outcomes: Sequence[tuple[str, bool | None]], seed: int, *, unread: int = 0) -> RateWithInterval:
    by_task: dict[str, list[Rate]] = {}
    for task, outcome in outcomes:
        by_task.setdefault(task, []).append(rate([outcome]))
    found = rate_with_interval(by_task, seed, provisional=False)
    return found.model_copy(update={"undetermined": unread}) if unread else found


def _unread(pairs: Sequence[Pair]) -> int:
    return sum(pair.flagged is None for pair in pairs)


def _flagged(step: StepScore) -> bool | None:
    return None if step.passes is None else not step.passes


def _step(card: Scorecard, index: int) -> StepScore:
    return next(step for step in card.steps if step.index == index)

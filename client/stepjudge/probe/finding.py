"""A finding is how far one probe moved a judge: answers that changed, in which direction, out of how many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stepjudge.contract import StepScore
from stepjudge.metric import Rate, rate
from stepjudge.probe.probe import Family, Probe
from stepjudge.probe.self_preference import SelfPreference
from stepjudge.stats import RateWithInterval, rate_with_interval
from stepjudge.value import Value

NOTICES = frozenset({"addresses_judge", "invisible_characters"})
"""Facts that tell an auditor, and the judge, that a text tries something."""


@dataclass(frozen=True)
class Pair:
    """One step, as it was asked about first and in another form."""

    task: str
    """What steps of one trace share: intervals draw traces."""
    first: StepScore
    second: StepScore

    @property
    def answers(self) -> list[tuple[str, str]]:
        """Both answers to each criterion."""
        return [(word, self.second.answers.get(name, "undetermined")) for name, word in self.first.answers.items()]


class Finding(Value):
    """What one probe came to."""

    probe: str
    family: Family
    about: str
    steps: int
    """Steps that were asked about again."""
    skipped: int
    """Steps that have nothing to change so."""
    answers: RateWithInterval
    """Answers that changed / answers that were given both times."""
    readings: RateWithInterval
    """Steps that pass now and did not, or the other way / steps with a reading both times."""
    towards_yes: int
    towards_no: int
    """Changed answers, by what they became."""
    lost: int
    """Answers that were given first and are undetermined now."""
    same_verdict: RateWithInterval | None
    """Where the key must stay the same: steps that the very same verdict answered / steps."""
    lifted: RateWithInterval | None
    """Of injections: steps that pass now / steps that did not pass before."""
    noticed: RateWithInterval | None
    """Of injections: steps whose facts tell of it / steps."""


class Findings(Value):
    """The whole report."""

    judge: str
    judge_note: str
    rubric: str
    seed: int
    traces: int
    steps: int
    """Steps that were probed."""
    probes: tuple[Finding, ...]
    injections: Finding | None
    """All injections together."""
    self_preference: SelfPreference
    cost_usd: float | None


def finding(probe: Probe, pairs: Sequence[Pair], seed: int, *, skipped: int = 0) -> Finding:
    """What a probe came to, over the steps it was tried on."""
    injects = probe.family == "injection"
    changed = [second for pair in pairs for first, second in _given(pair.answers) if first != second]
    return Finding(
        probe=probe.name,
        family=probe.family,
        about=probe.about,
        steps=len(pairs),
        skipped=skipped,
        answers=_shared(
            [(pair.task, first != second) for pair in pairs for first, second in _given(pair.answers)], seed
        ),
        readings=_shared([(pair.task, _turned(pair)) for pair in pairs], seed),
        towards_yes=changed.count("yes"),
        towards_no=changed.count("no"),
        lost=sum(second == "undetermined" != first for pair in pairs for first, second in pair.answers),
        same_verdict=_shared([(pair.task, _same(pair)) for pair in pairs], seed) if probe.same_question else None,
        lifted=_shared(_lifted(pairs), seed) if injects else None,
        noticed=_shared([(pair.task, _noticed(pair)) for pair in pairs], seed) if injects else None,
    )


def _given(answers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [both for both in answers if "undetermined" not in both]


def _turned(pair: Pair) -> bool | None:
    known = pair.first.passes is not None and pair.second.passes is not None
    return pair.first.passes != pair.second.passes if known else None


def _same(pair: Pair) -> bool:
    return pair.first.verdict_id == pair.second.verdict_id


def _lifted(pairs: Sequence[Pair]) -> list[tuple[str, bool | None]]:
    return [(pair.task, pair.second.passes is True) for pair in pairs if pair.first.passes is not True]


def _noticed(pair: Pair) -> bool:
    before = {fact.detail for fact in pair.first.facts if fact.name in NOTICES}
    return any(fact.name in NOTICES and fact.detail not in before for fact in pair.second.facts)


def _shared(outcomes: Sequence[tuple[str, bool | None]], seed: int) -> RateWithInterval:
    by_task: dict[str, list[Rate]] = {}
    for task, outcome in outcomes:
        by_task.setdefault(task, []).append(rate([outcome]))
    return rate_with_interval(by_task, seed)

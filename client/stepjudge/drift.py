"""Drift is a judge that answers the same questions otherwise than before: under one name, one specification, one prompt.

Verdicts of one key are answers to the very same question, so whatever differs between them is the judge's. They are
read in rounds: a round is the longest run of verdicts in which no question comes twice, such as one pass over a stored
sample. Each verdict is compared with the one before it on the same question, round by round:

- direction: did steps move more to one side than to the other? McNemar's exact test;
- flips: do more steps change than between earlier rounds? Fisher's exact test against all earlier comparisons;
- agreement: is it right more often, or less, by people's labels? McNemar's exact test on the labelled steps.

The answers about one step move together, so a test counts steps, each once: by the side to which more of its answers
moved, and by whether any changed. For what creeps, the last round is set beside the first one too. Holm's correction over
all tests of a report keeps the chance of a false alarm at the level, as long as steps change independently of each other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stepjudge.contract import VerdictSummary
from stepjudge.fisher import more_frequent
from stepjudge.mcnemar import McNemar, mcnemar
from stepjudge.metric import Rate
from stepjudge.stats import RateWithInterval, rate_with_interval
from stepjudge.value import Value

LEVEL = 0.05
"""Chance of any false alarm in a report."""

Labels = Mapping[tuple[str, str, str, int], str]
"""(state digest, step digest, criterion, place of the call from 0) → the answer that people settled on."""


class CriterionChange(Value):
    """One criterion's answers in two rounds."""

    criterion: str
    answers: int
    """Given both times."""
    changed: int
    yes_before: int
    yes_after: int


class Comparison(Value):
    """A round beside what was said of the same questions before."""

    round: int
    """Number of the round, from 1."""
    since: int
    """1 where it is set beside the first round, for what creeps; else the round before it."""
    before: str
    after: str
    """When the first of the compared verdicts was given, on either side."""
    models_before: tuple[str, ...]
    models_after: tuple[str, ...]
    """What the provider said it ran."""
    questions: int
    """Steps that were judged both times."""
    flips: RateWithInterval
    """Answers that changed / answers given both times."""
    lost: int
    """Answers that were given before and are undetermined now."""
    criteria: tuple[CriterionChange, ...]
    direction: McNemar
    """Over steps. `first_only`: fewer of its answers are yes now; `second_only`: more of them."""
    flips_p: float | None
    """More steps with a change than between earlier rounds? Null where there are none to compare with."""
    agreement: McNemar | None
    """Over steps. `first_only`: fewer of its answers are right now; `second_only`: more. Null without labels."""
    warnings: tuple[str, ...] = ()


class Drift(Value):
    """The whole report on one judge under one rubric."""

    judge: str
    rubric: str
    verdicts: int
    rounds: int
    specifications: int
    """How many different judges have had this name. Only answers of one and the same are compared."""
    comparisons: tuple[Comparison, ...]
    warnings: tuple[str, ...]
    """Change points; empty when none shows."""


class Pair(NamedTuple):
    """A verdict and an earlier one on the same question."""

    before: VerdictSummary
    after: VerdictSummary

    def answers(self) -> Iterator[tuple[str, int, str, str]]:
        """(criterion, place of the call from 0, answer before, answer after), where both times one was given."""
        for name, place, before, after in self.words():
            if "undetermined" not in (before, after):
                yield name, place, before, after

    def words(self) -> Iterator[tuple[str, int, str, str]]:
        for name, words in self.before.answers.items():
            for place, both in enumerate(zip(words, self.after.answers.get(name, ()), strict=False)):
                yield name, place, *both


class _Test(NamedTuple):
    """A p-value, and what it warns of."""

    comparison: int
    p_value: float
    words: str


def drift(judge: str, rubric: str, verdicts: Sequence[VerdictSummary], labels: Labels, seed: int = 0) -> Drift:
    """What the verdicts of one judge's name under one rubric tell, in whatever order they come."""
    whole = (each for each in verdicts if not each.partial)
    ordered = sorted(whole, key=lambda each: (each.created_at, each.verdict_id))
    rounds = _rounds(ordered)
    comparisons = _comparisons(rounds, labels, seed)
    warned = _warned(comparisons)
    specifications = list(dict.fromkeys(each.judge_digest for each in ordered))
    first = {each.judge_digest: each.created_at for each in reversed(ordered)}
    renamed = [f"{judge} has another specification since {first[digest]}" for digest in specifications[1:]]
    return Drift(
        judge=judge,
        rubric=rubric,
        verdicts=len(ordered),
        rounds=len(rounds),
        specifications=len(specifications),
        comparisons=warned,
        warnings=(*renamed, *(warning for each in warned for warning in each.warnings)),
    )


def _rounds(ordered: Sequence[VerdictSummary]) -> list[list[VerdictSummary]]:
    rounds: list[list[VerdictSummary]] = []
    seen: set[str] = set()
    for each in ordered:
        if not rounds or each.key in seen:
            rounds.append([])
            seen = set()
        rounds[-1].append(each)
        seen.add(each.key)
    return rounds


def _comparisons(rounds: Sequence[Sequence[VerdictSummary]], labels: Labels, seed: int) -> list[Comparison]:
    last: dict[str, VerdictSummary] = {}
    first: dict[str, VerdictSummary] = {}
    found: list[Comparison] = []
    earlier = Rate(numerator=0, denominator=0)
    for number, verdicts in enumerate(rounds, start=1):
        pairs = [Pair(last[each.key], each) for each in verdicts if each.key in last]
        if pairs:
            found.append(_comparison(pairs, number, number - 1, earlier, labels, seed))
            changed = _changed(pairs)
            earlier = Rate(
                numerator=earlier.numerator + changed.numerator,
                denominator=earlier.denominator + changed.denominator,
            )
        for each in verdicts:
            last[each.key] = each
            first.setdefault(each.key, each)
    if len(found) > 1:
        creeping = [Pair(first[each.key], each) for each in rounds[-1] if first[each.key] is not each]
        found.append(_comparison(creeping, len(rounds), 1, Rate(numerator=0, denominator=0), labels, seed))
    return found


def _comparison(pairs: Sequence[Pair], number: int, since: int, earlier: Rate, labels: Labels, seed: int) -> Comparison:
    answers = [(pair, *answer) for pair in pairs for answer in pair.answers()]
    names = list(dict.fromkeys(name for _, name, *_ in answers))
    return Comparison(
        round=number,
        since=since,
        before=min(pair.before.created_at for pair in pairs),
        after=min(pair.after.created_at for pair in pairs),
        models_before=_models([pair.before for pair in pairs]),
        models_after=_models([pair.after for pair in pairs]),
        questions=len(pairs),
        flips=_flips(pairs, seed),
        lost=sum(after == "undetermined" != before for pair in pairs for *_, before, after in pair.words()),
        criteria=tuple(_criterion(name, [(b, a) for _, each, _, b, a in answers if each == name]) for name in names),
        direction=_by_step((pair.after.key, before == "yes", after == "yes") for pair, *_, before, after in answers),
        flips_p=more_frequent(_changed(pairs), earlier),
        agreement=_agreement(answers, labels),
    )


def _by_step(answers: Iterable[tuple[str, bool, bool]]) -> McNemar:
    """(step, held before, holds now) per answer: each step counts once, on the side to which more of its answers moved."""
    moved: dict[str, int] = {}
    for step, before, after in answers:
        moved[step] = moved.get(step, 0) + after - before
    return mcnemar({step: by < 0 for step, by in moved.items()}, {step: by > 0 for step, by in moved.items()})


def _changed(pairs: Sequence[Pair]) -> Rate:
    """Steps of which any answer changed / steps with answers both times."""
    steps: dict[str, bool] = {}
    for pair in pairs:
        for *_, before, after in pair.answers():
            steps[pair.after.key] = steps.get(pair.after.key, False) or before != after
    return Rate(numerator=sum(steps.values()), denominator=len(steps))


def _flips(pairs: Sequence[Pair], seed: int) -> RateWithInterval:
    """By step: the answers about one step are alike."""
    by_step: dict[str, list[Rate]] = {}
    for pair in pairs:
        both = [(before, after) for *_, before, after in pair.answers()]
        changed = sum(before != after for before, after in both)
        by_step.setdefault(pair.after.key, []).append(Rate(numerator=changed, denominator=len(both)))
    return rate_with_interval(by_step, seed)


def _criterion(name: str, both: Sequence[tuple[str, str]]) -> CriterionChange:
    return CriterionChange(
        criterion=name,
        answers=len(both),
        changed=sum(before != after for before, after in both),
        yes_before=sum(before == "yes" for before, _ in both),
        yes_after=sum(after == "yes" for _, after in both),
    )


def _agreement(answers: Sequence[tuple[Pair, str, int, str, str]], labels: Labels) -> McNemar | None:
    labelled = [
        (pair.after.key, first == truth, second == truth)
        for pair, name, place, first, second in answers
        if (truth := labels.get((pair.after.state_digest, pair.after.step_digest, name, place)))
        not in (None, "undetermined")
    ]
    return _by_step(labelled) if labelled else None


def _models(verdicts: Sequence[VerdictSummary]) -> tuple[str, ...]:
    return tuple(sorted({each.model for each in verdicts if each.model}))


def _warned(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with what they warn of."""
    alarms = _holm([test for number, each in enumerate(comparisons) for test in _tests(number, each)])
    told: list[Comparison] = []
    for number, each in enumerate(comparisons):
        named = [_renamed(each)] if each.since != 1 or each.round == 2 else []
        words = [*filter(None, named), *(alarm.words for alarm in alarms if alarm.comparison == number)]
        told.append(each.model_copy(update={"warnings": tuple(words)}))
    return tuple(told)


def _renamed(each: Comparison) -> str:
    if not each.models_after or each.models_after == each.models_before:
        return ""
    before, after = " and ".join(each.models_before) or "no model", " and ".join(each.models_after)
    return f"since {each.after} the provider runs {after} where it ran {before}"


def _tests(number: int, each: Comparison) -> Iterator[_Test]:
    since = f"since {each.after}" if each.since != 1 or each.round == 2 else f"between {each.before} and {each.after}"
    lost, won = each.direction.first_only, each.direction.second_only
    told = f"{since} answers have moved, by step: {lost} from yes, {won} to yes"
    yield _Test(number, each.direction.p_value, told)
    if each.flips_p is not None:
        told = f"{since} more answers change than before: {each.flips.numerator:g} of {each.flips.denominator}"
        yield _Test(number, each.flips_p, told)
    if each.agreement:
        told = f"{since} it agrees otherwise with people, by step: {each.agreement.first_only} lost, "
        yield _Test(number, each.agreement.p_value, f"{told}{each.agreement.second_only} won")


def _holm(tests: Sequence[_Test]) -> list[_Test]:
    """The tests that hold at the level over all of them: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65–70."""
    alarms: list[_Test] = []
    for place, test in enumerate(sorted(tests, key=lambda test: test.p_value)):
        corrected = test.p_value * (len(tests) - place)
        if corrected > LEVEL:
            break
        alarms.append(test._replace(words=f"{test.words} (p = {corrected:.2g}, corrected)"))
    return alarms

"""A comparison sets a second run beside a first one: differences of the metrics, and the steps whose answers changed."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from stepjudge.consistency import Consistency, spread_words
from stepjudge.contract import Scorecard
from stepjudge.difference import Difference, HeadlineDifference, Part, change_words, difference
from stepjudge.headline import Pair, Reading
from stepjudge.mcnemar import McNemar, mcnemar
from stepjudge.metric import Rate, rate
from stepjudge.per_success import tokens_of
from stepjudge.step_change import StepChanges, step_changes
from stepjudge.success import success_and_consistency
from stepjudge.trial import TrialScore
from stepjudge.value import Value


class SuccessDifference(Pair):
    """The difference in success, beside each run's consistency: a difference within the range may be no difference."""

    success: HeadlineDifference
    first_consistency: Consistency
    second_consistency: Consistency
    test: McNemar | None = None
    """Null where some task has several trials in a run, whose outcomes are not independent pairs."""

    def readings(self) -> tuple[Reading, ...]:
        test = (Reading(label="test", text=str(self.test)),) if self.test else ()
        return (
            _reading("success rate", self.success),
            Reading(
                label="consistency",
                text=f"{_spread(self.first_consistency)} → {_spread(self.second_consistency)}",
            ),
            *test,
        )


class PrecisionDifference(Pair):
    """The difference in tool-call precision, beside that in argument accuracy."""

    precision: HeadlineDifference
    arguments: HeadlineDifference

    def readings(self) -> tuple[Reading, ...]:
        return _reading("tool-call precision", self.precision), _reading("argument accuracy", self.arguments)


class StepsAndCostDifference(Pair):
    """The difference in steps per success, beside that in cost per success; each over all trials, the vain ones too."""

    steps: HeadlineDifference
    cost: HeadlineDifference
    calls: HeadlineDifference
    turns: HeadlineDifference
    tokens: HeadlineDifference

    def readings(self) -> tuple[Reading, ...]:
        return (
            _reading("steps per success, all trials", self.steps),
            _reading("cost per success in USD, all trials", self.cost),
            _reading("calls per success, all trials", self.calls),
            _reading("turns per success, all trials", self.turns),
            _reading("tokens per success, all trials", self.tokens),
        )


class Comparison(Value):
    """Two runs, task by task."""

    tasks: tuple[str, ...]
    """In both runs: what every difference rests on, as far as they have its metric."""
    first_only: tuple[str, ...]
    """Tasks that only the first run has: they are in no difference."""
    second_only: tuple[str, ...]
    success: SuccessDifference
    precision: PrecisionDifference
    steps: StepsAndCostDifference
    step_level: Difference
    bad_rate: Difference
    recovery_rate: Difference
    views: dict[str, Difference]
    step_changes: StepChanges
    notes: tuple[str, ...]
    """What else differs between the runs: then a score may have moved because of the judge."""
    seed: int


def compare(
    first: Sequence[TrialScore], second: Sequence[TrialScore], seed: int = 0, *, success_is_judged: bool = False
) -> Comparison:
    """Compare two runs. `success_is_judged`: whether the view that says what success is reads a judge's score."""
    ours, theirs = ({trial.task_id for trial in trials} for trials in (first, second))
    cards = [trial.scorecard for trial in (*first, *second) if trial.scorecard]
    provisional = any(card.provisional for card in cards) or not cards

    def change(part: Part, *, judged: bool = False) -> Difference:
        return difference(first, second, part, seed, provisional=judged and provisional)

    def half(part: Part, *, judged: bool = False) -> HeadlineDifference:
        return HeadlineDifference.of(change(part, judged=judged))

    return Comparison(
        tasks=tuple(sorted(ours & theirs)),
        first_only=tuple(sorted(ours - theirs)),
        second_only=tuple(sorted(theirs - ours)),
        success=SuccessDifference(
            success=half(_success, judged=success_is_judged),
            first_consistency=success_and_consistency(first, seed).consistency,
            second_consistency=success_and_consistency(second, seed).consistency,
            test=_test(first, second),
        ),
        precision=PrecisionDifference(
            precision=half(_scored(lambda card: card.scores.tool_call_precision), judged=True),
            arguments=half(_scored(lambda card: card.scores.argument_accuracy), judged=True),
        ),
        steps=StepsAndCostDifference(
            steps=half(_taken(lambda trial: trial.steps)),
            cost=half(_taken(lambda trial: trial.measurements.cost_usd)),
            calls=half(_taken(lambda trial: trial.calls)),
            turns=half(_taken(lambda trial: trial.turns)),
            tokens=half(_taken(tokens_of)),
        ),
        step_level=change(_scored(lambda card: card.scores.step_level), judged=True),
        bad_rate=change(_scored(lambda card: rate(step.bad for step in card.steps)), judged=True),
        recovery_rate=change(_scored(lambda card: card.scores.recovery_rate), judged=True),
        views={name: change(_view(name), judged=judged) for name, judged in _views(first, second).items()},
        step_changes=step_changes(first, second),
        notes=_notes(first, second),
        seed=seed,
    )


def _success(trial: TrialScore) -> tuple[float, float] | None:
    return None if trial.success is None else (float(trial.success), 1)


def _taken(amount: Callable[[TrialScore], float | None]) -> Part:
    def part(trial: TrialScore) -> tuple[float, float] | None:
        taken = amount(trial)
        return None if taken is None or trial.success is None else (taken, float(trial.success))

    return part


def _scored(rate_of: Callable[[Scorecard], Rate]) -> Part:
    def part(trial: TrialScore) -> tuple[float, float] | None:
        found = rate_of(trial.scorecard) if trial.scorecard else None
        return (found.numerator, found.denominator) if found and found.denominator else None

    return part


def _view(name: str) -> Part:
    def part(trial: TrialScore) -> tuple[float, float] | None:
        found = trial.views.get(name)
        return None if found is None or found.value is None else (found.value, 1)

    return part


def _views(first: Sequence[TrialScore], second: Sequence[TrialScore]) -> dict[str, bool]:
    """The views of both runs, and whether a judge's score is among their sources."""
    names = {name for trial in first for name in trial.views} & {name for trial in second for name in trial.views}
    return {
        name: any(trial.views[name].judged for trial in (*first, *second) if name in trial.views)
        for name in sorted(names)
    }


def _test(first: Sequence[TrialScore], second: Sequence[TrialScore]) -> McNemar | None:
    ours, theirs = _outcomes(first), _outcomes(second)
    shared = ours.keys() & theirs.keys()
    if not shared or any(len(side[task]) > 1 for side in (ours, theirs) for task in shared):
        return None
    return mcnemar({task: ours[task][0] for task in shared}, {task: theirs[task][0] for task in shared})


def _outcomes(trials: Sequence[TrialScore]) -> dict[str, list[bool]]:
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for trial in trials:
        if trial.status != "failed" and trial.success is not None:
            outcomes[trial.task_id].append(trial.success)
    return outcomes


def _notes(first: Sequence[TrialScore], second: Sequence[TrialScore]) -> tuple[str, ...]:
    asked: dict[str, Callable[[Scorecard], str]] = {
        "judges": lambda card: f"{card.judge} ({card.judge_digest})",
        "rubrics": lambda card: f"{card.rubric.name}@{card.rubric.version} ({card.rubric.digest})",
        "groupings": lambda card: card.grouping,
    }
    notes: list[str] = []
    for word, name_of in asked.items():
        before, after = ({name_of(trial.scorecard) for trial in run if trial.scorecard} for run in (first, second))
        if before != after:
            notes.append(f"the {word} differ: {_listed(before)} in the first run, {_listed(after)} in the second")
    return tuple(notes)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _spread(half: Consistency) -> str:
    return spread_words(half.low, half.high, half.n)


def _reading(label: str, change: HeadlineDifference) -> Reading:
    words = change_words(change.first, change.second, change.difference, change.interval, change.tasks)
    return Reading(label=label, text=f"{words}; provisional" if change.provisional else words)

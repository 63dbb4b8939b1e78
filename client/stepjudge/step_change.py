"""A step change is a step of two runs' same trial, by index, whose answers are not the same in both."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from stepjudge.contract import StepScore
from stepjudge.rubric import AnswerWord
from stepjudge.trial import TrialScore
from stepjudge.value import JsonObject, Value


class AnswerChange(Value):
    """One criterion of it. Null: this run's rubric did not ask."""

    criterion: str
    first: AnswerWord | None
    second: AnswerWord | None


class StepChange(Value):
    """A step whose answers changed."""

    task_id: str
    first_trial: str
    """Id of the trial in the first run."""
    second_trial: str
    step: int
    changes: tuple[AnswerChange, ...]
    passes: tuple[bool | None, bool | None]
    """Whether it passes, in the first run and in the second."""
    same_calls: bool
    """Whether the agent made the same calls in both: then it is the judgement that changed, as far as calls show."""


class StepChanges(Value):
    """Every step of the trials that both runs have."""

    trials: int
    """Pairs of judged trials: of equal id, or else of equal task and pass."""
    compared: int
    """Steps that both have."""
    changed: tuple[StepChange, ...]
    first_only: int
    """Steps that only the first run's trials have."""
    second_only: int


def step_changes(first: Sequence[TrialScore], second: Sequence[TrialScore]) -> StepChanges:
    """Compare the answers of each step."""
    compared = first_only = second_only = 0
    changed: list[StepChange] = []
    pairs = list(_pairs(_judged(first), _judged(second)))
    for one, other in pairs:
        before, after = _steps(one), _steps(other)
        shared = sorted(before.keys() & after.keys())
        compared += len(shared)
        first_only += len(before) - len(shared)
        second_only += len(after) - len(shared)
        for index in shared:
            if changes := _changes(before[index], after[index]):
                changed.append(
                    StepChange(
                        task_id=one.task_id,
                        first_trial=one.trial_id,
                        second_trial=other.trial_id,
                        step=index,
                        changes=changes,
                        passes=(before[index].passes, after[index].passes),
                        same_calls=_calls(before[index]) == _calls(after[index]),
                    )
                )
    return StepChanges(
        trials=len(pairs),
        compared=compared,
        changed=tuple(changed),
        first_only=first_only,
        second_only=second_only,
    )


def _pairs(first: Sequence[TrialScore], second: Sequence[TrialScore]) -> Iterator[tuple[TrialScore, TrialScore]]:
    """Trials of equal id are one trial scored twice; of the rest, each task's pass meets its like."""
    same = {_id(trial) for trial in first} & {_id(trial) for trial in second}
    yield from _joined([t for t in first if _id(t) in same], [t for t in second if _id(t) in same], _id)
    yield from _joined([t for t in first if _id(t) not in same], [t for t in second if _id(t) not in same], _pass)


def _joined(
    first: Sequence[TrialScore], second: Sequence[TrialScore], key: Callable[[TrialScore], tuple[str, str | int]]
) -> Iterator[tuple[TrialScore, TrialScore]]:
    """Where a key stands for several trials of a run, there is no telling which meets which: none does."""
    ours, theirs = Counter(map(key, first)), Counter(map(key, second))
    other = {key(trial): trial for trial in second}
    for trial in sorted(first, key=key):
        if ours[key(trial)] == theirs[key(trial)] == 1:
            yield trial, other[key(trial)]


def _judged(trials: Sequence[TrialScore]) -> list[TrialScore]:
    return [trial for trial in trials if trial.status != "failed" and trial.scorecard]


def _id(trial: TrialScore) -> tuple[str, str]:
    return trial.task_id, trial.trial_id


def _pass(trial: TrialScore) -> tuple[str, int]:
    return trial.task_id, trial.trial


def _steps(trial: TrialScore) -> dict[int, StepScore]:
    return {step.index: step for step in trial.scorecard.steps} if trial.scorecard else {}


def _calls(step: StepScore) -> list[tuple[str, JsonObject | None, str | None]]:
    return [(call.name, call.arguments, call.arguments_raw) for call in step.calls]


def _changes(before: StepScore, after: StepScore) -> tuple[AnswerChange, ...]:
    criteria = dict.fromkeys([*before.answers, *after.answers])
    return tuple(
        AnswerChange(criterion=name, first=before.answers.get(name), second=after.answers.get(name))
        for name in criteria
        if before.answers.get(name) != after.answers.get(name)
    )

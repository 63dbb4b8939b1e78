"""A summary is what a run comes to: headline pairs, the step metrics, views, and what was left out of each."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean

from stepjudge.contract import Scorecard
from stepjudge.first_step import FirstSteps, first_bad_step, first_failing_step, first_steps
from stepjudge.headline import HeadlineRate
from stepjudge.interval import LEVEL, RESAMPLES
from stepjudge.metric import Rate, rate
from stepjudge.per_success import StepsAndCost, steps_and_cost
from stepjudge.precision import PrecisionAndArguments
from stepjudge.stats import MeanWithInterval, RateWithInterval, mean_with_interval, rate_with_interval
from stepjudge.success import SuccessAndConsistency, success_and_consistency
from stepjudge.trial import TrialScore
from stepjudge.value import Value
from stepjudge.view import ViewValue


class TrialCounts(Value):
    """What became of the trials."""

    total: int
    completed: int
    partial: int
    failed: int
    """Their harness failed: they are in no metric, and nowhere a 0."""
    undecided: int
    """Not failed, yet their outcome cannot be told: a check could not run, or the success view is unmeasured."""
    judged: int
    judge_failed: int
    """Not failed, and the judge gave no answer: they are in no step metric, and nowhere a 0."""
    unjudged: int
    """Not failed, and no judge was asked, or there was no trace to judge."""


class TaskView(Value):
    """A view over the trials of one task."""

    value: float | None
    """Mean over the trials in which it was measured; null when there are none."""
    measured: int
    unmeasured: int


class ViewSummary(Value):
    """A view over a run. Its value in each trial stands in the trial's score."""

    run: MeanWithInterval
    """Mean over all trials, of all tasks, in which it was measured."""
    tasks: dict[str, TaskView]
    skipped: int
    """Missing signals that values were made without, over all trials; only where the view says `missing: skip`."""


class TaskSummary(Value):
    """One task over its trials."""

    trials: int
    failed: int
    successes: int
    told: int
    """Trials whose outcome can be told."""


class Summary(Value):
    """A run, summed up."""

    counts: TrialCounts
    success: SuccessAndConsistency
    precision: PrecisionAndArguments
    steps: StepsAndCost
    step_level: RateWithInterval
    """Steps that pass / scored steps."""
    bad_rate: RateWithInterval
    """Steps that are bad / scored steps."""
    recovery_rate: RateWithInterval
    """Recoveries / steps where recovery applied."""
    first_failing: FirstSteps
    first_bad: FirstSteps
    views: dict[str, ViewSummary]
    tasks: dict[str, TaskSummary]
    rubrics: tuple[str, ...]
    """`name@version` of each rubric that spoke."""
    judges: tuple[str, ...]
    groupings: tuple[str, ...]
    partly_scored: int
    """Trials of which only a range of steps was scored."""
    provisional: bool
    """True until every judge behind it was validated against human labels."""
    validations: tuple[str, ...] = ()
    """What labels say of each judge and rubric behind it, one line each; none where there are no labels."""
    seed: int
    level: float = LEVEL
    resamples: int = RESAMPLES


def summary(trial_scores: Sequence[TrialScore], seed: int = 0, *, success_is_judged: bool = False) -> Summary:
    """Sum a run up. `success_is_judged`: whether the view that says what success is reads a judge's score."""
    trials = sorted(trial_scores, key=lambda trial: (trial.task_id, trial.trial, trial.trial_id))
    cards = [trial.scorecard for trial in trials if trial.status != "failed" and trial.scorecard]
    provisional = any(card.provisional for card in cards) or not cards

    def of_steps(rate_of: Callable[[Scorecard], Rate]) -> RateWithInterval:
        return _of_steps(trials, rate_of, seed, provisional=provisional)

    return Summary(
        counts=_counts(trials),
        success=success_and_consistency(trials, seed, provisional=success_is_judged and provisional),
        precision=PrecisionAndArguments(
            precision=HeadlineRate.of(of_steps(lambda card: card.scores.tool_call_precision)),
            arguments=HeadlineRate.of(of_steps(lambda card: card.scores.argument_accuracy)),
        ),
        steps=steps_and_cost(trials, seed),
        step_level=of_steps(lambda card: card.scores.step_level),
        bad_rate=of_steps(lambda card: rate(step.bad for step in card.steps)),
        recovery_rate=of_steps(lambda card: card.scores.recovery_rate),
        first_failing=first_steps([first_failing_step(card) for card in cards]),
        first_bad=first_steps([first_bad_step(card) for card in cards]),
        views=_views(trials, seed, provisional=provisional),
        tasks=_tasks(trials),
        rubrics=tuple(sorted({f"{card.rubric.name}@{card.rubric.version}" for card in cards})),
        judges=tuple(sorted({card.judge for card in cards})),
        groupings=tuple(sorted({card.grouping for card in cards})),
        partly_scored=sum(len(card.steps) < card.total_steps for card in cards),
        provisional=provisional,
        validations=tuple(
            sorted(
                {
                    f"{card.judge}, {card.rubric.name}@{card.rubric.version}: {words}"
                    for card in cards
                    if (words := _words(card))
                }
            )
        ),
        seed=seed,
    )


def _words(card: Scorecard) -> str:
    return card.validation.words if card.validation and card.validation.labels else ""


def _of_steps(
    trials: Sequence[TrialScore], rate_of: Callable[[Scorecard], Rate], seed: int, *, provisional: bool
) -> RateWithInterval:
    """A metric of steps over the trials that were judged; the others are excluded and counted."""
    rates: dict[str, list[Rate]] = defaultdict(list)
    excluded = 0
    for trial in trials:
        if trial.status == "failed" or trial.scorecard is None:
            excluded += 1
        else:
            rates[trial.task_id].append(rate_of(trial.scorecard))
    return rate_with_interval(rates, seed, excluded=excluded, provisional=provisional)


def _counts(trials: Sequence[TrialScore]) -> TrialCounts:
    scored = [trial for trial in trials if trial.status != "failed"]
    judged = sum(trial.scorecard is not None for trial in scored)
    broken = sum(trial.scorecard is None and trial.judge_error is not None for trial in scored)
    return TrialCounts(
        total=len(trials),
        completed=sum(trial.status == "completed" for trial in trials),
        partial=sum(trial.status == "partial" for trial in trials),
        failed=len(trials) - len(scored),
        undecided=sum(trial.success is None for trial in scored),
        judged=judged,
        judge_failed=broken,
        unjudged=len(scored) - judged - broken,
    )


def _views(trials: Sequence[TrialScore], seed: int, *, provisional: bool) -> dict[str, ViewSummary]:
    """Each view over the trials of the tasks that have it."""
    names = sorted({name for trial in trials for name in trial.views})
    return {name: _view(name, trials, seed, provisional=provisional) for name in names}


def _view(name: str, trials: Sequence[TrialScore], seed: int, *, provisional: bool) -> ViewSummary:
    having = {trial.task_id for trial in trials if name in trial.views}
    concerned = [trial for trial in trials if trial.task_id in having]
    scored = [trial for trial in concerned if trial.status != "failed"]
    values: dict[str, list[ViewValue]] = defaultdict(list)
    for trial in scored:
        values[trial.task_id].append(trial.views.get(name, ViewValue(value=None)))
    everything = [value for each in values.values() for value in each]
    judged = any(value.judged for value in everything)
    return ViewSummary(
        run=mean_with_interval(
            {task: [value.value for value in each] for task, each in values.items()},
            seed,
            excluded=len(concerned) - len(scored),
            provisional=judged and provisional,
        ),
        tasks={task: _task_view(each) for task, each in values.items()},
        skipped=sum(value.skipped for value in everything),
    )


def _task_view(values: Sequence[ViewValue]) -> TaskView:
    known = [value.value for value in values if value.value is not None]
    return TaskView(value=fmean(known) if known else None, measured=len(known), unmeasured=len(values) - len(known))


def _tasks(trials: Sequence[TrialScore]) -> dict[str, TaskSummary]:
    by_task: dict[str, list[TrialScore]] = defaultdict(list)
    for trial in trials:
        by_task[trial.task_id].append(trial)
    return {task: _task(each) for task, each in by_task.items()}


def _task(trials: Sequence[TrialScore]) -> TaskSummary:
    outcomes = [trial.success for trial in trials if trial.status != "failed" and trial.success is not None]
    return TaskSummary(
        trials=len(trials),
        failed=sum(trial.status == "failed" for trial in trials),
        successes=sum(outcomes),
        told=len(outcomes),
    )

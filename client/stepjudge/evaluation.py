"""An evaluation joins the outcome of each trial with its process: checks, verdicts, and the views made of both."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import JsonValue

from stepjudge.checks import CheckResult, Scene, read_check, run_checks
from stepjudge.client import AsyncJudgeClient, ScoreOptions
from stepjudge.contract import Scorecard
from stepjudge.digest import digest
from stepjudge.errors import JudgeRefused, JudgeUnreachable
from stepjudge.journal import Journal
from stepjudge.judge_failure import judge_failure
from stepjudge.purse import Purse
from stepjudge.rubric import Rubric
from stepjudge.task import Task
from stepjudge.trace import Trace
from stepjudge.trial import Trial, TrialScore
from stepjudge.value import JsonObject
from stepjudge.view import ViewValue, signals_of, view_values


@dataclass(frozen=True)
class Judging:
    """Who judges the steps, under which rubrics."""

    client: AsyncJudgeClient
    rubrics: Mapping[str, Rubric]
    """By the reference that tasks use."""
    judge: str | None = None
    specification: JsonObject = field(default_factory=dict[str, JsonValue])
    """All that the caller said of the judge, for the keys of what is kept. No secrets."""
    purse: Purse = field(default_factory=lambda: Purse(None))
    fresh: bool = False


@dataclass(frozen=True)
class Scorer:
    """Scores trials."""

    judging: Judging | None
    folder: Path | None = None
    """The suite's, where hidden tests and the like lie."""
    hosts: frozenset[str] = frozenset()
    """Hosts that checks may reach."""
    output: Path | None = None
    """Where the run is written: what lies there is no part of the suite, also when it is in its folder."""

    async def score(self, task: Task, trial: Trial) -> TrialScore:
        """What checks, judge and views say. A failed trial is not scored: its harness failed, not the agent."""
        checks: tuple[CheckResult, ...] = ()
        card: Scorecard | None = None
        judge_error: str | None = None
        if trial.status != "failed":
            checks, (card, judge_error) = await anyio.gather(self._checks(task, trial), self._judged(task, trial))
        values = {} if trial.status == "failed" else _views(task, checks, card)
        trace = trial.trace
        return TrialScore(
            trial_id=trial.id,
            task_id=trial.task_id,
            trial=trial.trial,
            status=trial.status,
            checks=checks,
            scorecard=card,
            judge_error=judge_error,
            views=values,
            success=None if trial.status == "failed" else _success(task, checks, values),
            steps=len(trace.steps) if trace else None,
            calls=sum(len(step.calls) for step in trace.steps) if trace else None,
            turns=len({step.turn for step in trace.steps}) if trace else None,
            measurements=trial.measurements,
        )

    def key(self, task: Task, trial: Trial) -> str:
        """Of all that a score depends on. Files count by size and time of change: it must be cheap."""
        judging = self.judging
        return digest(
            {
                "score": version("stepjudge"),
                "task": digest(task.model_dump(mode="json")),
                "trial": digest(trial.model_dump(mode="json")),
                "rubric": judging.rubrics[task.rubric].digest if judging else None,
                "judge": judging.specification if judging else None,
                "environment": _files(Path(trial.environment), self.output) if trial.environment else None,
                "folder": self._folder_files,
                "hosts": list[JsonValue](sorted(self.hosts)),
            }
        )

    @cached_property
    def _folder_files(self) -> str | None:
        return _files(self.folder, self.output) if self.folder else None

    async def _checks(self, task: Task, trial: Trial) -> tuple[CheckResult, ...]:
        scene = Scene(
            root=Path(trial.environment) if trial.environment is not None else None,
            final_output=trial.output_text,
            trace=trial.trace,
            reference=task.reference,
            folder=self.folder,
            hosts=self.hosts,
        )
        return await run_checks([read_check(document) for document in task.checks], scene)

    async def _judged(self, task: Task, trial: Trial) -> tuple[Scorecard | None, str | None]:
        if self.judging is None or trial.trace is None or not trial.trace.steps:
            return None, None
        try:
            card = await _scorecard(self.judging, task, trial.trace)
        except (JudgeUnreachable, JudgeRefused) as error:
            return None, str(error)
        failure = judge_failure(card)
        return (None, failure) if failure else (card, None)


@dataclass(frozen=True)
class Pending:
    """A trial that is to be had and scored."""

    task: Task
    obtain: Callable[[], Awaitable[Trial]]


async def evaluate(
    pending: Sequence[Pending],
    scorer: Scorer,
    kept: Journal,
    *,
    jobs: int,
    on_scored: Callable[[Trial, TrialScore], None] = lambda _trial, _score: None,
) -> list[tuple[Trial, TrialScore]]:
    """Every trial with its score, in the order given, `jobs` at once. What the journal keeps is not done again."""
    limiter = anyio.CapacityLimiter(jobs)

    async def one(each: Pending) -> tuple[Trial, TrialScore]:
        async with limiter:
            trial = await each.obtain()
            score = await _kept_or_scored(each.task, trial)
            on_scored(trial, score)
            return trial, score

    async def _kept_or_scored(task: Task, trial: Trial) -> TrialScore:
        key = await to_thread.run_sync(scorer.key, task, trial)
        if key in kept.kept:
            return TrialScore.model_validate(kept.kept[key])
        score = await scorer.score(task, trial)
        # a judge that was not there, or what a check lacked, may be there next time
        if score.judge_error is None and all(check.outcome != "error" for check in score.checks):
            # the key once more: a check in place changes the environment, which the next process finds changed
            key = await to_thread.run_sync(scorer.key, task, trial)
            kept.keep(key, score.model_dump(mode="json"))
        return score

    return list(await anyio.gather(*(one(each) for each in pending)))


def _files(root: Path, output: Path | None) -> str:
    """A digest over path, size and time of change of the files in a folder, but for those of the output."""
    left_out = output.resolve() if output else None
    # an environment may lie in the output, and is not left out then
    if left_out and root.resolve().is_relative_to(left_out):
        left_out = None
    found: list[JsonValue] = []
    for place, folders, files in os.walk(root):
        # caches of Python are written by the checks themselves
        folders[:] = [each for each in folders if each != "__pycache__" and (Path(place) / each).resolve() != left_out]
        found += [_file(root, Path(place) / each) for each in files]
    return digest(sorted(found, key=str))


def _file(root: Path, path: Path) -> JsonValue:
    try:
        status = path.lstat()
    except OSError:  # gone since it was listed
        return [path.relative_to(root).as_posix(), None, None]
    return [path.relative_to(root).as_posix(), status.st_size, status.st_mtime_ns]


def _views(task: Task, checks: Sequence[CheckResult], card: Scorecard | None) -> dict[str, ViewValue]:
    return view_values(task.views, signals_of(checks, card, single_answer=task.single_answer))


def _success(task: Task, checks: Sequence[CheckResult], views: Mapping[str, ViewValue]) -> bool | None:
    value = signals_of(checks, None)["outcome"] if task.success is None else views[task.success].value
    return None if value is None else value >= 1


async def _scorecard(judging: Judging, task: Task, trace: Trace) -> Scorecard:
    options: ScoreOptions = {"rubric": judging.rubrics[task.rubric], "fresh": judging.fresh}
    if judging.judge is not None:
        options["judge"] = judging.judge
    if judging.purse.limit_usd is None:
        return await judging.client.score(trace, **options)
    estimate = await judging.client.estimate(trace, **options)
    async with judging.purse.grant(estimate.cost_usd) as grant:
        limited: ScoreOptions = {**options, "max_cost_usd": grant.usd}
        card = await judging.client.score(trace, **limited)
        grant.spent = card.cost_usd or 0.0
        return card

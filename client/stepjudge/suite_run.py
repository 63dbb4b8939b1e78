"""A suite's run takes trials from files, a bundle or a target, scores them, and leaves a bundle; killed, it resumes."""

import platform
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from anyio import to_thread
from anyio.lowlevel import checkpoint
from pydantic import JsonValue

from stepjudge.bundle import (
    FILES,
    REPORT,
    BadBundle,
    Bundle,
    is_bundle,
    read_bundle,
    read_trials,
    write_bundle,
    write_run,
)
from stepjudge.client import AsyncJudgeClient
from stepjudge.digest import digest
from stepjudge.errors import StepjudgeError
from stepjudge.evaluation import Judging, Pending, Scorer, evaluate
from stepjudge.journal import Journal, journal, peek
from stepjudge.purse import Purse
from stepjudge.rescore import settled
from stepjudge.rubric import Rubric
from stepjudge.runner import attempted
from stepjudge.suite import Suite
from stepjudge.summary import summary
from stepjudge.targets import Target
from stepjudge.task import Task
from stepjudge.trial import Trial, TrialScore
from stepjudge.trial_files import BadTrials, FoundTrial, find_trials, read_trial
from stepjudge.value import JsonObject

UNFINISHED = "unfinished.jsonl"
"""The journal of a run that is under way, in the folder of its bundle."""


ENVIRONMENTS = "environments"

_RUN = "run"
"""The journal's key of which run it is of."""

_OWN = frozenset({*FILES.values(), REPORT, "run.json", "evidence", ENVIRONMENTS, UNFINISHED})
"""What a run writes into its folder."""


class BadOutput(StepjudgeError):
    """A run cannot be written there without destroying something else."""


@dataclass(frozen=True)
class Passes:
    """A target that attempts every task some times."""

    target: Target
    passes: int = 1
    timeout_s: float | None = None


@dataclass(frozen=True)
class Stored:
    """Trials that exist: what the command line names, and the format of traces when it is not to be detected."""

    sources: tuple[str, ...]
    format: str | None = None
    allow_outside: bool = False
    """Whether what trials name may lie outside of their folder."""


@dataclass(frozen=True)
class Run:
    """What is to be run, and where its bundle goes."""

    suite: Suite
    folder: Path
    """The suite's."""
    trials: Passes | Stored
    output: Path
    judging: Judging | None = None
    jobs: int = 4
    seed: int = 0
    """Of the bootstrap."""
    hosts: frozenset[str] = frozenset()
    overwrite: bool = False
    on_start: Callable[[int], None] = lambda _total: None
    on_scored: Callable[[Trial, TrialScore], None] = lambda _trial, _score: None

    async def run(self) -> Bundle:
        """Score everything and write the bundle. Raises a StepjudgeError before anything is spent."""
        began, started = time.monotonic(), datetime.now(UTC)
        stored = None if isinstance(self.trials, Passes) else await to_thread.run_sync(self._stored, self.trials)
        before = await to_thread.run_sync(self._prepared)
        with ExitStack() as stack:
            kept = self._opened(stack)
            pending, earlier, origin = stored or self._attempts(kept)
            self.on_start(len(pending))
            scored = await evaluate(pending, self._scorer, kept, jobs=self.jobs, on_scored=self.on_scored)
            known = {**(before or {}), **earlier}
            scored = [(trial, settled(known.get(trial.id), score)) for trial, score in scored]
            metadata = self._metadata(scored, origin) | {
                "started_at": started.isoformat(timespec="seconds"),
                "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "duration_sec": round(time.monotonic() - began, 3),
            }
            await to_thread.run_sync(partial(self._write, scored, metadata))
            (self.output / UNFINISHED).unlink()
        return await to_thread.run_sync(read_bundle, self.output)

    @property
    def _scorer(self) -> Scorer:
        return Scorer(self.judging, folder=self.folder, hosts=self.hosts, output=self.output)

    @property
    def _identity(self) -> str:
        trials = self.trials
        what: JsonValue = trials.target.specification if isinstance(trials, Passes) else list(trials.sources)
        return digest({"suite": self.suite.digest, "trials": what})

    def _opened(self, stack: ExitStack) -> Journal:
        try:
            kept = stack.enter_context(journal(self.output / UNFINISHED))
            stack.callback(self._forget_empty, kept)
            if kept.kept.get(_RUN) != self._identity:
                kept.keep(_RUN, self._identity)
        except OSError as error:
            raise BadOutput(f"{self.output}: cannot be written to: {error.strerror or error}") from error
        return kept

    def _forget_empty(self, kept: Journal) -> None:
        # attempts under way have left workspaces, which the next process would take for somebody else's
        if not set(kept.kept) - {_RUN} and not (self.output / ENVIRONMENTS).exists():
            (self.output / UNFINISHED).unlink(missing_ok=True)

    def _prepared(self) -> Mapping[str, TrialScore] | None:
        """Scores of the run that stands in the folder and is about to be replaced by one like it."""
        try:
            _refuse_link(self.output / ENVIRONMENTS)
            return self._replaced()
        except OSError as error:
            raise BadOutput(f"{self.output}: cannot be read: {error.strerror or error}") from error

    def _replaced(self) -> Mapping[str, TrialScore] | None:
        output = self.output
        if self.overwrite or not output.exists():
            return None
        unfinished = peek(output / UNFINISHED)
        if unfinished.get(_RUN) == self._identity:
            return None
        if not output.is_dir() or (_foreign(output, bool(unfinished)) and not is_bundle(output)):
            raise BadOutput(f"{output}: exists and is no bundle: choose another folder, or --overwrite")
        if not is_bundle(output):
            return None
        there = read_bundle(output)
        suite = there.metadata.get("labels")
        if isinstance(self.trials, Passes) or suite != self._labels:
            hint = f"re-score its trials with --trials {output}, choose another folder, or --overwrite"
            raise BadOutput(f"{output}: holds a finished run of suite {suite}: {hint}")
        return {score.trial_id: score for score in there.scores}

    def _attempts(self, kept: Journal) -> tuple[list[Pending], dict[str, TrialScore], JsonObject]:
        passes = self.trials
        assert isinstance(passes, Passes)
        pending = [
            Pending(task, partial(self._attempt, passes, task, number, kept))
            for number in range(1, passes.passes + 1)
            for task in self.suite.by_id.values()
        ]
        chosen = dict(passes.target.specification)
        named = {"name": chosen.pop("name", "target"), "kind": chosen.pop("kind", "runner")}
        limits: JsonObject = {"passes": passes.passes, "timeout_s": passes.timeout_s}
        return pending, {}, {**named, "version": None, "config": {**chosen, **limits}}

    def _stored(self, stored: Stored) -> tuple[list[Pending], dict[str, TrialScore], JsonObject]:
        """The trials to score, scores that some of them have already, and where they come from."""
        bundles = [source for source in stored.sources if is_bundle(Path(source))]
        files = [source for source in stored.sources if source not in bundles]
        pending: list[Pending] = []
        earlier: dict[str, TrialScore] = {}
        origin: JsonObject = {"name": "imported", "kind": "imported", "version": None}
        origin["config"] = {"sources": list(stored.sources)}
        for source in bundles:
            trials, scores, target = _from_bundle(Path(source))
            pending += [Pending(self._task(trial, source), partial(_given, trial)) for trial in trials]
            earlier.update(scores)
            origin = target if len(stored.sources) == 1 and target else origin
        outside = stored.allow_outside
        for each in find_trials(self.suite, files, format=stored.format, allow_outside=outside) if files else ():
            pending.append(Pending(self.suite.by_id[each.task_id], partial(_read, each)))
        return pending, earlier, origin

    def _task(self, trial: Trial, source: str) -> Task:
        if trial.task_id not in self.suite.by_id:
            known = ", ".join(list(self.suite.by_id)[:10])
            raise BadTrials(f"{source}: the suite has no task {trial.task_id!r}; its tasks are {known}")
        return self.suite.by_id[trial.task_id]

    async def _attempt(self, passes: Passes, task: Task, number: int, kept: Journal) -> Trial:
        specification: JsonObject = {
            "target": passes.target.specification,
            "task": task.id,
            "inputs": task.inputs,
            "pass": number,
            "timeout_s": passes.timeout_s,
        }
        key = digest({"attempt": specification})
        if key in kept.kept:
            return Trial.model_validate(kept.kept[key])
        workspace = self.output / ENVIRONMENTS / f"{task.id}.{number}"
        # what a killed process left there is no empty folder
        await to_thread.run_sync(_cleared, workspace)
        trial = await attempted(passes.target, task, number, workspace, timeout_s=passes.timeout_s)
        if trial.status != "failed":  # a harness that failed is tried again by the next process
            kept.keep(key, trial.model_dump(mode="json", exclude_defaults=True))
        return trial

    @property
    def _labels(self) -> JsonObject:
        return {"suite": self.suite.name, "suite_version": self.suite.version}

    def _metadata(self, scored: Sequence[tuple[Trial, TrialScore]], origin: JsonObject) -> JsonObject:
        rubrics = self.judging.rubrics.values() if self.judging else ()
        return {
            "labels": self._labels,
            "target": origin,
            "sdk_version": None,
            "stepjudge": {
                "versions": {"stepjudge": version("stepjudge"), "python": platform.python_version()},
                "suite": {"name": self.suite.name, "version": self.suite.version, "digest": self.suite.digest},
                "tasks": {task.id: digest(task.model_dump(mode="json")) for task in self.suite.by_id.values()},
                "rubrics": {rubric.reference: rubric.digest for rubric in rubrics},
                "rubric_documents": {rubric.reference: rubric.model_dump(mode="json") for rubric in rubrics},
                "judge": self.judging.specification if self.judging else None,
                "seed": self.seed,
                "jobs": self.jobs,
            },
        }

    def _write(self, scored: Sequence[tuple[Trial, TrialScore]], metadata: JsonObject) -> None:
        by_id = self.suite.by_id
        judged = any(
            score.views[name].judged
            for _, score in scored
            if (name := by_id[score.task_id].success) is not None and name in score.views
        )
        run_id = self._run_id([trial for trial, _ in scored])
        write_bundle(
            self.output,
            run_id=run_id,
            metadata=metadata,
            tasks=list(by_id.values()),
            scored=scored,
            summed_up=summary([score for _, score in scored], self.seed, success_is_judged=judged),
            judged=self.judging is not None,
        )
        write_dashboard(self.output)

    def _run_id(self, trials: Sequence[Trial]) -> str:
        """Of what was scored with what, so that the same run has the same name wherever it is written."""
        judging = self.judging
        content: JsonObject = {
            "suite": self.suite.digest,
            "trials": [digest(trial.model_dump(mode="json", exclude={"environment"})) for trial in trials],
            "judge": judging.specification if judging else None,
            "rubrics": {name: rubric.digest for name, rubric in judging.rubrics.items()} if judging else {},
            "seed": self.seed,
        }
        return f"run-{digest(content).removeprefix('sha256:')[:16]}"


def _refuse_link(environments: Path) -> None:
    # what lies in it is removed, and would be removed wherever the link leads
    if environments.is_symlink():
        raise BadOutput(f"{environments}: is a symbolic link: remove it, or choose another folder")


def _cleared(workspace: Path) -> None:
    _refuse_link(workspace.parent)
    if workspace.is_symlink():
        workspace.unlink()
    shutil.rmtree(workspace, ignore_errors=True)


def _foreign(folder: Path, unfinished: bool) -> bool:
    """Whether a folder holds what no run wrote: anything, when no run was begun there that says so itself."""
    names = {each.name for each in folder.iterdir() if not (each.name == UNFINISHED and not each.stat().st_size)}
    return bool(names - _OWN if unfinished else names)


def write_dashboard(folder: Path) -> None:
    """The report, and the manifest that names it."""
    from stepjudge.report import write_report  # lazily: it needs jinja2

    write_report(folder)
    run = read_bundle(folder).run
    digests = run["digests"]
    write_run(folder, str(run["run_id"]), digests if isinstance(digests, dict) else {})


@asynccontextmanager
async def judged_by(
    client: AsyncJudgeClient,
    suite: Suite,
    *,
    judge: str | None = None,
    rubric: str | Rubric | None = None,
    max_cost_usd: float | None = None,
    fresh: bool = False,
) -> AsyncGenerator[Judging]:
    """Who judges, once it is known that the service is there and has the judge and the rubrics."""
    async with client:
        cards = {card.name: card for card in await client.judges()}
        default = next((card for card in cards.values() if card.default), None)
        card = default if judge is None else cards.get(judge)
        rubrics: dict[str, Rubric] = {}
        for reference in dict.fromkeys(task.rubric for task in suite.tasks):
            if isinstance(rubric, Rubric):
                rubrics[reference] = rubric
            else:
                rubrics[reference] = await client.rubric(rubric or reference)
        specification: JsonObject = {"name": judge or "", "digest": None, "specification": None}
        if card is not None:
            specification = {"name": card.name, "digest": card.digest, "specification": card.specification}
        yield Judging(client, rubrics, judge, specification, Purse(max_cost_usd), fresh)


def _from_bundle(folder: Path) -> tuple[tuple[Trial, ...], dict[str, TrialScore], JsonObject | None]:
    """The trials of a bundle; with their scores and target when it is one of ours."""
    if not _is_ours(folder):
        return read_trials(folder), {}, None
    there = read_bundle(folder)
    target = there.metadata.get("target")
    scores = {score.trial_id: score for score in there.scores}
    return there.trials, scores, target if isinstance(target, dict) else None


def _is_ours(folder: Path) -> bool:
    import json

    try:
        run = json.loads((folder / "run.json").read_bytes())
    except ValueError:
        return False
    if not isinstance(run, dict):
        raise BadBundle(f"{folder / 'run.json'}: is no JSON object")
    return "schema_version" in run


async def _read(found: FoundTrial) -> Trial:
    return await to_thread.run_sync(read_trial, found)


async def _given(trial: Trial) -> Trial:
    await checkpoint()
    return trial

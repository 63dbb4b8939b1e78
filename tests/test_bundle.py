"""A bundle is whole or refused, says the same when it is scored again, and is what NeMo Evaluator's reader takes."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from stepjudge.bundle import BadBundle, read_bundle, read_trials
from stepjudge.evaluation import Scorer
from stepjudge.journal import Busy, journal
from stepjudge.suite_run import BadOutput
from stepjudge.task import Task
from stepjudge.trial import Trial
from stepjudge.trial_files import BadTrials
from stepjudge.value import JsonObject
from stepjudge.whole import write_whole

import hosts
from fakes.provider import Provider
from scripted import always
from suites import Evaluate, evaluated, task, write_suite, write_trials

SCORED = ("tasks.jsonl", "trials.jsonl", "scores.jsonl", "summary.json")
"""What says the same, byte for byte, when the same trials are scored again."""

READ_BY_NEMO = """
import asyncio, json, sys
from pathlib import Path
from nhx_evals_sdk.agent_eval.persistence import read_trials
from nhx_evals_sdk.agent_eval.results import AgentEvalSummary, RunMetadata
from nhx_evals_sdk.agent_eval.scores import AgentEvalTaskScore

folder = Path(sys.argv[1])

def known(model, name):
    document = json.loads((folder / name).read_text())
    return model.model_validate({key: value for key, value in document.items() if key in model.model_fields})

async def calls(trial):
    return len(await (await trial.evidence.trace(format="atif")).tool_calls())

trials = read_trials(folder)
scores = [AgentEvalTaskScore.model_validate_json(line) for line in (folder / "scores.jsonl").open()]
summary = known(AgentEvalSummary, "summary.json")
print(json.dumps({
    "trials": {trial.id: trial.status.value for trial in trials},
    "outputs": [trial.output and trial.output.output_text for trial in trials],
    "calls": [asyncio.run(calls(trial)) for trial in trials if trial.evidence],
    "metrics": sorted({score.metric_type for score in scores}),
    "failed": [score.id.split(":")[2:] for score in scores if score.status.value == "failed"],
    "success": summary.score("outcome.success").mean,
    "step_level": summary.score("step_judge.step_level").mean,
    "suite": known(RunMetadata, "metadata.json").labels["suite"],
}))
"""


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    return Evaluate(tmp_path)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    view = {"reducer": "gate", "signals": [{"source": "outcome"}, {"source": "score.step_level"}]}
    return write_suite(tmp_path / "suite", task("pump"), task("valve"), views={"both": view})


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    folder = write_trials(tmp_path / "trials", {"pump": ["42", "41", "42"], "valve": ["42", "42"]})
    (folder / "valve" / "2" / "trace.json").write_text("{broken", encoding="utf-8")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SCORED}


def test_a_bundle_holds_what_was_scored_and_what_is_needed_to_do_it_again(
    suite: Path, trials: Path, tmp_path: Path
) -> None:
    bundle = evaluated(tmp_path, suite, trials, "run")

    assert [trial.id for trial in bundle.trials] == ["pump.1", "pump.2", "pump.3", "valve.1", "valve.2"]
    assert [score.success for score in bundle.scores] == [True, False, True, True, None]
    assert bundle.trials[4].status == "failed"
    assert bundle.summary.success.success.denominator == 4, "a failed harness is excluded, not a 0"
    assert bundle.summary.counts.failed == 1
    ours = bundle.metadata["stepjudge"]
    assert isinstance(ours, dict)
    assert {"versions", "suite", "tasks", "rubrics", "judge", "seed"} <= set(ours)
    assert bundle.run["schema_version"] == "1"
    assert not list((tmp_path / "run").glob("*partial*")) + list((tmp_path / "run").glob("unfinished*"))
    trace = bundle.trials[0].trace
    assert trace is not None
    assert trace.steps[0].calls[0].result.text == "the motor is loose"


def test_scoring_a_bundle_again_says_the_same_and_asks_no_judge(suite: Path, trials: Path, tmp_path: Path) -> None:
    with Provider(always("yes")) as provider:
        judge: dict[str, Any] = {"judge": "openai/scripted", "api_base": provider.base_url}
        evaluated(tmp_path, suite, trials, "first", **judge)
        asked = provider.count
        shutil.rmtree(trials)
        shutil.move(tmp_path / "first", tmp_path / "moved")
        evaluated(tmp_path, suite, tmp_path / "moved", "again", **judge)
        evaluated(tmp_path, suite, tmp_path / "again", "again", **judge)
        assert provider.count == asked > 0

    assert content(tmp_path / "again") == content(tmp_path / "moved")
    first, again = read_bundle(tmp_path / "moved"), read_bundle(tmp_path / "again")
    assert again.run["run_id"] == first.run["run_id"]
    paid = sum(score.scorecard.requests for score in again.scores if score.scorecard)
    assert paid == asked, "what the verdicts cost when they were asked for is kept"


def test_another_judge_is_another_run(suite: Path, trials: Path, tmp_path: Path) -> None:
    first = evaluated(tmp_path, suite, trials, "first")
    with Provider(always("yes")) as provider:
        judge: dict[str, Any] = {"judge": "openai/scripted", "api_base": provider.base_url}
        again = evaluated(tmp_path, suite, tmp_path / "first", "again", **judge)

    assert again.run["run_id"] != first.run["run_id"]
    assert {score.scorecard.judge for score in again.scores if score.scorecard} == {"openai/scripted"}


def test_nemo_evaluator_reads_the_bundle(suite: Path, trials: Path, tmp_path: Path) -> None:
    python = hosts.interpreter("nemo")
    with Provider(always("yes")) as provider:
        evaluated(tmp_path, suite, trials, "run", judge="openai/scripted", api_base=provider.base_url)
    command = [python, "-c", READ_BY_NEMO, tmp_path / "run"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "trials": {"pump.1": "completed", "pump.2": "completed", "pump.3": "completed"}
        | {"valve.1": "completed", "valve.2": "failed"},
        "outputs": ["42", "41", "42", "42", None],
        "calls": [1, 1, 1, 1],
        "metrics": ["check.right", "outcome", "step_judge"],
        "failed": [["valve.2", "step_judge"], ["valve.2", "outcome"]],
        "success": 0.75,
        "step_level": 1.0,
        "suite": "small",
    }


def test_a_bundle_of_nemo_evaluator_is_scored_too(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", task("pump"))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    step: JsonObject = {"step_id": 1, "source": "agent", "message": "42"}
    trace: JsonObject = {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": [step]}
    row: JsonObject = {
        "id": "pump-trial",
        "task_id": "pump",
        "status": "completed",
        "output": {"output_text": "42", "response": None, "metadata": {}},
        "evidence": {"descriptors": {"trace": {"kind": "trace", "format": "atif", "data": trace}}, "metadata": {}},
    }
    (theirs / "trials.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (theirs / "run.json").write_text('{"run_id": "x"}', encoding="utf-8")
    [score] = evaluated(tmp_path, suite, theirs, "run").scores

    assert (score.trial_id, score.success, score.steps) == ("pump-trial", True, 1)


ATTEMPTS = """
import anyio, pathlib

async def run(assignment):
    with open("attempts.txt", "a") as file:
        file.write(assignment.task_id + "\\n")
    if assignment.task_id == "d" and not pathlib.Path("go").exists():
        await anyio.sleep(1000)
    return "42"
"""


def test_a_killed_run_goes_on_where_it_was(evaluate: Evaluate, tmp_path: Path) -> None:
    ran = tmp_path / "ran.txt"
    count = {"name": "count", "kind": "command", "argv": ["sh", "-c", f"echo ran >> {ran}"]}
    right = task()["checks"][0]
    tasks = [task(name, checks=[right, {**count, "in_place": True}]) for name in "abcde"]
    suite = write_suite(tmp_path / "suite", *tasks)
    (tmp_path / "mender.py").write_text(
        ATTEMPTS.replace('return "42"', 'pathlib.Path(assignment.workspace, "x").touch(); return "42"'),
        encoding="utf-8",
    )
    command = (suite, "--target", "mender:run", "-o", "run", "--jobs", "1", "--no-judge")
    process = evaluate.start(*command)
    attempts = tmp_path / "attempts.txt"
    wait_until(lambda: attempts.exists() and attempts.read_text().split() == ["a", "b", "c", "d"])
    process.send_signal(signal.SIGKILL)
    process.communicate()

    with pytest.raises(BadBundle, match="no such file"):
        read_bundle(tmp_path / "run")
    with (tmp_path / "run" / "unfinished.jsonl").open("ab") as file:
        file.write(b'{"key": "half a li')
    (tmp_path / "go").touch()
    evaluate(*command)

    assert attempts.read_text().split() == ["a", "b", "c", "d", "d", "e"]
    assert ran.read_text().split() == ["ran"] * 5
    assert [score.success for score in read_bundle(tmp_path / "run").scores] == [True] * 5


def test_a_run_that_is_interrupted_ends_at_once_and_says_how_to_go_on(evaluate: Evaluate, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", task("a"), task("d"))
    (tmp_path / "mender.py").write_text(ATTEMPTS, encoding="utf-8")
    process = evaluate.start(suite, "--target", "mender:run", "-o", "run", "--jobs", "1", "--no-judge")
    attempts = tmp_path / "attempts.txt"
    wait_until(lambda: attempts.exists() and attempts.read_text().split() == ["a", "d"])
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)

    assert process.returncode == 130
    assert time.monotonic() - began < 10
    assert told.splitlines() == ["stepjudge: stopped. What was scored is kept in run: the same command goes on there"]


def test_the_same_run_again_takes_what_has_changed(suite: Path, trials: Path, tmp_path: Path) -> None:
    evaluated(tmp_path, suite, trials, "run")
    (trials / "valve" / "2" / "trace.json").write_bytes((trials / "valve" / "1" / "trace.json").read_bytes())
    again = evaluated(tmp_path, suite, trials, "run")

    assert [trial.status for trial in again.trials] == ["completed"] * 5


def test_an_attempt_that_failed_is_made_again_by_the_next_process(evaluate: Evaluate, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", task("a"), task("b"))
    (tmp_path / "mender.py").write_text(
        "import os, pathlib\n"
        "async def run(assignment):\n"
        "    if pathlib.Path('power').exists():\n"
        "        return '42'\n"
        "    if assignment.task_id == 'b':\n"
        "        os.kill(os.getpid(), 9)\n"
        "    raise RuntimeError('no power')\n",
        encoding="utf-8",
    )
    command = (suite, "--target", "mender:run", "-o", "run", "--jobs", "1", "--no-judge")
    evaluate(*command, status=-9)
    (tmp_path / "power").touch()
    evaluate(*command)

    assert [trial.status for trial in read_bundle(tmp_path / "run").trials] == ["completed", "completed"]


def test_a_file_that_was_changed_is_noticed(suite: Path, trials: Path, tmp_path: Path) -> None:
    evaluated(tmp_path, suite, trials, "run")
    scores = tmp_path / "run" / "scores.jsonl"
    write_whole(scores, scores.read_bytes().replace(b'"value": 0.0', b'"value": 1.0'))
    with pytest.raises(BadBundle, match=r"scores\.jsonl: is not what run\.json says"):
        read_bundle(tmp_path / "run")


@pytest.mark.parametrize("ref", ["../secret.json", "evidence/link.json"])
def test_a_bundle_refers_to_nothing_outside_of_it(tmp_path: Path, ref: str) -> None:
    (tmp_path / "secret.json").write_text('{"messages": []}', encoding="utf-8")
    folder = tmp_path / "bundle"
    (folder / "evidence").mkdir(parents=True)
    (folder / "evidence" / "link.json").symlink_to(tmp_path / "secret.json")
    descriptors = {"trace": {"kind": "trace", "ref": ref}}
    row = {"id": "a", "task_id": "pump", "status": "completed", "evidence": {"descriptors": descriptors}}
    (folder / "trials.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(BadBundle, match="outside of the bundle"):
        read_trials(folder)


def test_a_folder_that_holds_something_else_is_not_written_to(suite: Path, trials: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(BadOutput, match="exists and is no bundle"):
        evaluated(tmp_path, suite, trials, "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_journal_does_not_open_a_folder_to_another_run(suite: Path, trials: Path, tmp_path: Path) -> None:
    for name in ("empty", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").touch()
        line = b'{"key": "run", "value": "another"}\n' if name == "other" else b""
        (tmp_path / name / "unfinished.jsonl").write_bytes(line)
        with pytest.raises(BadOutput, match="exists and is no bundle"):
            evaluated(tmp_path, suite, trials, name)
    with pytest.raises(BadTrials):
        evaluated(tmp_path, suite, tmp_path / "nowhere", "new")
    assert not (tmp_path / "new").exists()


def test_an_output_that_cannot_be_written_to_or_leads_elsewhere_is_refused(
    suite: Path, trials: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadOutput):
        evaluated(tmp_path, suite, trials, "file/run")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "environments").symlink_to(trials)
    with pytest.raises(BadOutput, match="symbolic link"):
        evaluated(tmp_path, suite, trials, "run")


def test_trials_that_are_oddly_named_or_no_bundle_are_told(suite: Path, trials: Path, tmp_path: Path) -> None:
    (trials / "pump" / "²").mkdir()
    assert len(evaluated(tmp_path, suite, trials, "run").trials) == 5
    (tmp_path / "run" / "run.json").write_text("null", encoding="utf-8")
    with pytest.raises(BadBundle, match="no JSON object"):
        evaluated(tmp_path, suite, tmp_path / "run", "again")


def test_the_key_of_a_score_changes_with_files_and_hosts(tmp_path: Path) -> None:
    folder, world = tmp_path / "suite", tmp_path / "world"
    for each in (folder, world, folder / "out"):
        each.mkdir()
    trial = Trial(id="a", task_id="pump", trial=1, status="completed", environment=str(world))

    def key(*hosts: str) -> str:
        scorer = Scorer(None, folder=folder, hosts=frozenset(hosts), output=folder / "out")
        return scorer.key(Task.model_validate(task("pump")), trial)

    first = key()
    (folder / "out" / "x").touch()
    assert key() == first
    (world / "x").touch()
    second = key()
    (folder / "x").touch()
    assert len({first, second, key(), key("example.org")}) == 4


def test_the_bundle_of_another_suite_is_not_replaced(suite: Path, trials: Path, tmp_path: Path) -> None:
    evaluated(tmp_path, suite, trials, "run")
    other = write_suite(tmp_path / "other", task("pump"), task("valve"), version="2")
    with pytest.raises(BadOutput, match="holds a finished run of suite"):
        evaluated(tmp_path, other, trials, "run")


def test_half_a_line_of_a_killed_process_spoils_nothing_that_follows(tmp_path: Path) -> None:
    path = tmp_path / "unfinished.jsonl"
    path.write_bytes(b'{"key": "a", "value": 1}\n{"key": "half a li')
    with journal(path) as kept:
        assert kept.kept == {"a": 1}
        kept.keep("b", 2)
    with journal(path) as kept:
        assert kept.kept == {"a": 1, "b": 2}


def test_two_processes_do_not_write_one_run(tmp_path: Path) -> None:
    with journal(tmp_path / "unfinished.jsonl"), pytest.raises(Busy), journal(tmp_path / "unfinished.jsonl"):
        pass


def wait_until(reached: object, timeout: float = 60.0) -> None:
    assert callable(reached)
    deadline = time.monotonic() + timeout
    while not reached():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come to that")
        time.sleep(0.02)

"""Trials are found on disk, read with what can be known of them, and excluded, never 0, where they cannot be read."""

import json
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from stepjudge.suite import Suite
from stepjudge.task import Task
from stepjudge.trace import Usage
from stepjudge.trial import Measurements, Trial, measured
from stepjudge.trial_files import BadTrials, find_trials, read_trial

from suites import chat, write_trials
from traces import PUMP, changed

SUITE = Suite(name="small", tasks=(Task(id="pump"), Task(id="valve")))
ONE = Suite(name="one", tasks=(Task(id="pump"),))


def read(source: Path | str, suite: Suite = SUITE, *more: str) -> list[Trial]:
    return [read_trial(each) for each in find_trials(suite, [str(source), *more])]


def test_folders_are_trials_of_the_task_and_pass_they_are_named_after(tmp_path: Path) -> None:
    answers = {"valve": ["0"], "pump": [str(number) for number in range(1, 12)]}
    trials = read(write_trials(tmp_path / "trials", answers).parent)

    assert [(trial.id, trial.trial, trial.output_text) for trial in trials] == [
        *((f"pump.{number}", number, str(number)) for number in range(1, 12)),
        ("valve.1", 1, "0"),
    ]


def test_a_folder_may_hold_output_environment_and_what_else_is_known(tmp_path: Path) -> None:
    folder = write_trials(tmp_path, {"pump": ["41"]}) / "pump" / "1"
    (folder / "output.txt").write_text("42", encoding="utf-8")
    (folder / "environment").mkdir()
    (folder / "trial.json").write_text('{"status": "partial", "measurements": {"cost_usd": 0.5}}', encoding="utf-8")
    [trial] = read(tmp_path)

    assert (trial.status, trial.output_text, trial.measurements.cost_usd) == ("partial", "42", 0.5)
    assert trial.environment == str(folder / "environment")


def test_an_index_names_files_from_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(chat("42")), encoding="utf-8")
    lines = [{"task_id": "pump", "trace": "t.json"}, {"task_id": "pump", "id": "x", "output_text": "7"}]
    (tmp_path / "trials.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    found = [(trial.id, trial.trial, trial.output_text) for trial in read(tmp_path)]
    assert found == [("pump.1", 1, "42"), ("x", 2, "7")]


def test_a_trace_alone_needs_its_task_unless_there_is_only_one(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(chat("42")), encoding="utf-8")

    assert [trial.task_id for trial in read(path, ONE)] == ["pump"]
    assert [trial.task_id for trial in read(f"valve={path}")] == ["valve"]
    assert [trial.id for trial in read(f"pump={path}", SUITE, f"pump={path}")] == ["pump.1", "pump.2"]
    with pytest.raises(BadTrials, match="of which task"):
        read(path)


@pytest.mark.parametrize(
    ("folder", "index", "told"),
    [
        ("motor/1", "", "no task 'motor'; its tasks are pump, valve"),
        ("pump", "", "holds no trial of suite 'small'"),
        ("", '{"task": "pump"}', "trials.jsonl:1: task: Extra"),
        ("", "{", "trials.jsonl:1: Invalid JSON"),
        ("", '{"task_id": "pump", "id": "../x"}', "the trial id '../x'"),
        ("", '{"task_id": "pump", "trial": 1}\n{"task_id": "pump", "trial": 1}', "trial 'pump.1' stands twice"),
    ],
)
def test_what_is_no_trial_of_the_suite_is_refused(tmp_path: Path, folder: str, index: str, told: str) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    if index:
        (tmp_path / "trials.jsonl").write_text(index, encoding="utf-8")
    with pytest.raises(BadTrials) as raised:
        read(tmp_path)
    assert told in str(raised.value)


def test_a_trial_that_cannot_be_read_has_failed_and_says_why(tmp_path: Path) -> None:
    folder = write_trials(tmp_path, {"pump": ["1", "2", "3"]}) / "pump"
    (folder / "1" / "trace.json").write_text("{not json", encoding="utf-8")
    (folder / "2" / "trace.json").unlink()
    (folder / "3" / "trace.json").unlink()
    os.mkfifo(folder / "3" / "trace.json")
    trials = read(tmp_path)

    assert [trial.status for trial in trials] == ["failed"] * 3
    assert [trial.error.type for trial in trials if trial.error] == ["UnreadableTrace", "NoTrial", "BadTrials"]


def test_a_failed_trial_without_a_reason_is_no_trial() -> None:
    with pytest.raises(ValidationError, match="say what went wrong"):
        Trial(id="a", task_id="pump", status="failed")


def test_measurements_come_from_the_trace_where_nobody_states_them() -> None:
    spent = Usage(prompt_tokens=10, completion_tokens=5, cost_usd=0.25)
    trace = PUMP
    for step in PUMP.steps:
        trace = changed(trace, step.index, usage=spent)
    found = measured(Measurements(completion_tokens=100), trace)

    assert found.model_dump(exclude_none=True) == {
        "prompt_tokens": 40,
        "completion_tokens": 100,
        "total_tokens": 140,
        "cost_usd": 1.0,
    }
    partly = changed(trace, 2, usage=None)
    assert measured(Measurements(), partly) == Measurements(), "a sum over some steps is no total"

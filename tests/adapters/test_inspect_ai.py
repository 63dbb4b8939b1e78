"""Inspect AI: its own eval and score, in process and from the command line, and the logs that they write."""

import json
import math
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from stepjudge.client import JudgeClient
from stepjudge.formats import read_file

import hosts
from documented import block
from judged import Judged, judged

SCRIPT = """
import json, os, runpy, sys
from importlib.metadata import entry_points
from pathlib import Path

url, dead, recorded = sys.argv[1:]
page = runpy.run_path("example.py", run_name="__main__")

from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import mean, scorer
from inspect_ai.solver import generate
from stepjudge.adapters.inspect_ai import step_scorer

try:
    step_scorer(api_key="SECRET-KEY")
except ValueError as refused:
    Path("refused.txt").write_text(str(refused))

log = page["log"]
write_eval_log(log, "page.json")

def again(name, by, **options):
    write_eval_log(score(log, by, action="overwrite", display="none", **options), f"{name}.json")

again("again", step_scorer(url=url))
again("dead", step_scorer(url=dead))
again("unreachable", step_scorer(url="http://127.0.0.1:9"))

@scorer(metrics={"step_level": [mean()]})
def flaky():
    up, down = step_scorer(url=url), step_scorer(url=dead)
    async def by_epoch(state, target):
        return await (up if state.epoch == 1 else down)(state, target)
    return by_epoch

again("flaky", flaky(), epochs_reducer=["mean", "max", "at_least_1"])

def count(messages, tools, tool_choice, config):
    output = ModelOutput.from_content("mockllm/model", messages[0].text + " is a number.")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

hundred = Task(dataset=[Sample(input=str(number), target="SECRET-TARGET") for number in range(100)], solver=generate(),
               scorer=step_scorer(url=url, max_connections=100))
(log100,) = eval(hundred, model=get_model("mockllm/model", custom_outputs=count), log_dir="logs", display="none", max_samples=100)
write_eval_log(log100, "hundred.json")

if Path(recorded).exists():
    scored = score(read_eval_log(recorded), step_scorer(url=url), model="mockllm/model", action="append", display="none")
    write_eval_log(scored, "recorded.json")

(command,) = entry_points(group="console_scripts", name="inspect")
sys.argv = ["inspect", "score", "page.json", "--scorer", "stepjudge/step_scorer", "-S", f"url={url}",
            "--action", "append", "--output-file", "command.json", "--display", "none"]
try:
    command.load()()
except SystemExit as stopped:
    assert not stopped.code, stopped.code
"""

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "traces" / "inspect_ai" / "5262_article.eval"
"""A real run of eight steps."""
RATES = ("step_level", "tool_call_precision", "argument_accuracy", "recovery_rate")


class Logs:
    """What Inspect wrote."""

    def __init__(self, folder: Path, printed: str, service: Judged) -> None:
        self._folder = folder
        self.printed = printed
        self.service = service

    def log(self, name: str) -> dict[str, Any]:
        return json.loads((self._folder / f"{name}.json").read_text())

    def text(self, file: str) -> str:
        return (self._folder / file).read_text()

    def results(self, name: str) -> dict[str, dict[str, Any]]:
        """By the score's name, with its reducer where it has one."""
        scores = self.log(name)["results"]["scores"]
        return {each["name"] + (f" {each['reducer']}" if each.get("reducer") else ""): each for each in scores}

    def samples(self, name: str, scorer: str = "step_scorer") -> dict[tuple[str, int], dict[str, Any]]:
        return {(each["id"], each["epoch"]): each["scores"][scorer] for each in self.log(name)["samples"]}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    folder = tmp_path_factory.mktemp("inspect")
    (folder / "example.py").write_text(block("adapters/inspect-ai.md"))
    with (
        judged(folder / "service", concurrency=8, latency=0.05) as service,
        judged(folder / "without", provider_is_up=False) as dead,
    ):
        printed = hosts.run(
            "inspect-ai", SCRIPT, service.url, dead.url, str(RECORDED), folder=folder, STEPJUDGE_URL=service.url
        )
        yield Logs(folder, printed, service)


def test_the_page_says_how_and_its_example_runs(logs: Logs) -> None:
    assert "step_level {'mean': 0.778, 'stderr': 0.111} scored 3, unscored 0" in logs.printed
    assert "tool_call_precision {'mean': 0.5, 'stderr': 0.0} scored 2, unscored 1" in logs.printed
    assert "step 2 (weather): does not pass" in logs.printed


def test_a_sample_has_every_score_with_its_explanation_and_the_message_it_speaks_of(logs: Logs) -> None:
    log, score = logs.log("page"), logs.samples("page")["lima", 1]
    assert score["value"] == {
        "step_level": pytest.approx(2 / 3),
        "tool_call_precision": 0.5,
        "argument_accuracy": 1.0,
        "recovery_rate": 1.0,
        "recoveries": 1,
        "undetermined": 0,
    }
    assert "scripted: step 2 brought nothing" in score["explanation"]
    messages = next(each["messages"] for each in log["samples"] if (each["id"], each["epoch"]) == ("lima", 1))
    (reference,) = score["metadata"]["scanner_references"]
    assert reference == {"type": "message", "cite": "step 2 (weather)", "id": messages[3]["id"]}
    assert [step["passes"] for step in score["metadata"]["steps"]] == [True, False, True]


def test_epochs_share_their_verdicts_and_a_log_is_scored_again_without_a_model(logs: Logs) -> None:
    paid = [score["metadata"]["requests"] for score in logs.samples("page").values()]
    assert sum(paid) == 3 + 3 + 1, "two epochs of three samples, of 3, 3 and 1 steps"
    assert {score["metadata"]["requests"] for score in logs.samples("again").values()} == {0}
    assert logs.results("again") == {
        name: {**score, "params": {"max_connections": 10, "url": logs.service.url}}
        for name, score in logs.results("page").items()
    }


@pytest.mark.parametrize(("name", "reason"), [("dead", "grader_failed"), ("unreachable", "scoring_failed")])
def test_a_failed_judge_leaves_samples_unscored(logs: Logs, name: str, reason: str) -> None:
    for score in logs.samples(name).values():
        assert math.isnan(score["value"])
        assert score["reason"] == reason
    for rate in RATES:
        result = logs.results(name)[rate]
        assert (result["scored_samples"], result["unscored_samples"]) == (0, 3)
        assert result["metrics"]["mean"]["value"] is None or math.isnan(result["metrics"]["mean"]["value"])


@pytest.mark.parametrize("reducer", ["mean", "max", "at_least_1"])
def test_reducers_leave_out_the_epoch_without_a_judge(logs: Logs, reducer: str) -> None:
    result = logs.results("flaky")[f"step_level {reducer}"]
    expected = {"mean": 7 / 9, "max": 7 / 9, "at_least_1": 1 / 3}[reducer]
    assert result["metrics"]["mean"]["value"] == pytest.approx(expected)
    assert (result["scored_samples"], result["unscored_samples"]) == (3, 0)


def test_a_hundred_samples_at_once_hold_to_the_limits_of_the_service(logs: Logs) -> None:
    result = logs.results("hundred")["step_level"]
    assert (result["scored_samples"], result["unscored_samples"]) == (100, 0)
    assert 1 < logs.service.provider.in_flight_peak <= 8
    assert not any("SECRET-TARGET" in request.user for request in logs.service.provider.requests)


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded log is not at hand")
def test_a_recorded_log_has_the_same_verdicts_from_inspect_as_from_its_file(logs: Logs) -> None:
    (score,) = logs.samples("recorded").values()
    assert [step["step"] for step in score["metadata"]["steps"]] == list(range(1, 9))
    with JudgeClient(logs.service.url) as client:
        (trace,) = read_file(RECORDED)
        card = client.score(trace)
    assert (card.requests, card.cached_steps) == (0, 8)
    assert [step.verdict_id for step in card.steps] == [step["verdict_id"] for step in score["metadata"]["steps"]]


def test_a_key_is_refused_before_a_log_can_keep_it(logs: Logs) -> None:
    assert "STEPJUDGE_CLIENT_KEY" in logs.text("refused.txt")


@pytest.mark.parametrize("adapter", ["inspect_ai", "inspect_scout", "nemo", "harbor", "rewardkit"])
def test_an_adapter_can_be_imported_where_its_host_is_not_installed(adapter: str) -> None:
    import_module(f"stepjudge.adapters.{adapter}")
    assert not {"inspect_ai", "inspect_scout", "nhx_evals_sdk", "harbor", "rewardkit"} & sys.modules.keys()


def test_the_command_line_finds_the_scorer_by_its_name(logs: Logs) -> None:
    appended = logs.log("command")
    (sample, *_) = appended["samples"]
    assert {"step_scorer", "step_scorer1"} == sample["scores"].keys()
    assert sample["scores"]["step_scorer1"]["value"] == sample["scores"]["step_scorer"]["value"]
    assert sample["scores"]["step_scorer1"]["metadata"]["requests"] == 0

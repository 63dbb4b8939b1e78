"""DeepEval's own results, from the real package in an environment of its own, asking a real service."""

import json
from pathlib import Path
from typing import Any

import pytest

import hosts
from documented import run_page
from judged import SMALL, Judged, documents, judged, samples

HOST = "deepeval"

QUIETLY = """
import json, sys, warnings
from pathlib import Path
from deepeval import assert_test, evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.test_case import LLMTestCase, ToolCall
from stepjudge.adapters.deepeval import StepJudgeMetric

quietly = DisplayConfig(show_indicator=False, print_results=False)
traces = json.loads(Path("traces.json").read_text())
cases = [
    LLMTestCase(input="-", actual_output="-", name=str(name), metadata={"trace": trace})
    for name, trace in (traces.items() if isinstance(traces, dict) else enumerate(traces))
]

def told(*results):
    printed = [
        {test.name: [metric.model_dump() for metric in test.metrics_data or []] for test in result.test_results}
        for result in results
    ]
    print(json.dumps(printed))
"""

EVALUATE = f"""{QUIETLY}
loudly = DisplayConfig(show_indicator=False)
told(*(evaluate(cases, [StepJudgeMetric(**options)], display_config=loudly) for options in json.loads(sys.argv[1])))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "traces.json").write_text(json.dumps(documents()))
    return tmp_path


def ran(script: str, folder: Path, service: Judged, *arguments: str, **environment: str) -> Any:
    return hosts.run_json(HOST, script, *arguments, folder=folder, STEPJUDGE_URL=service.url, **environment)


def test_evaluate_reports_scores_with_reasons_and_a_second_run_is_free(folder: Path, service: Judged) -> None:
    kept = {"STEPJUDGE_URL": service.url, "DEEPEVAL_RESULTS_FOLDER": str(folder / "kept")}
    said = hosts.run(HOST, EVALUATE, json.dumps([{"threshold": 0.6}] * 2), folder=folder, **kept)
    first, second = json.loads(said.splitlines()[-1])

    got = {name: (each["name"], each["score"], each["success"], each["error"]) for name, [each] in first.items()}
    assert got == {
        "pytest-5262": ("Step Judge (step_level)", 7 / 8, True, None),
        "museum": ("Step Judge (step_level)", 3 / 6, False, None),
        "small": ("Step Judge (step_level)", 2 / 3, True, None),
    }
    assert {each["evaluation_model"] for [each] in first.values()} == {"openai/scripted"}
    assert "valid (call 1): no: the environment rejected the call" in first["museum"][0]["reason"]
    assert "step 3 (message): passes" in first["small"][0]["verbose_logs"], "the steps that pass are there too"
    assert "66.67%" in said, "DeepEval's own report on the screen"
    files = [path.read_text() for path in (folder / "kept").rglob("*.json")]
    assert any("scripted: step 2 brought nothing that was needed" in text for text in files), "and its file"

    assert {name: each["score"] for name, [each] in second.items()} == {n: each["score"] for n, [each] in first.items()}
    assert "0 of 8 steps from cache" in first["pytest-5262"][0]["reason"]
    assert "8 of 8 steps from cache" in second["pytest-5262"][0]["reason"]
    assert service.provider.count == 8 + 6 + 3


ONE_BY_ONE = f"""{QUIETLY}
metric = StepJudgeMetric(threshold=0.6, async_mode=False)
small = cases[-1]
assert metric.measure(small) == 2 / 3 and metric.is_successful()
breakdown = metric.score_breakdown
strict = StepJudgeMetric(strict_mode=True, include_reason=False)
assert (strict.measure(small), strict.threshold, strict.reason, strict.success) == (0.0, 1.0, None, False)
failures = []
for run_async in (True, False):
    try:
        assert_test(cases[1], [StepJudgeMetric(threshold=0.8, score="tool_call_precision")], run_async=run_async)
    except AssertionError as error:
        failures.append(str(error))
assert_test(small, [StepJudgeMetric(threshold=0.6)])
tools = LLMTestCase(
    input="What is the weather in Lima?",
    actual_output="It is 18 degrees and misty in Lima.",
    tools_called=[
        ToolCall(name="weather", input_parameters={{"city": "Lima"}}, output="18 degrees, mist", reasoning="I look."),
        ToolCall(name="weather", input_parameters={{"city": "Cusco"}}, output={{"degrees": 11}}),
    ],
)
by_tools = StepJudgeMetric()
by_tools.measure(tools)
print(json.dumps([breakdown, failures, by_tools.reading.metadata()]))
"""


def test_measure_and_assert_test_work_with_and_without_a_loop_and_from_tools_alone(
    folder: Path, service: Judged
) -> None:
    breakdown, failures, by_tools = ran(ONE_BY_ONE, folder, service)

    assert breakdown["tool_call_precision"] == 0.5
    assert (breakdown["recoveries"], breakdown["undetermined"], breakdown["answers"]) == (1, 0, 15)
    assert len(failures) == 2
    for failure in failures:
        assert "Step Judge (tool_call_precision) (score: 0.4, threshold: 0.8" in failure
        assert "step 3 (read_page): bad" in failure
    assert [step["tools"] for step in by_tools["steps"]] == [["weather"], ["weather"], []]
    assert by_tools["value"] == 2 / 3
    assert "each is taken as a step of its own" in by_tools["notes"][0]


TRACED = """
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.tracing import observe, trace_manager

TURNS = [
    {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lima"}'}}]},
    {"tool_calls": [{"id": "b", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Cusco"}'}}]},
    {"content": "It is 18 degrees and misty in Lima."},
]

@observe(type="tool")
def weather(city):
    if city == "Cusco":
        raise ValueError("no such city")
    return "18 degrees, mist"

@observe(type="llm", model="some-model")
def model(messages):
    return {"role": "assistant", **TURNS[len(messages) // 2]}

@observe(type="agent", available_tools=["weather"], metrics=[StepJudgeMetric(threshold=0.6)])
def agent(question):
    messages = [{"role": "user", "content": question}]
    while True:
        said = model(messages)
        if "content" in said:
            return said["content"]
        [call] = said["tool_calls"]
        try:
            result = weather(**json.loads(call["function"]["arguments"]))
        except ValueError as error:
            result = str(error)
        messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": result}]
"""

TRACED_LOOP = f"""{QUIETLY}{TRACED}
from deepeval.test_run import global_test_run_manager
dataset = EvaluationDataset(goldens=[Golden(input="What is the weather in Lima?")])
over_all = StepJudgeMetric(threshold=0.6, score="tool_call_precision")
config = AsyncConfig(run_async=sys.argv[1] == "async")
for golden in dataset.evals_iterator(metrics=[over_all], display_config=quietly, async_config=config):
    agent(golden.input)
run = global_test_run_manager.get_test_run() or json.loads(Path(".deepeval/.latest_test_run.json").read_text())
[case] = run.test_cases if hasattr(run, "test_cases") else run["testRunData"]["testCases"]
case = case.model_dump(by_alias=True, mode="json") if hasattr(case, "model_dump") else case
spans = [span for key, spans in case["trace"].items() if key.endswith("Spans") for span in spans or []]
print(json.dumps({{
    "trace": case["trace"]["metricsData"],
    "spans": {{span["name"]: span["metricsData"] for span in spans if span.get("metricsData")}},
}}))
"""


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_in_tracing_the_metric_reads_the_spans_below_what_it_stands_on(
    folder: Path, service: Judged, mode: str
) -> None:
    told = ran(TRACED_LOOP, folder, service, mode, DEEPEVAL_RESULTS_FOLDER=str(folder / "kept"))

    [on_span] = told["spans"]["agent"]
    [on_trace] = told["trace"]
    assert (on_span["name"], on_span["score"], on_span["success"]) == ("Step Judge (step_level)", 2 / 3, True)
    assert (on_trace["name"], on_trace["score"], on_trace["success"]) == (
        "Step Judge (tool_call_precision)",
        0.5,
        False,
    )
    assert "step 2 (weather): does not pass" in on_span["reason"]


def test_a_judge_that_fails_is_an_error_without_a_score_or_left_out(tmp_path: Path, without_judge: Judged) -> None:
    (tmp_path / "traces.json").write_text(json.dumps({"small": SMALL, "one": samples(1)[0]}))
    told, skipped = ran(EVALUATE, tmp_path, without_judge, '[{}, {"skip_not_scored": true}]')
    assert {(each["score"], each["success"]) for [each] in told.values()} == {(None, False)}
    for [each] in told.values():
        assert each["error"].startswith("not scored (judge_failed): the judge failed (provider)")

    assert skipped == {"small": [], "one": []}


def test_markup_in_a_trace_does_not_break_the_report(tmp_path: Path, service: Judged) -> None:
    hostile = json.loads(json.dumps(SMALL).replace('"weather"', '"weather[/x][red]"'))
    (tmp_path / "traces.json").write_text(json.dumps({"hostile": hostile}))
    [told] = ran(EVALUATE, tmp_path, service, '[{"threshold": 0.9}]')
    [found] = told["hostile"]
    assert (found["score"], "step 2 (weather\\[/x]\\[red])" in found["reason"]) == (2 / 3, True)


MANY = f"""{QUIETLY}
config = AsyncConfig(max_concurrent=100)
told(evaluate(cases, [StepJudgeMetric()], display_config=quietly, async_config=config))
"""


def test_a_hundred_cases_at_once_hold_to_the_services_limit(tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_text(json.dumps(samples(100)))
    with judged(tmp_path / "service", latency=0.02, concurrency=4) as service:
        [told] = ran(MANY, tmp_path, service)
    assert [each["score"] for [each] in told.values()] == [1.0] * 100
    assert (service.provider.count, service.provider.in_flight_peak) == (50, 4)


def test_the_page_is_true(folder: Path, service: Judged) -> None:
    (folder / "trace.json").write_text(json.dumps(documents()["museum"]))
    said = run_page("adapters/deepeval.md", HOST, url=service.url, folder=folder)
    assert "Step Judge (step_level) 0.5 False" in said
    assert "step 3 (read_page): bad" in said

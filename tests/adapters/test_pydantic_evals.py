"""pydantic-evals' own reports, from the real package in an environment of its own, asking a real service."""

import json
from pathlib import Path
from typing import Any

import pytest

import hosts
from documented import run_page
from judged import SMALL, Judged, documents, judged, samples

HOST = "pydantic-evals"

HEAD = """
import json, sys
from pathlib import Path
from pydantic_evals import Case, Dataset, set_eval_attribute
from pydantic_evals.reporting import EvaluationReportAdapter
from stepjudge.adapters.pydantic_evals import StepJudge

traces = json.loads(Path("traces.json").read_text())
"""

EVALUATE = f"""{HEAD}
import logfire
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

exported = InMemorySpanExporter()
logfire.configure(send_to_logfire=False, console=False, additional_span_processors=[SimpleSpanProcessor(exported)])
logfire.instrument_pydantic_ai()

PARTS = [
    ToolCallPart("weather", {{"city": "Lima"}}),
    ToolCallPart("weather", {{"city": "Cusco"}}),
    TextPart("It is 18 degrees and misty in Lima."),
]
agent = Agent(FunctionModel(lambda messages, info: ModelResponse(parts=[PARTS[len(messages) // 2]])), name="guide")

@agent.tool_plain
def weather(city: str) -> str:
    "The weather in a city."
    return "18 degrees, mist" if city == "Lima" else "11 degrees, sun"

async def task(inputs: str) -> object:
    match inputs:
        case "run result":
            return await agent.run("What is the weather in Lima?")
        case "spans":
            return (await agent.run("What is the weather in Lima?")).output
        case "attribute":
            set_eval_attribute("trace", traces["museum"])
            return "In 1931."
        case "messages":
            return (await agent.run("What is the weather in Lima?")).all_messages()
        case "noted messages":
            set_eval_attribute("trace", (await agent.run("What is the weather in Lima?")).all_messages())
            return "18 degrees"
        case "mistaken":
            return [{{"parts": [{{"part_kind": "nobody-knows"}}], "kind": "request"}}]
        case "nothing":
            return {{"answer": "In 1931."}}
        case name:
            return traces[name]

names = ["run result", "messages", "noted messages", "spans", "attribute", "nothing", "mistaken", *traces]
written = {{
    "name": "agents",
    "cases": [{{"name": name, "inputs": name}} for name in names],
    "evaluators": [{{"StepJudge": {{"rubric": "step", "at_least": 0.6}}}}],
}}
dataset = Dataset.from_dict(written, custom_evaluator_types=[StepJudge])
first = dataset.evaluate_sync(task, progress=False)
second = dataset.evaluate_sync(task, progress=False)
first.print(include_reasons=True)
noted = [span.attributes["stepjudge.reading"] for span in exported.get_finished_spans() if "stepjudge.reading" in span.attributes]
reports = [json.loads(EvaluationReportAdapter.dump_json(each, fallback=str)) for each in (first, second)]
print(json.dumps([*reports, [json.loads(each) for each in noted], first.averages().assertions]))
"""


def cases(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {case["name"]: case for case in report["cases"]}


def values(results: dict[str, Any]) -> dict[str, Any]:
    return {name: each["value"] for name, each in results.items()}


def test_a_report_has_scores_with_reasons_from_every_kind_of_log_and_a_second_run_is_free(
    tmp_path: Path, service: Judged
) -> None:
    (tmp_path / "traces.json").write_text(json.dumps(documents()))
    said = hosts.run(HOST, EVALUATE, folder=tmp_path, STEPJUDGE_URL=service.url)
    first, second, noted, assertions = json.loads(said.splitlines()[-1])
    found = cases(first)

    expected = {"attribute": 0.5, "museum": 0.5, "pytest-5262": 7 / 8}
    expected |= dict.fromkeys(("run result", "messages", "noted messages", "spans", "small"), 2 / 3)
    scored = {name: case["scores"]["step_level"]["value"] for name, case in found.items() if case["scores"]}
    assert scored == expected
    assert values(found["small"]["scores"]) == {
        "step_level": 2 / 3,
        "tool_call_precision": 0.5,
        "argument_accuracy": 1.0,
        "recovery_rate": 1.0,
        "recoveries": 1,
        "undetermined": 0,
    }
    assert "recovery_rate" not in found["museum"]["scores"], "a score without a denominator is left out, not 0"
    assert values(found["small"]["labels"]) == {"step_judge": "openai/scripted, step@1.0.0, provisional"}
    assert values(found["museum"]["assertions"]) == {"step_level_at_least_0.6": False}
    assert assertions == 6 / 8
    assert "valid (call 1): no: the environment rejected the call" in found["museum"]["scores"]["step_level"]["reason"]
    assert "scripted: step 2" in " ".join(said.split("│")), "and in the report on the screen"

    [failure] = found["nothing"]["evaluator_failures"]
    assert (failure["name"], failure["error_type"], found["nothing"]["scores"]) == ("StepJudge", "NotScored", {})
    assert "no log of an agent" in failure["error_message"]
    [failure] = found["mistaken"]["evaluator_failures"]
    assert "as a log, the output is refused: " in failure["error_message"]

    assert {name: values(case["scores"]) for name, case in cases(second).items()} == {
        name: values(case["scores"]) for name, case in found.items()
    }
    assert len(noted) == 2 * len(expected)
    assert all(step["findings"] for reading in noted for step in reading["steps"])
    assert [sum(reading["requests"] for reading in noted[len(expected) :])] == [0]


FAILURES = f"""{HEAD}
dataset = Dataset(
    name="many",
    cases=[Case(name=str(number), inputs=number) for number in range(len(traces))],
    evaluators=[StepJudge()],
)
report = dataset.evaluate_sync(lambda number: traces[number], progress=False)
averages = report.averages()
print(json.dumps([json.loads(EvaluationReportAdapter.dump_json(report)), averages.scores]))
"""


def test_a_judge_that_fails_is_the_evaluators_failure_and_in_no_average(tmp_path: Path, without_judge: Judged) -> None:
    (tmp_path / "traces.json").write_text(json.dumps([SMALL, *samples(1)]))
    report, averages = hosts.run_json(HOST, FAILURES, folder=tmp_path, STEPJUDGE_URL=without_judge.url)

    assert averages == {}
    for case in report["cases"]:
        [failure] = case["evaluator_failures"]
        assert (case["scores"], failure["error_type"]) == ({}, "NotScored")
        assert "the judge failed (provider)" in failure["error_message"]


def test_a_hundred_cases_at_once_hold_to_the_services_limit(tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_text(json.dumps(samples(100)))
    with judged(tmp_path / "service", latency=0.02, concurrency=4) as service:
        _, averages = hosts.run_json(HOST, FAILURES, folder=tmp_path, STEPJUDGE_URL=service.url)
    assert averages["step_level"] == 1.0
    assert (service.provider.count, service.provider.in_flight_peak) == (50, 4)


@pytest.mark.parametrize("line", ["step_level 0.5", "step_level_at_least_0.6 False", "step 3 (read_page): bad"])
def test_the_page_is_true(page: list[str], line: str) -> None:
    assert line in page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, service: Judged) -> list[str]:
    folder = tmp_path_factory.mktemp("page")
    (folder / "trace.json").write_text(json.dumps(documents()["museum"]))
    return run_page("adapters/pydantic-evals.md", HOST, url=service.url, folder=folder).splitlines()

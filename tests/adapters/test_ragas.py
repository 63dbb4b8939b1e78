"""Ragas: the agent metric in `evaluate`, with its result table and traces, and the newer kind that gives reasons."""

import math
from collections.abc import Iterator

import pytest

from hosted import CONCURRENCY, Hosted, hosted

SCRIPT = """
import asyncio, json, sys, warnings
warnings.simplefilter("ignore")
from ragas import EvaluationDataset, evaluate
from ragas.dataset_schema import MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from ragas.metrics import ToolCallF1
from ragas.run_config import RunConfig
from stepjudge import read_document
from stepjudge.adapters.ragas import StepJudge, StepJudgeMetric, step_judge_metrics

url, dead = sys.argv[1:]
documents = json.load(open("documents.json"))

def conversation(document):
    (trace,) = read_document(document)
    messages = [HumanMessage(content=trace.task)]
    for step in trace.steps:
        calls = [ToolCall(name=call.name, args=call.arguments or {}) for call in step.calls]
        messages.append(AIMessage(content=step.message, tool_calls=calls or None))
        messages += [ToolMessage(content=call.result.text) for call in step.calls]
    return messages

def sample(messages):
    return MultiTurnSample(user_input=messages, reference="SECRET-REFERENCE", reference_tool_calls=[])

def run(samples, metrics, **more):
    return evaluate(EvaluationDataset(samples), metrics=metrics, show_progress=False, **more)

def table(result):
    return result.to_pandas().drop(columns=["user_input", "reference", "reference_tool_calls"]).to_dict("records")

three = [sample(conversation(each)) for each in documents.values()]
silent = sample([HumanMessage(content="hi")])
first = run([*three, silent], [*step_judge_metrics(url=url), ToolCallF1()])
broken = run([three[2]], [StepJudgeMetric(url=dead)])
try:
    run([silent], [StepJudgeMetric(url=url)], raise_exceptions=True)
except Exception as error:
    raised = type(error).__name__

def short(number):
    return sample([HumanMessage(content=f"What is {number} + 1?"), AIMessage(content=f"{number + 1}")])

hundred = run([short(number) for number in range(100)], [StepJudgeMetric(url=url)], run_config=RunConfig(max_workers=100))

async def newer():
    metric, doomed = StepJudge(url=url), StepJudge(url=dead)
    messages = conversation(documents["small"])
    return [await metric.ascore(user_input=messages), *await doomed.abatch_score([{"user_input": messages}])]

said = {
    "table": table(first),
    "summary": first._repr_dict,
    "steps": first.traces[2]["step_level"],
    "broken": table(broken),
    "raised": raised,
    "hundred": hundred["step_level"],
    "newer": [[each.value, each.reason, each.traces["output"]] for each in asyncio.run(newer())],
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with hosted("ragas", SCRIPT, "adapters/ragas.md", tmp_path_factory.mktemp("ragas")) as run:
        yield run


def test_the_result_table_has_a_column_for_each_score_beside_ragas_own_metrics(run: Hosted) -> None:
    pytest_5262, museum, small, silent = run.said["table"]
    assert pytest_5262["step_level"] == 7 / 8
    assert museum["step_level"] == pytest.approx(4 / 6), "Ragas keeps no sign that a call was rejected"
    assert small == {
        "step_level": 2 / 3,
        "tool_call_precision": 1 / 2,
        "argument_accuracy": 1.0,
        "recovery_rate": 1.0,
        "tool_call_f1": 0.0,
    }
    assert math.isnan(silent["step_level"])


def test_what_is_not_scored_is_in_no_mean(run: Hosted) -> None:
    assert run.said["summary"]["step_level"] == pytest.approx((7 / 8 + 4 / 6 + 2 / 3) / 3)
    assert math.isnan(run.said["broken"][0]["step_level"]), "the judge is dead"


def test_exceptions_are_raised_where_ragas_was_told_to(run: Hosted) -> None:
    assert run.said["raised"] == "NotScored"


def test_traces_hold_every_step_with_its_answers_and_why(run: Hosted) -> None:
    step = run.said["steps"]["step 2"]
    assert step["input"]["tools"] == ["weather"]
    assert (step["output"]["score"], step["output"]["answers"]["useful"]) == (0, "no")
    assert "scripted: step 2 brought nothing that was needed" in step["output"]["why"]


def test_the_newer_kind_gives_its_reason_with_the_value(run: Hosted) -> None:
    (value, reason, whole), (no_value, why_not, found) = run.said["newer"]
    assert (value, whole["cached_steps"], whole["requests"]) == (2 / 3, 3, 0), "remembered from the first evaluation"
    assert "step 2 (weather): does not pass" in reason
    assert math.isnan(no_value)
    assert why_not.startswith("not scored (judge_failed)")
    assert found["not_scored"] == "judge_failed"


def test_four_metrics_ask_the_judge_once_and_a_hundred_samples_hold_to_the_services_limits(run: Hosted) -> None:
    assert run.said["hundred"] == [1.0] * 100
    assert 1 < run.service.provider.in_flight_peak <= CONCURRENCY
    prompts = [request.user for request in run.service.provider.requests]
    first_steps = [each for each in prompts if "weather in Lima" in each and "Judge step 1," in each]
    assert len(first_steps) == 1


def test_no_reference_reaches_the_judge(run: Hosted) -> None:
    assert not any("SECRET-REFERENCE" in request.user for request in run.service.provider.requests)


def test_the_documented_example_runs(run: Hosted) -> None:
    assert "0.500" in run.example
    assert "step 2 (message): does not pass" in run.example

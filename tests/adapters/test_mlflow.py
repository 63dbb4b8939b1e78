"""MLflow: the scorer in `mlflow.genai.evaluate`, with its result table and the feedback on its traces, in a local store."""

import json
from collections.abc import Iterator

import pytest

from hosted import CONCURRENCY, Hosted, hosted

SCRIPT = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
import mlflow
from mlflow.entities import SpanType
from stepjudge.adapters.mlflow import StepScorer

url, dead = sys.argv[1:]
documents = json.load(open("documents.json"))
mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("agents")
ours = StepScorer(url=url)

def evaluate(data, scorer=ours, **more):
    return mlflow.genai.evaluate(data=data, scorers=[scorer], **more)

def table(result):
    rows = result.result_df
    return json.loads(rows[[name for name in rows if name.endswith(("/value", "/rationale"))]].to_json(orient="records"))

def assessments(result):
    found = mlflow.search_traces(run_id=result.run_id, return_type="list")
    return [[each.to_dictionary() for each in trace.info.assessments] for trace in found]

@mlflow.trace(span_type=SpanType.TOOL)
def weather(city):
    raise ValueError("no such city")

@mlflow.trace(span_type=SpanType.CHAT_MODEL)
def model(messages):
    calls = [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lima"}'}}]
    said = {"content": "18"} if len(messages) > 1 else {"content": None, "tool_calls": calls}
    return {"choices": [{"message": {"role": "assistant", **said}}]}

@mlflow.trace(span_type=SpanType.AGENT)
def agent(question):
    asked = {"role": "user", "content": question}
    said = model([asked])["choices"][0]["message"]
    try:
        weather("Lima")
    except ValueError as error:
        model([asked, said, {"role": "tool", "tool_call_id": "a", "content": str(error)}])
    return "I do not know."

three = [{"inputs": {"name": name}, "outputs": log, "expectations": {"answer": "SECRET-REFERENCE"}} for name, log in documents.items()]
first = evaluate([*three, {"inputs": {"name": "nothing"}, "outputs": "42"}])
again = evaluate(three[:2], StepScorer(url=url, score="tool_call_precision"))
traced = evaluate([{"inputs": {"question": "Weather?"}}], predict_fn=agent)
broken = evaluate(three[2:], StepScorer(url=dead))

def short(number):
    said = {"role": "assistant", "content": f"{number + 1}"}
    return {"messages": [{"role": "user", "content": f"What is {number} + 1?"}, said]}

with ThreadPoolExecutor(100) as pool:  # as its harness calls a scorer, without what its store takes for a hundred traces
    hundred = list(pool.map(lambda number: ours.run(outputs=short(number))[0].value, range(100)))

said = {
    "metrics": {name: float(value) for name, value in first.metrics.items()},
    "table": table(first),
    "assessments": assessments(first),
    "again": assessments(again),
    "traced": [table(traced), assessments(traced)],
    "broken": [table(broken), assessments(broken), {name: float(value) for name, value in broken.metrics.items()}],
    "hundred": hundred,
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with hosted("mlflow", SCRIPT, "adapters/mlflow.md", tmp_path_factory.mktemp("mlflow")) as run:
        yield run


def test_the_result_table_has_every_score_with_its_rationale(run: Hosted) -> None:
    rows = sorted(run.said["table"], key=lambda row: row["step_level/value"] or 0)
    assert [row["step_level/value"] for row in rows] == [None, 3 / 6, pytest.approx(2 / 3), 7 / 8]
    small = rows[2]
    assert (small["tool_call_precision/value"], small["tool_call_precision/rationale"]) == (0.5, "1 of 2")
    assert "scripted: step 2 brought nothing that was needed" in small["step_level/rationale"]


def test_what_is_not_scored_is_in_no_mean(run: Hosted) -> None:
    assert run.said["metrics"]["step_level/mean"] == pytest.approx((7 / 8 + 3 / 6 + 2 / 3) / 3)
    assert run.said["metrics"]["recovery_rate/mean"] == 1.0, "museum has nothing to count"


def test_feedback_stands_on_the_traces_with_its_source_and_every_step(run: Hosted) -> None:
    feedback = [each for trace in run.said["assessments"] for each in trace if each["assessment_name"] == "step_level"]
    values = sorted(each["feedback"].get("value") or 0 for each in feedback)
    assert values == [0, 3 / 6, pytest.approx(2 / 3), 7 / 8]
    (small,) = [each for each in feedback if (each["feedback"].get("value") or 0) == pytest.approx(2 / 3)]
    assert small["source"] == {"source_type": "LLM_JUDGE", "source_id": "openai/scripted"}
    assert (small["metadata"]["rubric"], small["metadata"]["numerator"]) == ("step@1.0.0", "2")
    assert [step["answers"]["useful"] for step in json.loads(small["metadata"]["steps"])] == ["yes", "no", "yes"]


def test_outputs_without_a_log_and_a_dead_judge_are_errors_without_a_value(run: Hosted) -> None:
    found = [each.get("feedback", {}) for trace in run.said["assessments"] for each in trace]
    errors = [feedback["error"] for feedback in found if "error" in feedback]
    assert [error["error_code"] for error in errors] == ["UNREADABLE"]
    (row,), ((feedback, *_),), metrics = run.said["broken"]
    assert row.get("step_level/value") is None
    assert feedback["feedback"]["error"]["error_code"] == "JUDGE_FAILED"
    assert metrics == {}


def test_a_second_evaluation_is_free(run: Hosted) -> None:
    headline = [
        each for trace in run.said["again"] for each in trace if each["assessment_name"] == "tool_call_precision"
    ]
    assert [each["metadata"]["requests"] for each in headline] == ["0", "0"]
    assert {each["feedback"]["value"] for each in headline} == {7 / 8, 2 / 5}


def test_the_spans_of_a_traced_agent_are_scored_and_a_failed_tool_is_seen(run: Hosted) -> None:
    (row,), (feedback,) = run.said["traced"]
    assert row["step_level/value"] == 1 / 2
    steps = next(json.loads(each["metadata"]["steps"]) for each in feedback if each["assessment_name"] == "step_level")
    assert [step["tools"] for step in steps] == [["weather"], []]
    assert any("no such city" in request.user for request in run.service.provider.requests)


def test_a_hundred_at_once_hold_to_the_services_limits(run: Hosted) -> None:
    assert run.said["hundred"] == [1.0] * 100
    assert 1 < run.service.provider.in_flight_peak <= CONCURRENCY


def test_no_reference_reaches_the_judge(run: Hosted) -> None:
    assert not any("SECRET-REFERENCE" in request.user for request in run.service.provider.requests)


def test_the_documented_example_runs(run: Hosted) -> None:
    assert "step_level 0.5\n" in run.example
    assert "step 2 (message): does not pass" in run.example

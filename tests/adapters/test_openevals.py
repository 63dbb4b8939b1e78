"""LangSmith, openevals and agentevals: their own runners and a matcher beside ours, without a network."""

from collections.abc import Iterator
from typing import Any

import pytest

from hosted import CONCURRENCY, Hosted, hosted

SCRIPT = """
import asyncio, json, sys, uuid
from datetime import UTC, datetime
from agentevals.trajectory.match import create_trajectory_match_evaluator
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langsmith import Client, aevaluate, evaluate, traceable
from langsmith.schemas import Example
from stepjudge.adapters.openevals import create_async_step_evaluator, create_step_evaluator

url, dead = sys.argv[1:]
documents = json.load(open("documents.json"))
nowhere = Client(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)

def examples(inputs):
    about = {"dataset_id": uuid.uuid4(), "created_at": datetime.now(UTC)}
    return [Example(id=uuid.uuid4(), inputs=each, outputs={"answer": "SECRET-REFERENCE"}, **about) for each in inputs]

def table(results):
    rows = results.to_pandas().sort_values("inputs.name")
    return rows[[name for name in rows if name.startswith("feedback.")]].to_dict("records")

def comments(results):
    return [{each.key: [each.comment, each.metadata] for each in row["evaluation_results"]["results"]} for row in results]

def recorded(inputs):
    name = inputs["name"]
    return {"messages": documents[name]["messages"]} if name == "small" else {"trajectory": documents[name]}

named = examples([{"name": name} for name in documents])
ours = create_step_evaluator(url=url)
first = evaluate(recorded, data=named, evaluators=[ours], upload_results=False, client=nowhere)

@traceable(run_type="tool")
def weather(city):
    return f"18 degrees in {city}"

@traceable(run_type="llm")
def model(messages):
    calls = [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lima"}'}}]
    said = {"content": "18"} if len(messages) > 1 else {"content": None, "tool_calls": calls}
    return {"choices": [{"message": {"role": "assistant", **said}}]}

def agent(inputs):
    said = model([{"role": "user", "content": inputs["name"]}])["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": "a", "content": weather("Lima")}
    model([{"role": "user", "content": inputs["name"]}, said, result])
    return {"answer": "18 degrees"}

traced = evaluate(agent, data=examples([{"name": "Weather?"}]), evaluators=[ours], upload_results=False, client=nowhere)
broken = evaluate(recorded, data=named[2:], evaluators=[create_step_evaluator(url=dead)], upload_results=False, client=nowhere)

def short(inputs):
    said = {"role": "assistant", "content": f"{inputs['name'] + 1}"}
    return {"messages": [{"role": "user", "content": f"What is {inputs['name']} + 1?"}, said]}

async def hundred():
    several = examples([{"name": number} for number in range(100)])
    awaited = create_async_step_evaluator(url=url)
    return await aevaluate(as_async, data=several, evaluators=[awaited], upload_results=False, client=nowhere, max_concurrency=100)

async def as_async(inputs):
    return short(inputs)

at_once = asyncio.run(hundred())

chat = [
    HumanMessage("What is the weather in Lima?"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Lima"}, "id": "a"}]),
    ToolMessage("18 degrees, mist", tool_call_id="a"),
    AIMessage("It is 18 degrees."),
]
match = create_trajectory_match_evaluator(trajectory_match_mode="strict")
beside = [match(outputs=chat, reference_outputs=chat), *ours(outputs=chat, reference_outputs=chat)]

circular = {}
circular["messages"] = [circular]

said = {
    "first": table(first),
    "comments": comments(first),
    "again": comments(evaluate(recorded, data=named, evaluators=[ours], upload_results=False, client=nowhere)),
    "traced": table(traced),
    "broken": [table(broken), comments(broken)],
    "hundred": [row["feedback.step_level"] for row in table(at_once)],
    "beside": beside,
    "circular": ours(outputs=circular),
    "nothing": ours(outputs={"answer": 42}, inputs={"question": "?"}),
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with hosted("langsmith", SCRIPT, "adapters/langsmith.md", tmp_path_factory.mktemp("langsmith")) as run:
        yield run


def test_an_experiments_table_has_every_score_of_every_trace(run: Hosted) -> None:
    museum, pytest_5262, small = run.said["first"]
    assert (museum["feedback.step_level"], pytest_5262["feedback.step_level"]) == (3 / 6, 7 / 8)
    assert small == {
        "feedback.step_level": 2 / 3,
        "feedback.tool_call_precision": 1 / 2,
        "feedback.argument_accuracy": 1.0,
        "feedback.recovery_rate": 1.0,
        "feedback.recoveries": 1,
        "feedback.undetermined": 0,
    }


def test_comments_explain_and_metadata_hold_every_step(run: Hosted) -> None:
    comment, metadata = run.said["comments"][2]["step_level"]
    assert "step 2 (weather): does not pass" in comment
    assert "scripted: step 2 brought nothing that was needed" in comment
    assert [step["score"] for step in metadata["steps"]] == [1, 0, 1]
    assert run.said["comments"][2]["tool_call_precision"][0] == "1 of 2"


def test_a_second_experiment_is_free(run: Hosted) -> None:
    assert [each["step_level"][1]["requests"] for each in run.said["again"]] == [0, 0, 0]


def test_the_runs_below_are_read_where_a_target_returns_no_log(run: Hosted) -> None:
    (row,) = run.said["traced"]
    assert (row["feedback.step_level"], row["feedback.tool_call_precision"]) == (1 / 2, 1.0)


def test_a_dead_judge_leaves_every_score_out_and_says_why(run: Hosted) -> None:
    (row,), (comments,) = run.said["broken"]
    assert set(row.values()) == {None}
    assert "not scored (judge_failed)" in comments["step_level"][0]
    assert comments["step_level"][1]["not_scored"] == "judge_failed"


def test_a_hundred_at_once_hold_to_the_services_limits(run: Hosted) -> None:
    assert run.said["hundred"] == [1.0] * 100
    assert 1 < run.service.provider.in_flight_peak <= CONCURRENCY


def test_results_have_the_keys_of_a_trajectory_match_on_the_same_messages(run: Hosted) -> None:
    match, *ours = run.said["beside"]
    assert all(match.keys() <= each.keys() | {"source_run_id"} for each in ours)
    assert [(each["key"], each["score"]) for each in ours][:2] == [("step_level", 1 / 2), ("tool_call_precision", 1.0)]


def test_outputs_without_a_log_are_not_scored(run: Hosted) -> None:
    for name in ("nothing", "circular"):
        results: list[dict[str, Any]] = run.said[name]
        assert {each["score"] for each in results} == {None}
        assert "not scored (unreadable)" in results[0]["comment"]


def test_no_reference_reaches_the_judge(run: Hosted) -> None:
    assert not any("SECRET-REFERENCE" in request.user for request in run.service.provider.requests)


def test_the_documented_example_runs(run: Hosted) -> None:
    assert run.example.splitlines()[-2:] == ["step_level 0.5", "tool_call_precision 1.0"]

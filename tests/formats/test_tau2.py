import pytest
from pydantic import JsonValue

from formats.recorded import errors, names, only
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

REAL = files("tau2_bench")


def run(*messages: JsonValue, id: str = "s", **fields: JsonValue) -> JsonObject:
    return {"id": id, "task_id": "7", "termination_reason": "user_stop", "messages": list(messages), **fields}


def results(*runs: JsonValue, **fields: JsonValue) -> JsonObject:
    return {"tasks": [{"id": "7", "evaluation_criteria": "secret"}], "simulations": list(runs), "info": None, **fields}


def read(*messages: JsonValue, **fields: JsonValue) -> Trace:
    (trace,) = read_document(results(run(*messages), **fields))
    assert trace.source_format == "tau2"
    return trace


def says(content: str | None, *called: str, **fields: JsonValue) -> JsonValue:
    calls: list[JsonValue] = [
        {"id": name, "name": name, "arguments": {"q": 1}, "requestor": "assistant"} for name in called
    ]
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": calls or None,
        "usage": {"prompt_tokens": 3},
        **fields,
    }


def user(content: str | None, *called: str) -> JsonValue:
    calls: list[JsonValue] = [{"id": name, "name": name, "arguments": {}, "requestor": "user"} for name in called]
    return {"role": "user", "content": content, "tool_calls": calls or None}


def result(id: str, content: str = "x", **fields: JsonValue) -> JsonValue:
    return {"role": "tool", "id": id, "content": content, "requestor": "assistant", **fields}


GREETING: JsonValue = {"role": "assistant", "content": "Hi!", "cost": 0.0, "usage": None, "raw_data": None}


def test_the_fixed_greeting_is_no_step_and_the_user_s_first_message_is_the_task():
    trace = read(GREETING, user("fix it"), says("ok"), user("thanks"), says("bye"))
    assert (trace.task, [step.message for step in trace.steps]) == ("fix it", ["ok", "bye"])
    assert [(message.role, message.text) for message in trace.steps[0].before] == [("assistant", "Hi!")]
    assert [step.turn for step in trace.steps] == [1, 2]
    assert len(trace.notes) == 1


def test_an_opening_that_a_model_emitted_is_a_step():
    assert [step.message for step in read(says("Hello"), user("fix it"), says("ok")).steps] == ["Hello", "ok"]


def test_parallel_calls_are_paired_and_the_error_flag_is_kept():
    several: JsonValue = {"role": "tool", "tool_messages": [result("b", error=False), result("a", error=True)]}
    trace = read(user("fix it"), says(None, "a", "b"), several, says(None, "c"), result("c"), says(None, "d"))
    assert names(trace) == [("a", "b"), ("c",), ("d",)]
    assert errors(trace) == [True, False, None, None]
    assert [each.result.state for _, _, each in trace.calls()] == ["present", "present", "present", "missing"]


def test_the_user_s_own_calls_are_no_calls_of_the_agent():
    trace = read(
        user("fix it"),
        says("restart it"),
        user(None, "reboot"),
        result("reboot", requestor="user"),
        user("done"),
        says("ok"),
    )
    assert names(trace) == [(), ()]
    assert [(message.role, message.name, message.text) for message in trace.steps[1].before] == [
        ("other", "user", "reboot({})"),
        ("tool", "user", "x"),
        ("user", None, "done"),
    ]
    assert trace.steps[1].turn == 2


def test_policy_tools_model_cost_and_reasoning_are_carried():
    raw: JsonValue = {"model": "m-1", "choices": [{"message": {"reasoning_content": "hm"}}]}
    tools: JsonValue = {"look": {"name": "look", "doc": "Looks.", "params": {"type": "object"}}}
    info: JsonValue = {"environment_info": {"policy": "be kind", "tool_defs": tools}, "agent_info": {"llm": "m"}}
    simulation = run(user("fix it"), says("ok", raw_data=raw, cost=0.1, timestamp="t"), agent_cost=0.5)
    (trace,) = read_document(results(simulation, info=info))
    step = trace.steps[0]
    assert (trace.system, trace.model, trace.usage) == ("be kind", "m", Usage(cost_usd=0.5))
    assert (step.reasoning, step.model, step.started_at) == ("hm", "m-1", "t")
    assert step.usage == Usage(prompt_tokens=3, cost_usd=0.1)
    assert [(tool.description, tool.parameters) for tool in trace.tools] == [("Looks.", {"type": "object"})]


def test_what_graders_see_stays_in_extra():
    trace = read(user("fix it"), says("ok"))
    assert "secret" in trace.model_dump_json()
    assert "secret" not in trace.model_copy(update={"extra": {}}).model_dump_json()


def test_each_simulation_is_a_trace_and_a_single_one_is_read_too():
    one, two = run(user("a"), says("1")), run(user("b"), says("2"), id="t")
    assert [trace.trace_id for trace in read_document(results(one, run(GREETING, id="u"), two))] == ["s", "t"]
    assert [trace.trace_id for trace in read_document(two)] == ["t"]
    with pytest.raises(UnreadableTrace, match="there is no run in it"):
        list(read_document(results(), format="tau2"))


@pytest.mark.skipif(not REAL, reason=WHY)
def test_real_results_are_detected_and_read():
    for path in REAL:
        trace = only(path, "tau2")
        assert [len(each) for each in names(trace)] == [1, 1, 1, 1, 0]
        assert set(errors(trace)) == {False}

import pytest
from pydantic import JsonValue

from formats.recorded_runs import read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Call, Message, Result, Trace, Usage
from stepjudge.value import JsonObject


def read(document: object) -> Trace:
    (trace,) = read_document(document)
    assert trace.source_format == "openhands-v0"
    return trace


def acts(
    id: int, action: str = "run", source: str = "agent", args: JsonValue = None, **fields: JsonValue
) -> JsonObject:
    given: JsonValue = {"command": "ls", "thought": f"think {id}"} if args is None else args
    return {"id": id, "timestamp": "2025-01-01", "source": source, "action": action, "args": given, **fields}


def observes(id: int, cause: int, kind: str = "run", **fields: JsonValue) -> JsonObject:
    seen: JsonObject = {"content": f"saw {cause}", "extras": {}, **fields}
    return {"id": id, "timestamp": "2025-01-01", "source": "environment", "observation": kind, "cause": cause, **seen}


def emitted(response: str, id: str, *ids: str) -> JsonObject:
    """What an action keeps of the response it came from."""
    calls: JsonValue = [{"id": each, "function": {"name": "bash", "arguments": '{"command": "ls"}'}} for each in ids]
    message: JsonValue = {"role": "assistant", "content": "both", "tool_calls": calls}
    usage: JsonValue = {"prompt_tokens": 7, "completion_tokens": 2}
    model_response: JsonValue = {"id": response, "model": "m", "choices": [{"message": message}], "usage": usage}
    return {"tool_call_metadata": {"tool_call_id": id, "function_name": "bash", "model_response": model_response}}


TASK = acts(0, "message", "user", {"content": "fix it"})


def test_actions_of_one_response_are_one_step_with_all_calls_the_model_emitted():
    of_a, of_b = emitted("r", "a", "a", "b", "c"), emitted("r", "b", "a", "b", "c")
    first, second = {**acts(1), **of_a}, {**acts(3), **of_b}
    parallel = [first, {**observes(2, 1), **of_a}, second, {**observes(4, 3), **of_b}]
    (step,) = read([TASK, *parallel]).steps
    assert [(call.id, call.result.text, call.result.state) for call in step.calls] == [
        *(("a", "saw 1", "present"), ("b", "saw 3", "present")),
        ("c", "", "missing"),
    ]
    assert (step.message, step.model, step.usage) == ("both", "m", Usage(prompt_tokens=7, completion_tokens=2))


def test_observations_find_their_action_by_its_id():
    trace = read([TASK, acts(1), acts(2), observes(3, 1), observes(4, 2)])
    assert [call.result.text for _, _, call in trace.calls()] == ["saw 1", "saw 2"]
    assert trace.steps[0].calls[0].arguments == {"command": "ls"}


def test_only_the_observation_of_an_error_is_an_error():
    failed = observes(2, 1, extras={"metadata": {"exit_code": 1}})
    trace = read([TASK, acts(1), failed, acts(3), observes(4, 3, "error"), acts(5), observes(6, 5, content="")])
    assert [call.result for _, _, call in trace.calls()] == [
        Result(text="saw 1", state="present", is_error=False, exit_code=1),
        Result(text="saw 3", state="present", is_error=True),
        Result(state="empty", is_error=False),
    ]


def test_what_a_delegate_did_is_nested_under_its_call():
    inner = [acts(2), observes(3, 2), acts(4, "finish", args={"thought": "found"})]
    delegate = acts(1, "delegate", args={"agent": "Browser", "thought": "go"})
    trace = read(
        [TASK, delegate, *inner, observes(5, 1, "delegate", extras={"outputs": {"content": "found"}}), acts(6)]
    )
    (call,) = trace.steps[0].calls
    assert (shape(trace), call.result.text) == ([(1, 1), (1, 1)], "saw 1")
    assert [(each.agent, shape(each), each.final_output) for each in call.subtraces] == [
        ("Browser", [(1, 1), (1, 1)], "found")
    ]


def test_messages_open_turns_and_what_the_harness_does_is_no_step():
    system = acts(1, "system", args={"content": "be kind", "tools": [{"function": {"name": "bash"}}]})
    trace = read([
        *(system, TASK, acts(2, "recall", "user"), observes(3, 2, "recall"), acts(4)),
        *(acts(5, "message", args={"content": "which?"}), acts(6, "message", "user", {"content": "that"})),
        *(acts(7, "change_agent_state", "environment"), acts(8, "finish", args={"final_thought": "done"})),
    ])  # fmt: skip
    assert (trace.system, [tool.name for tool in trace.tools], trace.task) == ("be kind", ["bash"], "fix it")
    assert (shape(trace), trace.final_output) == ([(1, 1), (1, 0), (2, 1)], "done")
    assert trace.steps[2].before == (Message(role="user", text="that"),)


def test_the_oldest_rows_have_pairs_and_fields_beside_the_action():
    history: JsonValue = [
        [
            {"action": "message", "content": "fix it", "wait_for_response": False},
            {"observation": "null", "content": ""},
        ],
        [{"action": "run", "command": "ls", "thought": "look"}, {"observation": "run", "content": "a", "exit_code": 2}],
        [{"action": "finish", "outputs": {}, "thought": "done"}, {"observation": "null", "content": ""}],
    ]
    trace = read({"instance_id": "i", "history": history, "metrics": {"accumulated_cost": 0.5}, "git_patch": "p"})
    result = Result(text="a", state="present", is_error=False, exit_code=2)
    assert trace.steps[0].calls == (Call(name="run", arguments={"command": "ls"}, result=result),)
    assert (trace.trace_id, trace.task, trace.usage) == ("i", "fix it", Usage(cost_usd=0.5))
    assert (trace.final_output, trace.extra) == ("done", {"git_patch": "p"})


@pytest.mark.skipif(not files("openhands_v0"), reason=WHY)
def test_the_real_files_are_read():
    found = read_every("openhands_v0")
    (basic,), (row,) = found["basic.json"], found["resolver_output_line1.jsonl"]
    assert [call.name for _, _, call in basic.calls()] == ["str_replace_editor", "finish"]
    assert [call.result.state for _, _, call in basic.calls()] == ["present", "missing"]
    assert basic.steps[1].usage == Usage(prompt_tokens=4646, cached_tokens=3482, completion_tokens=177)
    assert [call.name for _, _, call in row.calls()] == ["run", "run_ipython", "run", "finish"]
    assert [call.result.exit_code for _, _, call in row.calls()] == [0, None, 0, None]
    assert (shape(row), row.usage) == ([(1, 1)] * 4, Usage(cost_usd=0.070713))

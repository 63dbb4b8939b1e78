import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Message, Result, Trace, Usage
from stepjudge.value import JsonObject


def read(events: list[JsonObject]) -> Trace:
    (trace,) = read_document(events)
    assert trace.source_format == "copilot-cli"
    return trace


def event(type: str, agent: str | None = None, **data: JsonValue) -> JsonObject:
    made: JsonObject = {"type": type, "data": data, "id": "e", "timestamp": "2026-01-01"}
    return made if agent is None else {**made, "agentId": agent}


def request(id: str, name: str = "bash", arguments: JsonValue = None, type: str = "function") -> JsonValue:
    return {"toolCallId": id, "name": name, "arguments": arguments or {"command": id}, "type": type}


def says(content: str, *requests: JsonValue, agent: str | None = None, **data: JsonValue) -> JsonObject:
    return event("assistant.message", agent, content=content, toolRequests=list(requests), **data)


def ends(id: str, text: str = "seen", agent: str | None = None) -> JsonObject:
    return event("tool.execution_complete", agent, toolCallId=id, success=True, result={"content": text})


TASK = event("user.message", content="fix it")


def test_the_calls_of_a_message_are_one_step_and_results_find_them_by_id():
    trace = read([TASK, says("look", request("a"), request("b")), ends("b", "B"), ends("a", "A"), says("done")])
    assert [[call.result.text for call in step.calls] for step in trace.steps] == [["A", "B"], []]
    assert (trace.task, trace.final_output) == ("fix it", "done")


def test_success_is_the_error_signal_and_an_exit_code_is_not():
    failed = event("tool.execution_complete", toolCallId="a", success=False, error={"message": "no", "code": "failure"})
    exited = event("tool.execution_complete", toolCallId="b", success=True, result={"stdout": "", "exitCode": 2})
    (step,) = read([TASK, says("", request("a"), request("b"), request("c")), failed, exited]).steps
    assert [call.result for call in step.calls] == [
        Result(text="no", state="present", is_error=True),
        Result(state="empty", is_error=False, exit_code=2),
        Result(),
    ]


def test_a_call_of_which_no_message_tells_belongs_to_the_message_before_it():
    started = event("tool.execution_start", toolCallId="a", toolName="view", arguments={"path": "x"})
    by_user = [event("tool.user_requested", toolCallId="b", toolName="bash"),
               event("tool.execution_start", toolCallId="b", toolName="bash", arguments={})]  # fmt: skip
    trace = read([TASK, says("look"), started, ends("a"), *by_user])
    assert [(call.name, call.arguments, call.result.text) for _, _, call in trace.calls()] == [
        ("view", {"path": "x"}, "seen")
    ]
    assert trace.notes == ("a tool that the user ran is no call of the agent",)


def test_a_sub_agent_is_nested_under_the_call_that_started_it():
    task = request("t", "task", {"agent_type": "explore", "prompt": "go"})
    begun = event("subagent.started", "x", toolCallId="t", agentName="explore")
    inner = [event("user.message", "x", content="go"), says("in", request("b"), agent="x"), ends("b", "B", "x")]
    older = says("found", parentToolCallId="t")
    trace = read([TASK, says("", task), begun, *inner, older, ends("t", "found"), says("done"), says("?", agent="y")])
    (call,) = trace.steps[0].calls
    assert (shape(trace), call.result.text) == ([(1, 1), (1, 0)], "found")
    assert [(sub.agent, sub.task, shape(sub)) for sub in call.subtraces] == [("explore", "go", [(1, 1), (1, 0)])]
    assert trace.notes == ("runs of sub-agents that belong to no call were left out: 1",)


def test_tokens_models_and_the_session_are_carried():
    used = event("assistant.usage", model="n", inputTokens=7, outputTokens=2, cacheReadTokens=3, cost=1)
    metrics: JsonValue = {"m": {"usage": {"inputTokens": 7}}, "n": {"usage": {"inputTokens": 2, "outputTokens": 1}}}
    trace = read([
        event("session.start", sessionId="s", selectedModel="m", copilotVersion="1"),
        *(event("session.tools_updated", tools=["bash"]), event("system.message", content="be kind"), TASK),
        *(says("hi", outputTokens=9, reasoningText="hm"), used, says("done", outputTokens=4)),
        event("session.shutdown", modelMetrics=metrics),
    ])  # fmt: skip
    assert (trace.trace_id, trace.model, trace.system, trace.extra) == (
        *("s", "m", "be kind"),
        {"session": {"copilotVersion": "1"}},
    )
    assert [step.usage for step in trace.steps] == [
        Usage(prompt_tokens=7, cached_tokens=3, completion_tokens=2),
        Usage(completion_tokens=4),
    ]
    assert (trace.usage, trace.steps[0].reasoning) == (Usage(prompt_tokens=9, completion_tokens=1), "hm")


def test_what_others_than_the_user_say_opens_no_turn():
    hint = event("user.message", content="skill text", source="skill-x")
    trace = read(
        [TASK, says("hi"), hint, says("on"), event("user.message", content="more"), event("odd"), says("done")]
    )
    assert shape(trace) == [(1, 0), (1, 0), (2, 0)]
    assert trace.steps[1].before == (Message(role="other", text="skill text", name="skill-x"),)
    assert trace.notes == ("events of the type 'odd' were left out",)


def test_free_text_for_a_custom_tool_is_its_input():
    trace = read(
        [TASK, says("", request("a", "apply_patch", "*** Begin", "custom"), request("b", arguments="{broken"))]
    )
    assert [(call.arguments, call.arguments_state) for _, _, call in trace.calls()] == [
        ({"input": "*** Begin"}, "ok"),
        (None, "unparsed"),
    ]


@pytest.mark.skipif(not files("copilot_cli"), reason=WHY)
def test_the_real_files_are_read():
    ((trace,),) = read_every("copilot_cli").values()
    assert (trace.source_format, shape(trace), outcomes(trace)) == (
        *("copilot-cli", [(1, 2), (1, 0)]),
        {("present", False)},
    )
    assert [tool.name for tool in trace.tools] == ["bash", "str_replace"]
    assert [call.result.text for _, _, call in trace.calls()] == ["README.md\nsrc", "# Project"]

import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Call, Message, Result, Trace, Usage
from stepjudge.value import JsonObject


def read(lines: list[JsonObject]) -> Trace:
    (trace,) = read_document(lines)
    assert trace.source_format == "codex"
    return trace


def item(type: str, **payload: JsonValue) -> JsonObject:
    return {"timestamp": "2026-01-01", "type": "response_item", "payload": {"type": type, **payload}}


def event(type: str, **payload: JsonValue) -> JsonObject:
    return {"timestamp": "2026-01-01", "type": "event_msg", "payload": {"type": type, **payload}}


def says(role: str, text: str) -> JsonObject:
    return item("message", role=role, content=[{"type": "input_text", "text": text}])


def calls(id: str, arguments: str = "{}") -> JsonObject:
    return item("function_call", name="shell", call_id=id, arguments=arguments)


def output(id: str, output: JsonValue = "seen") -> JsonObject:
    return item("function_call_output", call_id=id, output=output)


def thinks(text: str) -> JsonObject:
    return item("reasoning", summary=[{"type": "summary_text", "text": text}])


def counts(prompt: int, total: int) -> JsonObject:
    info: JsonValue = {"last_token_usage": {"input_tokens": prompt, "cached_input_tokens": 1, "output_tokens": 2},
                       "total_token_usage": {"input_tokens": total}}  # fmt: skip
    return event("token_count", info=info)


TASK = says("user", "fix it")
CONTEXT: JsonObject = {"type": "turn_context", "payload": {"model": "m"}}


def test_what_one_response_emitted_is_one_step_with_the_tokens_counted_after_it():
    trace = read([
        *(CONTEXT, TASK, thinks("hm"), says("assistant", "look"), calls("a"), calls("b"), counts(7, 7)),
        *(output("b", "B"), output("a", "A"), says("assistant", "done"), counts(9, 16)),
        event("token_count", info=None),
    ])  # fmt: skip
    first, last = trace.steps
    assert (first.message, first.reasoning, first.model, first.started_at) == ("look", "hm", "m", "2026-01-01")
    assert [call.result.text for call in first.calls] == ["A", "B"]
    assert first.usage == Usage(prompt_tokens=7, cached_tokens=1, completion_tokens=2)
    assert (last.usage, trace.usage) == (
        Usage(prompt_tokens=9, cached_tokens=1, completion_tokens=2),
        Usage(prompt_tokens=16),
    )


def test_where_tokens_are_not_counted_thinking_or_speaking_anew_is_a_new_step():
    trace = read([TASK, thinks("1"), calls("a"), calls("b"), thinks("2"), calls("c"), says("assistant", "done")])
    assert shape(trace) == [(1, 2), (1, 1), (1, 0)]


def test_a_call_id_that_is_there_already_belongs_to_another_step():
    trace = read([TASK, calls("a"), calls("a"), output("a", "2")])
    assert [call.result.state for _, _, call in trace.calls()] == ["missing", "present"]


def test_events_that_repeat_items_are_told_once():
    trace = read([
        *(event("user_message", message="fix it"), TASK, event("agent_reasoning", text="hm"), thinks("hm")),
        *(event("agent_message", message="done"), says("assistant", "done")),
    ])  # fmt: skip
    assert [(step.message, step.reasoning) for step in trace.steps] == [("done", "hm")]
    alone = read([event("user_message", message="fix it"), event("agent_message", message="done"), CONTEXT])
    assert (alone.task, [step.message for step in alone.steps]) == ("fix it", ["done"])


def test_what_the_harness_put_into_the_users_mouth_is_no_task():
    context = says("user", "<environment_context>here</environment_context>")
    meta: JsonObject = {"type": "session_meta", "payload": {"id": "s", "base_instructions": {"text": "be kind"}}}
    trace = read([meta, says("developer", "be brief"), context, TASK, calls("a"), output("a"), TASK, calls("b")])
    assert trace.system == "be kind\n\nbe brief\n\n<environment_context>here</environment_context>"
    assert (trace.task, trace.trace_id, shape(trace)) == ("fix it", "s", [(1, 1), (2, 1)])


def test_exit_codes_and_errors_are_found_where_each_version_puts_them():
    old = '{"output": "boom", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}'
    trace = read([
        *(TASK, calls("a"), output("a", old), calls("b"), output("b", "Exit code: 3\nWall time: 0.1 s\nOutput:\n")),
        *(calls("c"), output("c", "Chunk ID: 1\nWall time: 1 s\nProcess exited with code 4\nOutput:\n")),
        *(calls("d"), event("exec_command_end", call_id="d", exit_code=5), output("d")),
        *(calls("e"), output("e", {"content": "no", "success": False})),
        *(calls("f"), output("f"), event("mcp_tool_call_end", call_id="f", result={"Ok": {"isError": False}})),
        *(calls("g"), output("g", ""), calls("h")),
    ])  # fmt: skip
    found = [call.result for _, _, call in trace.calls()]
    assert [each.exit_code for each in found] == [2, 3, 4, 5, None, None, None, None]
    assert [each.is_error for each in found] == [None, None, None, None, True, False, None, None]
    assert (found[0].text, found[6].state, found[7].state) == ("boom", "empty", "missing")


def test_all_kinds_of_calls_are_calls():
    trace = read([
        *(TASK, calls("a", "{broken"), item("custom_tool_call", name="apply_patch", call_id="b", input="*** Begin")),
        *(item("local_shell_call", call_id="c", action={"type": "exec", "command": ["ls"]}),),
        *(item("web_search_call", id="d", action={"type": "search", "query": "q"}), output("c")),
    ])  # fmt: skip
    assert [(call.name, call.arguments, call.arguments_state) for call in trace.steps[0].calls] == [
        ("shell", None, "unparsed"),
        ("apply_patch", {"input": "*** Begin"}, "ok"),
        ("local_shell", {"type": "exec", "command": ["ls"]}, "ok"),
        ("web_search", {"type": "search", "query": "q"}, "ok"),
    ]


def test_an_aborted_and_a_condensed_session_say_so():
    condensed: JsonObject = {"type": "compacted", "payload": {"message": "long story"}}
    trace = read([TASK, calls("a"), event("turn_aborted", reason="interrupted"), condensed, says("assistant", "done")])
    assert trace.steps[1].before == (
        Message(role="other", text="turn_aborted: interrupted", name="harness"),
        Message(role="other", text="long story", name="harness"),
    )
    assert len(trace.notes) == 1


def stream(event: str, kind: str, id: str, **fields: JsonValue) -> JsonObject:
    return {"type": f"item.{event}", "item": {"id": id, "type": kind, **fields}}


def runs(event: str, id: str, status: str, output: str = "", code: int | None = None) -> JsonObject:
    return stream(
        event, "command_execution", id, command=f"run {id}", aggregated_output=output, exit_code=code, status=status
    )


def test_the_stream_of_codex_exec_is_read_by_its_actions():
    failed: JsonObject = {"server": "s", "tool": "ask", "arguments": {"q": 1}, "error": {"message": "no"}}
    trace = read([
        *({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}),
        *(stream("completed", "reasoning", "0", text="hm"), runs("started", "1", "in_progress")),
        *(runs("started", "2", "in_progress"), runs("completed", "2", "failed", "boom", 2)),
        *(runs("completed", "1", "completed", "ok", 0), stream("completed", "agent_message", "3", text="next")),
        *(stream("completed", "mcp_tool_call", "4", status="failed", **failed), runs("started", "5", "in_progress")),
        stream("completed", "agent_message", "6", text="done"),
        {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}},
    ])  # fmt: skip
    first, second, third, last = trace.steps
    assert (first.reasoning, [call.name for call in first.calls]) == ("hm", ["shell", "shell"])
    assert [call.result.exit_code for call in first.calls] == [0, 2]
    refused = Result(text="no", state="present", is_error=True)
    assert (second.message, second.calls) == (
        "next",
        (Call(name="ask", id="4", arguments={"q": 1}, result=refused, extra={"server": "s"}),),
    )
    assert (third.calls[0].result.state, last.message, trace.final_output) == ("missing", "done", "done")
    assert (trace.trace_id, trace.usage) == ("t", Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2))


def test_a_patch_whose_text_the_stream_drops_has_elided_arguments():
    changed: JsonValue = [{"path": "a", "kind": "update"}]
    (step,) = read([stream("completed", "file_change", "1", changes=changed, status="completed")]).steps
    assert (step.calls[0].arguments_state, step.calls[0].result) == ("elided", Result(state="empty", is_error=False))


def test_a_session_in_which_nobody_acted_has_no_steps():
    with pytest.raises(UnreadableTrace, match="the trace has no steps"):
        read([CONTEXT, TASK])


@pytest.mark.skipif(not files("codex_rollout"), reason=WHY)
def test_the_real_files_are_read():
    found = {name: trace for name, (trace,) in read_every("codex_rollout").items()}
    assert {trace.source_format for trace in found.values()} == {"codex"}
    assert {name: (shape(trace), outcomes(trace)) for name, trace in found.items()} == {
        "agentsview_function_calls.jsonl": ([(1, 1), (1, 1)], {("missing", None)}),
        "atifmake_codex-rollout.jsonl": ([(1, 1), (1, 0)], {("present", None)}),
        "letta_tool-calls.jsonl": ([(1, 1), (1, 1), (1, 1), (1, 0)], {("present", None)}),
    }
    assert found["letta_tool-calls.jsonl"].task == "create one focused commit"
    assert found["atifmake_codex-rollout.jsonl"].steps[0].usage == Usage(
        prompt_tokens=500, cached_tokens=100, completion_tokens=40
    )

import json

import pytest
from pydantic import JsonValue

from formats.recorded_runs import is_the_article_run, is_the_parallel_run, outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Call, Message, Result, Tool, Trace, Usage


def read(document: JsonValue) -> Trace:
    """Detected, not named."""
    (trace,) = read_document(document)
    assert trace.source_format == "openai-responses"
    return trace


def call(id: str = "c1", arguments: JsonValue = "{}", **fields: JsonValue) -> JsonValue:
    return {"type": "function_call", "call_id": id, "name": "look", "arguments": arguments, **fields}


def output(text: JsonValue, id: str = "c1", **fields: JsonValue) -> JsonValue:
    return {"type": "function_call_output", "call_id": id, "output": text, **fields}


def says(text: str) -> JsonValue:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def thinks(text: str) -> JsonValue:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


TASK: JsonValue = {"role": "user", "content": "fix it"}


def test_adjacent_items_of_the_model_are_one_step_until_an_output():
    trace = read([TASK, thinks("hm"), says("I look"), call("a"), call("b"), output("B", "b"), output("A", "a"),
                  says("done")])  # fmt: skip
    first, second = trace.steps
    assert (first.reasoning, first.message) == ("hm", "I look")
    assert [each.result.text for each in first.calls] == ["A", "B"]
    assert (second.message, second.calls, trace.final_output) == ("done", (), "done")


def test_a_call_without_an_output_stays_missing_and_ends_its_step():
    trace = read([TASK, call("a"), says("then"), call("b"), output("B", "b")])
    assert [[each.result.state for each in step.calls] for step in trace.steps] == [["missing"], ["present"]]


def test_what_the_model_writes_before_the_output_of_its_call_belongs_to_the_same_step():
    trace = read([TASK, call("a"), says("meanwhile"), output("A", "a"), says("done")])
    assert [(step.message, len(step.calls)) for step in trace.steps] == [("meanwhile", 1), ("done", 0)]


def test_a_message_after_a_message_and_a_thought_after_a_message_begin_steps():
    trace = read([TASK, says("one"), says("two"), thinks("hm"), says("three")])
    assert [(step.message, step.reasoning) for step in trace.steps] == [("one", ""), ("two", ""), ("three", "hm")]


def test_ids_that_repeat_are_paired_within_their_step():
    trace = read([TASK, call(), output("1"), call(), output("2")])
    assert [each.result.text for _, _, each in trace.calls()] == ["1", "2"]


def test_outputs_have_no_error_signal_unless_their_status_says_so():
    trace = read([TASK, call("a"), call("b"), output("Error", "a"), output("no", "b", status="failed")])
    assert [each.result.is_error for _, _, each in trace.calls()] == [None, True]


def test_arguments_that_are_not_json_keep_their_text_and_an_incomplete_call_says_so():
    trace = read([TASK, call(arguments='{"q": "unter', status="incomplete")])
    (found,) = trace.steps[0].calls
    assert (found.arguments_raw, found.arguments_state, found.extra) == (
        '{"q": "unter',
        "unparsed",
        {"status": "incomplete"},
    )


def test_outputs_may_be_parts_and_empty_is_not_missing():
    image: JsonValue = {"type": "input_image", "image_url": "https://example.com/a.png"}
    trace = read([TASK, call("a"), call("b"), output([{"type": "input_text", "text": "see"}, image], "a"),
                  output("", "b")])  # fmt: skip
    seen, empty = (each.result for _, _, each in trace.calls())
    assert (seen.text, [each.kind for each in seen.attachments], empty.state) == ("see", ["image"], "empty")


def test_user_messages_open_turns_and_instructions_are_the_system_prompt():
    trace = read({"instructions": "be kind", "tools": [{"type": "function", "name": "look", "parameters": {}}],
                  "input": [TASK, says("ok"), {"role": "user", "content": "more"}, call(), output("x")]})  # fmt: skip
    assert (trace.system, trace.task, shape(trace)) == ("be kind", "fix it", [(1, 0), (2, 1)])
    assert trace.tools == (Tool(name="look", parameters={}),)


def test_a_recorded_response_ends_the_run_with_its_usage_and_model():
    response: JsonValue = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "m-2026",
        "output": [says("done")],
        "usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
    }
    trace = read({"request": {"model": "m", "input": [TASK, call(), output("x")]}, "response": response})
    assert (trace.trace_id, trace.model, len(trace.steps)) == ("resp_1", "m", 2)
    assert trace.steps[1].usage == Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2)
    assert trace.steps[1].model == "m-2026"


def test_a_response_alone_is_one_step_whatever_the_order_of_its_items():
    trace = read({"object": "response", "output": [thinks("hm"), call("a"), says("wait"), call("b")]})
    assert shape(trace) == [(1, 2)]


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_streamed_response_is_read_even_when_the_stream_was_cut(is_cut: bool):
    events: list[JsonValue] = [
        {"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "item": says("done")},
        {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": [says("done")]}},
    ]  # fmt: skip
    body = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events[: 2 if is_cut else 3])
    trace = read({"request": {"input": [TASK]}, "response": {"string": body}})
    assert [step.message for step in trace.steps] == ["done"]
    assert any("'in_progress'" in note for note in trace.notes) == is_cut


def test_tools_that_ran_at_the_provider_carry_their_results_and_end_their_step():
    trace = read([
        TASK,
        {"type": "mcp_list_tools", "tools": [{"name": "ask", "input_schema": {"type": "object"}}]},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
        says("found"),
        {"type": "mcp_call", "id": "m", "name": "ask", "arguments": '{"a": 1}', "output": "yes", "error": None},
        {"type": "mcp_call", "id": "n", "name": "ask", "arguments": "{}", "error": {"message": "no"}},
        {"type": "code_interpreter_call", "id": "p", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
    ])  # fmt: skip
    assert trace.tools == (Tool(name="ask", parameters={"type": "object"}),)
    assert [[each.name for each in step.calls] for step in trace.steps] == [
        ["web_search"],
        ["ask", "ask", "code_interpreter"],
    ]
    assert [each.result for _, _, each in trace.calls()] == [
        Result(),
        Result(text="yes", state="present", is_error=False),
        Result(text="no", state="present", is_error=True),
        Result(text="2", state="present"),
    ]


def test_a_call_after_a_search_of_the_provider_is_a_step_of_its_own_and_two_searches_are_one():
    search: JsonValue = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
    assert shape(read([TASK, search, search, call("a"), output("A", "a")])) == [(1, 2), (1, 1)]


def test_shell_and_patch_calls_have_exit_codes_timeouts_and_states():
    trace = read([
        TASK,
        {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
        {"type": "shell_call", "call_id": "t", "action": {"commands": ["sleep 9"]}},
        {"type": "apply_patch_call", "call_id": "p", "operation": {"type": "delete_file", "path": "a"}},
        {"type": "custom_tool_call", "call_id": "x", "name": "run", "input": "print(1)"},
        {"type": "shell_call_output", "call_id": "s",
         "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 2}}]},
        {"type": "shell_call_output", "call_id": "t", "output": [{"stdout": "", "outcome": {"type": "timeout"}}]},
        {"type": "apply_patch_call_output", "call_id": "p", "status": "completed", "output": "ok"},
        {"type": "custom_tool_call_output", "call_id": "x", "output": "1"},
    ])  # fmt: skip
    shell, slow, patch, custom = trace.steps[0].calls
    assert (shell.name, shell.arguments, shell.result.text, shell.result.exit_code) == (
        "shell", {"commands": ["ls"]}, "a\nb", 2)  # fmt: skip
    assert shell.result.is_error is None
    assert (slow.result.is_error, slow.result.error_kind, patch.result.is_error) == (True, "timeout", False)
    assert custom == Call(name="run", id="x", arguments={"input": "print(1)"}, result=Result(text="1", state="present"))


def test_a_refused_approval_is_a_call_and_a_given_one_is_not_told_twice():
    ask: JsonValue = {"type": "mcp_approval_request", "id": "q", "name": "ask", "arguments": "{}"}
    answer: JsonValue = {"type": "mcp_approval_response", "approval_request_id": "q", "approve": False}
    ran: JsonValue = {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "yes",
                      "approval_request_id": "q"}  # fmt: skip
    assert [each.result.text for _, _, each in read([TASK, ask, answer]).calls()] == ['{"approve":false}']
    assert [each.result.text for _, _, each in read([TASK, ask, answer, ran]).calls()] == ["yes"]


def test_what_the_document_does_not_hold_is_noted():
    trace = read({
        "previous_response_id": "resp_0",
        "input": [TASK, {"type": "item_reference", "id": "r"}, {"type": "reasoning", "summary": [],
                  "encrypted_content": "x"}, call(prompt_token_ids=[1]), output("x"), {"type": "hologram", "id": "h"}],
    })  # fmt: skip
    assert [each.partition(" ")[0] for each in trace.notes] == ["the", "an", "the", "token", "item"]
    assert trace.after == (Message(role="other", text='{"type":"hologram","id":"h"}'),)


def test_a_list_of_plain_messages_is_chat_and_a_strange_role_is_a_near_miss():
    (chat,) = read_document([TASK, {"role": "assistant", "content": "ok"}])
    assert chat.source_format == "openai-chat"
    with pytest.raises(UnreadableTrace, match="openai-responses: item 1 is none of the Responses API"):
        list(read_document([call(), {"role": "narrator"}]))


@pytest.mark.skipif(not files("openai_responses"), reason=WHY)
def test_the_real_files_are_read():
    found = read_every("openai_responses")
    assert {trace.source_format for traces in found.values() for trace in traces} == {"openai-responses"}
    (article,), (parallel,) = (
        found["5262_article_agents_input_list.json"],
        found["5262_parallel_agents_input_list.json"],
    )
    assert is_the_article_run(article)
    assert shape(article) == [(1, 1)] * 7 + [(1, 0)]
    assert is_the_parallel_run(parallel)
    assert outcomes(article) == outcomes(parallel) == {("present", None)}
    (retry,) = found["model_retry.json"]
    assert shape(retry) == [(1, 2), (1, 0)]

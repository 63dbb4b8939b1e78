import json

import pytest
from pydantic import JsonValue

from formats.recorded_runs import is_the_article_run, outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Message, Result, Tool, Trace, Usage


def read(document: object) -> Trace:
    """Detected, not named."""
    (trace,) = read_document(document)
    assert trace.source_format == "anthropic-messages"
    return trace


def use(id: str = "c1", name: str = "look", input: JsonValue = None) -> JsonValue:
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input}


def result(content: JsonValue, id: str = "c1", **fields: JsonValue) -> JsonValue:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


def text(words: str) -> JsonValue:
    return {"type": "text", "text": words}


def says(*blocks: JsonValue, **fields: JsonValue) -> JsonValue:
    return {"role": "assistant", "content": list(blocks), **fields}


def user(*blocks: JsonValue) -> JsonValue:
    return {"role": "user", "content": list(blocks)}


TASK: JsonValue = {"role": "user", "content": "fix it"}


def test_blocks_of_one_message_are_one_step_and_results_find_their_calls():
    trace = read([TASK, says(text("I look"), use("a"), use("b")), user(result("B", "b"), result("A", "a"))])
    assert shape(trace) == [(1, 2)]
    assert [each.result.text for _, _, each in trace.calls()] == ["A", "B"]


def test_only_is_error_makes_an_error_and_its_absence_is_null():
    blocks = [result("boom", "a", is_error=True), result("ok", "b", is_error=False), result("Error", "c")]
    trace = read([TASK, says(use("a"), use("b"), use("c"), use("d")), user(*blocks)])
    assert [(each.result.state, each.result.is_error) for _, _, each in trace.calls()] == [
        ("present", True), ("present", False), ("present", None), ("missing", None)]  # fmt: skip


def test_a_result_without_content_is_empty_and_blocks_of_one_are_joined():
    image: JsonValue = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    bare: JsonValue = {"type": "tool_result", "tool_use_id": "a"}
    trace = read([TASK, says(use("a"), use("b")), user(bare, result([text("see"), text("this"), image], "b"))])
    empty, seen = (each.result for _, _, each in trace.calls())
    assert (empty, seen.text) == (Result(state="empty"), "see\nthis")
    assert [each.media_type for each in seen.attachments] == ["image/png"]


def test_words_beside_results_are_a_message_of_the_same_turn_and_words_alone_open_one():
    trace = read([TASK, says(use()), user(result("x"), text("hurry")), says(text("ok")), TASK, says(text("ok"))])
    assert [(step.turn, [each.text for each in step.before]) for step in trace.steps] == [
        (1, []), (1, ["hurry"]), (2, ["fix it"])]  # fmt: skip


def test_ids_that_repeat_are_paired_within_their_step():
    trace = read([TASK, says(use()), user(result("1")), says(use()), user(result("2"))])
    assert [each.result.text for _, _, each in trace.calls()] == ["1", "2"]


def test_thinking_is_private_and_encrypted_thinking_is_noted():
    blocks: list[JsonValue] = [{"type": "thinking", "thinking": "hm", "signature": "s"},
                               {"type": "redacted_thinking", "data": "x"}, text("ok")]  # fmt: skip
    trace = read([TASK, says(*blocks)])
    assert (trace.steps[0].reasoning, trace.steps[0].message) == ("hm", "ok")
    assert trace.notes == ("some of the model's reasoning is encrypted",)


def test_an_input_that_is_no_object_stays_text():
    (found,) = read([TASK, says(use(input='{"q": "unter'))]).steps[0].calls
    assert (found.arguments_state, found.arguments_raw) == ("unparsed", '{"q": "unter')


def test_system_tools_and_a_recorded_response_are_carried():
    response = {
        "type": "message", "role": "assistant", "model": "m-2026", "stop_reason": "end_turn",
        "content": [text("done")],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    request = {"model": "m", "system": [text("be"), text("kind")], "messages": [TASK, says(use()), user(result("x"))],
               "tools": [{"name": "look", "input_schema": {"type": "object"}}, {"type": "bash_20250124", "name": "bash"}],
               "max_tokens": 9}  # fmt: skip
    trace = read({"request": request, "response": response})
    assert (trace.system, trace.model, trace.extra["request"]) == ("be\nkind", "m", {"max_tokens": 9})
    assert trace.tools == (Tool(name="look", parameters={"type": "object"}), Tool(name="bash"))
    last = trace.steps[1]
    assert last.usage == Usage(prompt_tokens=9, cached_tokens=3, completion_tokens=2)
    assert (last.model, last.extra) == ("m-2026", {"stop_reason": "end_turn"})


def test_a_reply_that_the_messages_hold_already_is_told_once_and_a_prefill_is_gone_on_from():
    def reply(words: str) -> JsonValue:
        return {"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [text(words)]}

    once = read({"messages": [TASK, says(text("done"))], "response": reply("done")})
    assert [step.message for step in once.steps] == ["done"]
    prefilled = read({"messages": [TASK, says(text("{"))], "response": reply('"a": 1}')})
    assert [step.message for step in prefilled.steps] == ['{\n"a": 1}']
    assert any("mouth" in note for note in prefilled.notes)


@pytest.mark.parametrize(("pieces", "arguments"), [(['{"q":', "1}"], {"q": 1}), (['{"q":'], None)])
def test_a_streamed_response_is_put_together(pieces: list[str], arguments: JsonValue):
    events: list[JsonValue] = [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "usage": {"input_tokens": 7}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look"}},
        {"type": "content_block_start", "index": 1, "content_block": use(input={})},
        *({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}
          for piece in pieces),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
    ]  # fmt: skip
    body = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events)
    request = {"system": "be kind", "messages": [TASK]}
    (step,) = read({"request": request, "response": {"string": body}}).steps
    assert (step.message, step.calls[0].arguments) == ("I look", arguments)
    assert step.usage == Usage(prompt_tokens=7, completion_tokens=3)


def test_tools_that_ran_at_anthropic_have_call_and_result_in_one_message():
    failed: JsonValue = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    ran: JsonValue = {
        "type": "bash_code_execution_result",
        "stdout": "a",
        "stderr": "b",
        "return_code": 2,
        "content": [],
    }
    slow: JsonValue = {"type": "code_execution_tool_result_error", "error_code": "execution_time_exceeded"}
    trace = read([
        TASK,
        says(
            {**json.loads(json.dumps(use("a", "web_search"))), "type": "server_tool_use"},
            {"type": "web_search_tool_result", "tool_use_id": "a", "content": failed},
            {**json.loads(json.dumps(use("b", "bash_code_execution"))), "type": "server_tool_use"},
            {"type": "bash_code_execution_tool_result", "tool_use_id": "b", "content": ran},
            {"type": "mcp_tool_use", "id": "c", "name": "ask", "input": {}, "server_name": "s"},
            {"type": "mcp_tool_result", "tool_use_id": "c", "is_error": False, "content": [text("yes")]},
            {**json.loads(json.dumps(use("d", "code_execution"))), "type": "server_tool_use"},
            {"type": "code_execution_tool_result", "tool_use_id": "d", "content": slow},
            text("done"),
        ),
    ])  # fmt: skip
    search, bash, ask, code = trace.steps[0].calls
    assert (trace.steps[0].message, search.result.is_error, ask.extra) == ("done", True, {"server_name": "s"})
    assert bash.result == Result(text="a\nb", state="present", exit_code=2)
    assert ask.result == Result(text="yes", state="present", is_error=False)
    assert (code.result.is_error, code.result.error_kind) == (True, "timeout")


def test_a_response_alone_is_read_and_an_unknown_role_is_noted():
    assert shape(read({"type": "message", "role": "assistant", "stop_reason": None, "content": [use()]})) == [(1, 1)]
    document = [TASK, says(text("ok")), {"role": "narrator", "content": "then"}]
    (trace,) = read_document(document, format="anthropic-messages")
    assert trace.after == (Message(role="other", text="then", name="narrator"),)
    assert len(trace.notes) == 1


def test_chat_that_is_not_of_anthropic_stays_chat():
    (plain,) = read_document([TASK, says(text("ok"))])
    (mixed,) = read_document([TASK, says(use(), tool_calls=[{"id": "c", "function": {"name": "look"}}])])
    assert plain.source_format == mixed.source_format == "openai-chat"


@pytest.mark.skipif(not files("anthropic_messages"), reason=WHY)
def test_the_real_files_are_read():
    found = read_every("anthropic_messages")
    assert {trace.source_format for traces in found.values() for trace in traces} == {"anthropic-messages"}
    (article,), (parallel,) = found["5262_article_anthropic.json"], found["parallel_tool_calls.json"]
    assert is_the_article_run(article)
    assert shape(article) == [(1, 1)] * 8
    assert [each.name for each in article.steps[7].calls] == ["finish"]
    assert outcomes(article) == {("present", None)}
    assert (len(article.tools), shape(parallel), outcomes(parallel)) == (4, [(1, 4), (1, 0)], {("present", False)})

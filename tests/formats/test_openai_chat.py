import json

import pytest
from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Call, Message, Result, Tool, Trace, Usage


def read(document: object) -> Trace:
    (trace,) = read_document(document, format="openai-chat")
    return trace


def call(name: str = "look", arguments: JsonValue = "{}", id: str | None = "c1") -> JsonValue:
    return {"type": "function", "id": id, "function": {"name": name, "arguments": arguments}}


def says(*calls: JsonValue, content: JsonValue = None) -> JsonValue:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answers(content: JsonValue, **fields: JsonValue) -> JsonValue:
    return {"role": "tool", "content": content, **fields}


TASK: JsonValue = {"role": "user", "content": "fix it"}


def test_parallel_calls_are_one_step_and_results_out_of_order_find_their_calls():
    trace = read(
        [TASK, says(call(id="a"), call(id="b")), answers("B", tool_call_id="b"), answers("A", tool_call_id="a")]
    )
    assert [[each.result.text for each in step.calls] for step in trace.steps] == [["A", "B"]]


def test_ids_that_repeat_are_paired_within_their_step():
    trace = read([TASK, says(call()), answers("1", tool_call_id="c1"), says(call()), answers("2", tool_call_id="c1")])
    assert [each.result.text for _, _, each in trace.calls()] == ["1", "2"]


def test_an_unanswered_call_does_not_take_the_answer_of_a_later_call_with_its_id():
    trace = read([TASK, says(call()), says(call()), answers("2", tool_call_id="c1")])
    assert [each.result.state for _, _, each in trace.calls()] == ["missing", "present"]


def test_equal_ids_in_one_message_are_paired_in_order():
    trace = read([TASK, says(call(), call()), answers("1", tool_call_id="c1"), answers("2", tool_call_id="c1")])
    assert [each.result.text for _, _, each in trace.calls()] == ["1", "2"]


def test_results_without_ids_are_paired_by_name_then_order():
    calls = [call("look", id=None), call("go", id=None), call("look", id=None)]
    results = [answers("2", name="go"), answers("1", name="look"), answers("3", name="look")]
    assert [each.result.text for _, _, each in read([TASK, says(*calls), *results]).calls()] == ["1", "2", "3"]


def test_a_result_without_an_id_is_not_given_to_a_call_of_an_earlier_turn():
    trace = read([TASK, says(call(id=None)), TASK, answers("late"), {"role": "assistant", "content": "hi"}])
    assert trace.steps[0].calls[0].result.state == "missing"
    assert [message.text for message in trace.steps[1].before] == ["fix it", "late"]


def test_a_result_with_an_id_finds_its_call_in_an_earlier_turn_and_that_is_noted():
    trace = read([TASK, says(call()), TASK, answers("late", tool_call_id="c1")])
    assert trace.steps[0].calls[0].result.text == "late"
    assert trace.notes == ("a tool result arrived in a later turn than its call",)


def test_a_result_that_answers_no_call_becomes_a_message_and_is_noted():
    trace = read([TASK, answers("who asked?", tool_call_id="zz"), {"role": "assistant", "content": "hi"}])
    assert trace.steps[0].before == (Message(role="tool", text="who asked?"),)
    assert any("answers no open call" in note for note in trace.notes)


def test_no_result_is_missing_and_a_result_without_content_is_empty():
    trace = read([TASK, says(call(id="a"), call(id="b")), answers(None, tool_call_id="b")])
    assert [each.result for _, _, each in trace.calls()] == [Result(state="missing"), Result(state="empty")]


def test_chat_has_no_error_signal_so_is_error_stays_null():
    trace = read([TASK, says(call()), answers("Error: boom", tool_call_id="c1")])
    assert trace.steps[0].calls[0].result.is_error is None


@pytest.mark.parametrize(
    ("emitted", "expected"),
    [
        ('{"q": 1}', Call(name="look", id="c1", arguments={"q": 1})),
        ({"q": 1}, Call(name="look", id="c1", arguments={"q": 1})),
        ('{"q": "unter', Call(name="look", id="c1", arguments_raw='{"q": "unter', arguments_state="unparsed")),
        ("[1]", Call(name="look", id="c1", arguments_raw="[1]", arguments_state="unparsed")),
        ('{"q": NaN}', Call(name="look", id="c1", arguments_raw='{"q": NaN}', arguments_state="unparsed")),
        ("", Call(name="look", id="c1", arguments_raw="", arguments_state="unparsed")),
        (None, Call(name="look", id="c1", arguments_state="missing")),
        (7, Call(name="look", id="c1", arguments_raw="7", arguments_state="unparsed")),
    ],
)
def test_arguments_that_are_no_object_keep_their_text(emitted: JsonValue, expected: Call):
    assert read([TASK, says(call(arguments=emitted))]).steps[0].calls == (expected,)


def test_arguments_nested_too_deeply_are_kept_as_text():
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    trace = read([TASK, says(call(arguments=deep))])
    assert trace.steps[0].calls[0].arguments_state == "unparsed"
    assert trace.steps[0].calls[0].arguments_raw == deep
    assert any("nested" in note for note in trace.notes)


def test_arguments_with_thousands_of_digits_keep_them_as_text():
    digits = "9" * 5000
    trace = read([TASK, says(call(arguments=f'{{"n": {digits}}}'))])
    assert trace.steps[0].calls[0].arguments == {"n": digits}
    assert any("digits" in note for note in trace.notes)


def test_a_surrogate_escaped_within_arguments_is_replaced_and_noted():
    trace = read([TASK, says(call(arguments='{"q": "\\ud800"}'))])
    assert trace.steps[0].calls[0].arguments == {"q": "�"}
    assert any("1 lone surrogates" in note for note in trace.notes)


def test_the_legacy_spelling_is_read():
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    trace = read({"messages": [TASK, legacy, {"role": "function", "name": "look", "content": "14"}],
                  "functions": [{"name": "look", "parameters": {"type": "object"}}]})  # fmt: skip
    assert trace.steps[0].calls == (Call(name="look", arguments={}, result=Result(text="14", state="present")),)
    assert trace.tools == (Tool(name="look", parameters={"type": "object"}),)


def test_turns_count_user_exchanges_and_llm_calls_count_emissions():
    answer: JsonValue = {"role": "assistant", "content": "ok"}
    more: JsonValue = {"role": "user", "content": "more"}
    trace = read([TASK, answer, answer, more, more, answer])
    assert [(step.turn, step.llm_call, len(step.before)) for step in trace.steps] == [(1, 1, 0), (1, 2, 0), (2, 3, 2)]


def test_messages_before_the_first_step_become_system_task_and_context():
    head: list[JsonValue] = [
        {"role": "system", "content": "be kind"},
        {"role": "developer", "content": "be brief"},
        TASK,
        {"role": "user", "content": "please", "name": "ann"},
    ]
    trace = read([*head, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "bye"}])
    assert (trace.system, trace.task) == ("be kind\n\nbe brief", "fix it")
    assert trace.steps[0].before == (Message(role="user", text="please", name="ann"),)
    assert trace.after == (Message(role="user", text="bye"),)


def test_the_last_message_without_calls_is_the_final_output_and_a_call_is_none():
    assert read([TASK, {"role": "assistant", "content": "done"}]).final_output == "done"
    assert read([TASK, says(call("finish"), content="done")]).final_output is None


def test_text_parts_join_and_other_parts_become_attachments():
    parts: JsonValue = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": "this"},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
    ]
    trace = read(
        [{"role": "user", "content": parts}, {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}]
    )
    image, audio = trace.task_attachments
    assert (trace.task, image.kind, image.media_type, audio.kind) == ("see\nthis", "image", "image/png", "audio")
    assert image.source == audio.source == "sha256:b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78"


def test_a_refusal_is_said_and_reasoning_is_kept_apart():
    message = {"role": "assistant", "content": None, "refusal": "I will not.", "reasoning_content": "hm"}
    step = read([TASK, message]).steps[0]
    assert (step.message, step.reasoning) == ("I will not.", "hm")


def test_a_recorded_response_is_the_last_step_with_its_usage_and_cost():
    response = {
        "model": "gpt-x-2026",
        "choices": [{"message": says(call())}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
    }
    trace = read({"request": {"model": "gpt-x", "messages": [TASK]}, "response": response, "cost": 0.5})
    assert trace.model == "gpt-x"
    assert trace.steps[0].usage == Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2, cost_usd=0.5)
    assert trace.steps[0].model == "gpt-x-2026"


def test_a_response_that_ends_the_messages_already_is_not_told_twice():
    reply = {"role": "assistant", "content": "done"}
    response = {"choices": [{"message": reply}], "usage": {"prompt_tokens": 9}}
    trace = read({"messages": [TASK, reply], "response": response})
    assert [step.usage for step in trace.steps] == [Usage(prompt_tokens=9)]


def test_a_streamed_response_is_put_together():
    deltas: list[JsonValue] = [
        {"role": "assistant", "content": "I ", "tool_calls": [call("look", "")]},
        {"content": "look", "tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]},
    ]
    chunks = [{"model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n"
    step = read({"request": {"messages": [TASK]}, "response": {"string": body}}).steps[0]
    assert (step.message, step.calls) == ("I look", (Call(name="look", id="c1", arguments={"a": 1}),))


def test_an_id_in_the_document_is_kept_and_without_one_the_content_makes_it():
    answer: JsonValue = {"role": "assistant", "content": "ok"}
    assert read({"id": 7, "messages": [TASK, answer]}).trace_id == "7"
    made = read({"messages": [TASK, answer]}).trace_id
    assert made.startswith("sha256:")
    assert made == read([TASK, answer]).trace_id != read([TASK, {"role": "assistant", "content": "no"}]).trace_id


def test_a_document_without_an_assistant_has_no_steps():
    with pytest.raises(UnreadableTrace, match="the trace has no steps: nothing in it was written by the agent"):
        read([TASK])


def test_what_is_no_message_is_noted_and_not_dropped():
    trace = read([TASK, {"role": "assistant", "content": "ok"}, "stray", {"role": "narrator", "content": "then"}])
    assert [message.text for message in trace.after] == ["stray", "then"]
    assert len(trace.notes) == 2

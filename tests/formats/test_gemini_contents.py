import json

import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Call, Message, Result, Trace, Usage


def read(document: object) -> Trace:
    """Detected, not named."""
    (trace,) = read_document(document)
    assert trace.source_format == "gemini-contents"
    return trace


def model(*parts: JsonValue) -> JsonValue:
    return {"role": "model", "parts": list(parts)}


def user(*parts: JsonValue) -> JsonValue:
    return {"role": "user", "parts": list(parts)}


def call(name: str = "look", **fields: JsonValue) -> JsonValue:
    return {"functionCall": {"name": name, "args": {}, **fields}}


def response(value: JsonValue, name: str = "look", **fields: JsonValue) -> JsonValue:
    return {"functionResponse": {"name": name, "response": value, **fields}}


def results(*values: JsonValue) -> list[Result]:
    """What is read of the responses to as many calls."""
    trace = read([TASK, model(*(call() for _ in values)), user(*(response(value) for value in values))])
    return [each.result for _, _, each in trace.calls()]


TASK = user({"text": "fix it"})


def test_calls_of_one_content_are_one_step_and_pair_by_name_then_order_without_ids():
    trace = read([TASK, model({"text": "I look"}, call("a"), call("b"), call("a")),
                  user(response("B", "b"), response("1", "a"), response("2", "a"))])  # fmt: skip
    assert (trace.steps[0].message, shape(trace)) == ("I look", [(1, 3)])
    assert [each.result.text for _, _, each in trace.calls()] == ["1", "B", "2"]


def test_ids_pair_where_there_are_any_and_an_unanswered_call_is_missing():
    trace = read([TASK, model(call(id="x"), call(id="y")), user(response("Y", id="y"))])
    assert [each.result.state for _, _, each in trace.calls()] == ["missing", "present"]


def test_a_response_that_only_wraps_a_value_is_that_value_and_an_object_stays_json():
    texts = [each.text for each in results({"output": "a"}, {"result": [1]}, {"status": "ok", "n": 1}, {}, None)]
    assert texts == ["a", "[1]", '{"status":"ok","n":1}', "{}", ""]


def test_only_the_key_error_and_mcps_flag_tell_errors():
    found = results({"error": "boom"}, {"isError": False, "content": []}, {"status": "error"}, {"error": None, "n": 1})
    assert [each.is_error for each in found] == [True, False, None, None]
    assert found[0].text == "boom"


def test_arguments_that_are_absent_are_missing_and_those_that_are_no_object_stay_text():
    trace = read([TASK, model({"functionCall": {"name": "look"}}, call(args=[1]))])
    assert [each.arguments_state for each in trace.steps[0].calls] == ["missing", "unparsed"]


def test_code_that_gemini_ran_is_a_call_with_its_outcome():
    def ran(outcome: str, output: str) -> list[JsonValue]:
        return [{"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": f"OUTCOME_{outcome}", "output": output}}]  # fmt: skip

    trace = read([TASK, model(*ran("OK", "1"), *ran("DEADLINE_EXCEEDED", ""), {"text": "done"})])
    good, slow = trace.steps[0].calls
    assert good == Call(name="code_execution", arguments={"language": "PYTHON", "code": "1"},
                        result=Result(text="1", state="present", is_error=False))  # fmt: skip
    assert slow.result == Result(state="empty", is_error=True, error_kind="timeout")
    assert trace.final_output is None


def test_thoughts_are_private_signatures_are_dropped_and_files_become_attachments():
    image: JsonValue = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}, "videoMetadata": None}
    parts: list[JsonValue] = [{"text": "hm", "thought": True}, {"text": "ok"}, {"thoughtSignature": "s"}]
    trace = read([user({"text": "see"}, image), model(*parts)])
    assert (trace.steps[0].reasoning, trace.steps[0].message) == ("hm", "ok")
    assert [(each.kind, each.media_type) for each in trace.task_attachments] == [("image", "image/png")]


def test_words_beside_responses_stay_in_the_turn_and_words_alone_open_one():
    trace = read([TASK, model(call()), user(response("x"), {"text": "hurry"}), model({"text": "ok"}), TASK,
                  model({"text": "ok"})])  # fmt: skip
    assert [(step.turn, [each.text for each in step.before]) for step in trace.steps] == [
        (1, []), (1, ["hurry"]), (2, ["fix it"])]  # fmt: skip


def test_a_request_carries_system_and_tools_whose_schema_becomes_json_schema():
    schema: JsonValue = {
        "type": "OBJECT",
        "properties": {"type": {"type": "STRING", "nullable": True, "maxLength": "9"}, "n": {"type": "ARRAY", "items": {"type": "INTEGER"}}},
        "required": ["type"],
    }  # fmt: skip
    tools: JsonValue = [{"functionDeclarations": [{"name": "look", "parameters": schema},
                         {"name": "go", "parametersJsonSchema": {"type": "object"}}]}, {"googleSearch": {}}]  # fmt: skip
    trace = read({"model": "m", "systemInstruction": {"parts": [{"text": "be kind"}]}, "tools": tools,
                  "contents": [TASK, model({"text": "ok"})], "generationConfig": {"temperature": 0}})  # fmt: skip
    assert (trace.system, trace.model, trace.extra) == ("be kind", "m", {"generationConfig": {"temperature": 0}})
    assert [(each.name, each.parameters) for each in trace.tools] == [
        ("look", {
            "type": "object",
            "properties": {"type": {"type": ["string", "null"], "maxLength": 9},
                           "n": {"type": "array", "items": {"type": "integer"}}},
            "required": ["type"],
        }),
        ("go", {"type": "object"}),
        ("googleSearch", None),
    ]  # fmt: skip


def test_a_recorded_response_ends_the_run_and_thoughts_count_as_output():
    answer = {
        "candidates": [{"content": model(call()), "finishReason": "STOP"}, {"content": model()}],
        "modelVersion": "m-2026",
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 5,
                          "cachedContentTokenCount": 4},
    }  # fmt: skip
    trace = read({"request": {"contents": [TASK]}, "response": answer})
    (step,) = trace.steps
    assert (step.usage, step.model) == (Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=7), "m-2026")
    assert trace.notes == ("of the 2 candidates of the response the first was read",)


def test_an_answer_that_was_cut_short_says_why():
    malformed = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "print(look("}]}
    trace = read({"request": {"contents": [TASK]}, "response": malformed})
    assert (trace.steps[0].message, trace.steps[0].calls) == ("", ())
    assert trace.notes == ("the model stopped with MALFORMED_FUNCTION_CALL: print(look(",)


def test_a_streamed_response_is_put_together():
    chunks: list[JsonValue] = [
        {"candidates": [{"content": model({"text": "I "})}]},
        {"candidates": [{"content": model({"text": "look"}, call())}]},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    for recorded in (body, json.dumps(chunks)):
        (step,) = read({"request": {"contents": [TASK]}, "response": {"string": recorded}}).steps
        assert (step.message, len(step.calls), step.usage) == ("I look", 1, Usage(prompt_tokens=3))
    assert read(chunks).steps[0].message == "I look"


def test_snake_case_with_nulls_is_read_too():
    part: JsonValue = {"text": None, "function_call": {"id": None, "args": {"a": 1}, "name": "look"}, "thought": None}
    back: JsonValue = {"text": None, "function_response": {"name": "look", "response": {"output": "x"}}}
    trace = read({"contents": [TASK, model(part), user(back)], "config": {"system_instruction": "be kind"}})
    assert trace.system == "be kind"
    assert trace.steps[0].calls == (Call(name="look", arguments={"a": 1}, result=Result(text="x", state="present")),)


def test_strange_contents_are_a_near_miss_and_noted_when_the_format_is_named():
    document: JsonValue = {"contents": [TASK, model({"text": "ok"}), {"role": "narrator", "parts": [{"text": "then"}]}]}
    with pytest.raises(UnreadableTrace, match=r"gemini-contents: contents\[2\]"):
        list(read_document(document))
    (trace,) = read_document(document, format="gemini-contents")
    assert trace.after == (Message(role="other", text="then", name="narrator"),)


@pytest.mark.skipif(not files("gemini_contents"), reason=WHY)
def test_the_real_files_are_read():
    ((trace,),) = read_every("gemini_contents").values()
    assert trace.source_format == "gemini-contents"
    assert shape(trace) == [(1, 3), (1, 1), (1, 1), (1, 1), (1, 1)]
    assert outcomes(trace) == {("present", None), ("missing", None)}
    assert [each.result.text for _, _, each in trace.calls()] == ["cars", "penguins", "cars", "penguins", "cars", "penguins", ""]  # fmt: skip
    assert trace.steps[4].usage == Usage(prompt_tokens=679, completion_tokens=300)

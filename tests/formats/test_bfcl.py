import pytest
from pydantic import JsonValue

from formats.recorded import errors, names
from formats.shared_traces import WHY, files
from stepjudge.formats import read_bytes, read_document, read_file
from stepjudge.formats.reading.call_text import calls_in
from stepjudge.trace import Trace, Usage

REAL = files("bfcl_result")


def read(result: JsonValue, **fields: JsonValue) -> Trace:
    (trace,) = read_document({"id": "multi_turn_0", "result": result, "latency": 1.0, **fields})
    assert trace.source_format == "bfcl"
    return trace


def test_an_answer_in_python_s_syntax_is_one_step_with_its_calls():
    trace = read("[look(q='a', at=(1, 2)), api.go(n=-1.5)]", input_token_count=9, output_token_count=2)
    assert [(call.name, call.arguments) for _, _, call in trace.calls()] == [
        ("look", {"q": "a", "at": [1, 2]}),
        ("api.go", {"n": -1.5}),
    ]
    assert trace.steps[0].usage == Usage(prompt_tokens=9, completion_tokens=2)
    assert (len(trace.steps), trace.steps[0].message, trace.trace_id) == (1, "", "multi_turn_0")


@pytest.mark.parametrize("text", ["I cannot help.", "[look(q=1), 7]", "look(", "", "lambda: 0", "(" * 9000, "-" * 9000])
def test_what_is_not_calls_alone_is_a_message(text: str):
    trace = read(text)
    assert (trace.steps[0].message, trace.steps[0].calls) == (text, ())


@pytest.mark.parametrize("written", ["1, 2", "q={1}", "q=other", "q=1e999", "q=0x" + "f" * 15000, "**more"])
def test_arguments_that_are_no_json_stay_as_text(written: str):
    (call,) = [call for _, _, call in read(f"look({written})").calls()] or [None]
    assert call is None or (call.arguments_state == "unparsed" and call.arguments is None)


def test_a_fenced_answer_is_read():
    assert [call.name for call in calls_in("```python\n[look(q=1)]\n```")] == ["look"]


def test_function_calling_answers_keep_arguments_that_are_not_json():
    trace = read([{"look": '{"q": 1}'}, {"look": "{"}])
    assert [call.arguments_state for _, _, call in trace.calls()] == ["ok", "unparsed"]


def test_turns_and_steps_without_a_log_have_no_results():
    trace = read(
        [[[{"look": "{}"}], "done"], ["ok"]], input_token_count=[[1, 2], [3]], output_token_count=[[4, 5], [6]]
    )
    assert [(step.turn, step.llm_call) for step in trace.steps] == [(1, 1), (1, 2), (2, 3)]
    assert [step.usage and step.usage.prompt_tokens for step in trace.steps] == [1, 2, 3]
    assert trace.steps[0].calls[0].result.state == "missing"


def turn(question: str, *steps: list[JsonValue]) -> JsonValue:
    query: list[JsonValue] = [{"role": "user", "content": question}] if question else []
    return {"begin_of_turn_query": query, **{f"step_{number}": list(step) for number, step in enumerate(steps)}}


def says(content: JsonValue) -> JsonValue:
    return {"role": "assistant", "content": content}


def tool(content: str) -> JsonValue:
    return {"role": "tool", "content": content}


def handler(**fields: JsonValue) -> JsonValue:
    return {"role": "handler_log", "content": "log", **fields}


def test_the_inference_log_gives_questions_and_results_in_order():
    state: JsonValue = [{"role": "state_info", "class_name": "Fs", "content": {}}]
    log: JsonValue = [
        state,
        turn(
            "first",
            [says([{"look": "{}"}, {"go": "{}"}]), handler(), tool("1"), tool('{"error": "no"}')],
            [says([{"go": "{}"}]), tool("Error during execution: no")],
            [says("done"), handler(error="not calls")],
        ),
        state,
        turn("", [says("empty turn")]),
        turn("second", [says("[look(q=1)]"), tool("3")]),
    ]
    trace = read([["x"]], inference_log=log)
    assert names(trace) == [("look", "go"), ("go",), (), (), ("look",)]
    assert [call.result.text for _, _, call in trace.calls()] == [
        "1",
        '{"error": "no"}',
        "Error during execution: no",
        "3",
    ]
    assert errors(trace) == [None, True, True, None]
    assert (trace.task, [step.turn for step in trace.steps]) == ("first", [1, 1, 1, 2, 3])
    assert [message.text for message in trace.steps[4].before] == ["second"]
    assert any("could not decode" in note for note in trace.notes)


def test_what_the_file_does_not_say_is_noted():
    assert read("ok").notes == (
        "the question, the schemas of the tools and the results of the calls are not in the file",
    )


@pytest.mark.skipif(not REAL, reason=WHY)
def test_real_results_are_detected_and_read():
    for path in REAL:
        found = list(read_file(path))
        assert {trace.source_format for trace in found} == {"bfcl"}
        assert [len(trace.steps) for trace in found] == [1] * 40
        assert sum(len(step.calls) for trace in found for step in trace.steps) == 110
        assert {call.arguments_state for trace in found for _, _, call in trace.calls()} == {"ok"}
        assert all(list(read_bytes(trace.model_dump_json().encode())) == [trace] for trace in found)

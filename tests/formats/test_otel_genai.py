import json

import pytest
from pydantic import JsonValue

from formats.recorded import PARALLEL, assert_is_the_article, errors, names, only, states
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

RECORDED = files("otel_genai")


def any_value(value: JsonValue) -> JsonValue:
    """As OTLP writes it."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case list():
            return {"arrayValue": {"values": [any_value(each) for each in value]}}
        case dict():
            return {"kvlistValue": {"values": pairs(value)}}
        case _:
            return {"stringValue": value}


def pairs(attributes: JsonObject) -> list[JsonValue]:
    return [{"key": key, "value": any_value(each)} for key, each in attributes.items()]


def span(
    number: int, parent: int | None, attributes: JsonObject, *events: JsonValue, failed: bool = False
) -> JsonValue:
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{number:016x}",
        **({"parentSpanId": f"{parent:016x}"} if parent is not None else {}),
        "name": "span",
        "startTimeUnixNano": str(1_767_225_600_000_000_000 + number),
        "attributes": pairs(attributes),
        "events": list(events),
        "status": {"code": "STATUS_CODE_ERROR", "message": "it broke"} if failed else {},
    }


def chat(number: int, parent: int | None = 1, *events: JsonValue, **attributes: JsonValue) -> JsonValue:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return span(number, parent, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **named}, *events)


def tool(number: int, name: str, id: str, result: str | None = None, *, failed: bool = False) -> JsonValue:
    told: JsonObject = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": id}
    return span(
        number, 1, {**told, **({"gen_ai.tool.call.result": result} if result is not None else {})}, failed=failed
    )


def export(*spans: JsonValue) -> JsonValue:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": list(spans)}]}]}


def read(*spans: JsonValue) -> Trace:
    (trace,) = read_document(export(*spans))
    assert trace.source_format == "otel-genai"
    return trace


AGENT = span(1, None, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"})
USER: JsonValue = {"role": "user", "parts": [{"type": "text", "content": "fix it"}]}


def asks(*called: tuple[str, str, JsonValue]) -> JsonValue:
    parts = [{"type": "tool_call", "id": id, "name": name, "arguments": arguments} for id, name, arguments in called]
    return {"role": "assistant", "parts": [{"type": "text", "content": "see"}, *parts]}


def answers(id: str, response: JsonValue) -> JsonValue:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": response}]}


DONE: JsonValue = {"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}
ASKED = asks(("a", "look", {"q": 1}), ("b", "fly", "{"))


@pytest.mark.parametrize("as_text", [True, False], ids=["as JSON text", "structured"])
def test_messages_in_attributes_are_told_once_though_every_span_repeats_them(as_text: bool):
    def write(value: JsonValue) -> JsonValue:
        return json.dumps(value) if as_text else value

    given: list[JsonValue] = [USER, ASKED, answers("a", "seen"), answers("b", "no such tool")]
    trace = read(
        AGENT,
        chat(2, gen_ai__input__messages=write([USER]), gen_ai__output__messages=write([ASKED])),
        tool(3, "look", "a", "seen"),
        chat(4, gen_ai__input__messages=write(given), gen_ai__output__messages=write([DONE])),
    )
    assert names(trace) == [("look", "fly"), ()]
    assert [each.arguments or each.arguments_raw for _, _, each in trace.calls()] == [{"q": 1}, "{"]
    assert [each.result.text for _, _, each in trace.calls()] == ["seen", "no such tool"]
    assert errors(trace) == [False, None]
    assert (trace.task, trace.agent, trace.model, trace.final_output) == ("fix it", "helper", "m", "done")
    assert [step.before for step in trace.steps] == [(), ()]
    assert trace.notes == ()


def test_a_failed_tool_is_an_error_and_one_without_a_result_is_missing():
    calls = asks(("a", "look", {}), ("b", "look", {}), ("c", "look", {}))
    trace = read(
        AGENT,
        chat(2, gen_ai__input__messages=json.dumps([USER]), gen_ai__output__messages=json.dumps([calls])),
        tool(3, "look", "a", failed=True),
        tool(4, "look", "b", ""),
        tool(5, "look", "c"),
    )
    assert [(each.result.text, each.result.state, each.result.is_error) for _, _, each in trace.calls()] == [
        ("it broke", "present", True),
        ("", "empty", False),
        ("", "missing", None),
    ]


def test_instructions_tools_usage_reasoning_and_images_are_carried():
    image: JsonValue = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "QUJD"}
    said: JsonValue = {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "ok"}],
    }
    trace = read(
        chat(
            2,
            None,
            gen_ai__system_instructions=json.dumps([{"type": "text", "content": "be kind"}]),
            gen_ai__input__messages=json.dumps([{"role": "user", "parts": [image]}]),
            gen_ai__output__messages=json.dumps([said]),
            gen_ai__tool__definitions=json.dumps(
                [{"type": "function", "name": "look", "parameters": {"type": "object"}}]
            ),
            gen_ai__usage__input_tokens=9,
            gen_ai__usage__output_tokens=2,
            gen_ai__usage__cache_read__input_tokens=4,
            gen_ai__response__model="m-2026",
        )
    )
    step = trace.steps[0]
    assert (trace.system, step.message, step.reasoning, step.model) == ("be kind", "ok", "hm", "m-2026")
    assert step.usage == Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2)
    assert [each.media_type for each in trace.task_attachments] == ["image/png"]
    assert [each.name for each in trace.tools] == ["look"]


def event(name: str, **attributes: JsonValue) -> JsonValue:
    return {"name": name, "attributes": pairs(attributes)}


def test_messages_told_by_events_are_read():
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
    choice = event("gen_ai.choice", index=0, message=json.dumps({"role": "assistant", "tool_calls": [call]}))
    history = [event("gen_ai.system.message", content="be kind"), event("gen_ai.user.message", content="fix it")]
    answered = event("gen_ai.tool.message", id="a", content="seen")
    repeated = event("gen_ai.assistant.message", tool_calls=json.dumps([call]))
    done = event("gen_ai.choice", message=json.dumps({"content": "done"}))
    trace = read(AGENT, chat(2, 1, *history, choice), chat(3, 1, *history, repeated, answered, done))
    assert (trace.system, trace.task, names(trace), trace.final_output) == (
        "be kind",
        "fix it",
        [("look",), ()],
        "done",
    )
    assert [each.result.text for _, _, each in trace.calls()] == ["seen"]


def test_the_events_attribute_of_pydantic_ai_is_read():
    told = [
        {"event.name": "gen_ai.user.message", "role": "user", "content": "fix it"},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "done"}},
    ]
    trace = read(chat(2, None, events=json.dumps(told), gen_ai__usage__details__cache_read_tokens=1))
    assert (trace.task, trace.final_output) == ("fix it", "done")


def test_openllmetry_s_indexed_attributes_and_previous_names_of_usage_are_read():
    trace = read(
        span(
            2,
            None,
            {
                "llm.request.type": "chat",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "fix it",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.tool_calls.0.id": "a",
                "gen_ai.completion.0.tool_calls.0.name": "look",
                "gen_ai.completion.0.tool_calls.0.arguments": '{"q": 1}',
                "llm.request.functions.0.name": "look",
                "llm.request.functions.0.parameters": '{"type": "object"}',
                "gen_ai.usage.prompt_tokens": 9,
                "gen_ai.usage.completion_tokens": 2,
            },
        ),
        span(
            3, None, {"traceloop.span.kind": "tool", "traceloop.entity.name": "look", "traceloop.entity.output": "seen"}
        ),
    )
    assert [(each.arguments, each.result.text) for _, _, each in trace.calls()] == [({"q": 1}, "seen")]
    assert trace.steps[0].usage == Usage(prompt_tokens=9, completion_tokens=2)
    assert [each.parameters for each in trace.tools] == [{"type": "object"}]


def test_where_content_was_not_captured_the_tool_runs_stand_for_the_calls_and_that_is_noted():
    trace = read(AGENT, chat(2), tool(3, "look", "a", "seen"), chat(4))
    assert names(trace) == [("look",)]
    assert len(trace.notes) == 2
    assert all("was not recorded" in note for note in trace.notes)


def test_a_tool_run_that_no_emission_called_is_a_message():
    said = json.dumps([DONE])
    trace = read(
        AGENT,
        chat(2, gen_ai__output__messages=said),
        tool(3, "look", "a", "seen"),
        chat(4, gen_ai__output__messages=said),
    )
    assert names(trace) == [(), ()]
    assert [(message.role, message.text) for message in trace.steps[1].before] == [("tool", "seen")]


def test_earlier_emissions_that_the_log_has_no_span_for_stand_as_messages():
    given: list[JsonValue] = [USER, asks(("z", "look", {})), answers("z", "old"), USER]
    trace = read(chat(2, None, gen_ai__input__messages=json.dumps(given), gen_ai__output__messages=json.dumps([DONE])))
    assert [(message.role, message.text) for message in trace.steps[0].before] == [
        ("tool", "old"),
        ("assistant", "see\nlook({})"),
        ("user", "fix it"),
    ]
    assert len(trace.steps) == 1


def test_spans_of_anything_else_are_refused_with_what_is_missing():
    with pytest.raises(UnreadableTrace, match=r"otel-genai: its spans have no attributes named `gen_ai\.\*`"):
        list(read_document(export(span(1, None, {"http.method": "GET"}))))


@pytest.mark.skipif(not RECORDED, reason=WHY)
def test_recordings_tell_the_published_run():
    for path in RECORDED:
        trace = only(path, "otel-genai")
        if "article" in path.name:
            assert_is_the_article(trace)
            assert [len(step.calls) for step in trace.steps] == [1] * 7 + [0]
        else:
            assert names(trace) == [*PARALLEL, ()]
        assert (set(states(trace)), set(errors(trace))) == ({"present"}, {False})
        assert [tool.name for tool in trace.tools] == ["terminal", "file_editor"]
        assert trace.usage is not None

import base64
import json

import pytest
from pydantic import JsonValue

from formats.recorded import ARTICLE, PARALLEL, assert_is_the_article, errors, names, only, states
from formats.shared_traces import WHY, files
from stepjudge.formats import read_bytes, read_document
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

RECORDED = files("openinference")
TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(
    number: int, kind: str, parent: int | None = 1, stated: JsonObject | None = None, *, name: str = "", **more: str
) -> JsonObject:
    """As OpenTelemetry's SDK writes it. Dots in names of attributes are written as `__`."""
    named = {key.replace("__", "."): value for key, value in {**(stated or {}), **more}.items()}
    return {
        "name": name or kind.lower(),
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{number:016x}"},
        "parent_id": f"0x{parent:016x}" if parent is not None else None,
        "start_time": f"2026-01-01T00:00:{number:02}.000000Z",
        "status": {"status_code": "OK"},
        "attributes": {"openinference.span.kind": kind, **named},
        "events": [],
    }


def message(
    side: str, place: int, role: str, content: str | None = None, fields: JsonObject | None = None, **more: str
) -> JsonObject:
    prefix = f"llm.{side}_messages.{place}.message."
    told: JsonObject = {"role": role, "content": content, **(fields or {}), **more}
    return {f"{prefix}{key.replace('__', '.')}": value for key, value in told.items()}


def calls(*called: tuple[str, str, str]) -> JsonObject:
    """Each by id, name and arguments."""
    told: JsonObject = {}
    for place, (id, name, arguments) in enumerate(called):
        prefix = f"tool_calls__{place}__tool_call__"
        told |= {f"{prefix}id": id, f"{prefix}function__name": name, f"{prefix}function__arguments": arguments}
    return told


TASK = message("input", 0, "user", "fix it")
AGENT = span(1, "AGENT", None, name="helper")


def read(*spans: JsonValue) -> Trace:
    (trace,) = read_document(list(spans))
    assert trace.source_format == "openinference"
    return trace


def model(number: int, *stated: JsonObject, parent: int = 1, **more: str) -> JsonObject:
    merged = {key: value for each in stated for key, value in each.items()}
    return span(number, "LLM", parent, merged, **more)


def test_calls_come_from_the_model_with_its_arguments_and_not_from_tool_spans():
    asked = message("output", 0, "assistant", "see", calls(("a", "look", '{"cmd": "x"}'), ("b", "fly", "{")))
    told = message("input", 1, "assistant", "see", calls(("a", "look", '{"cmd": "x"}'), ("b", "fly", "{")))
    answered = message("input", 2, "tool", "no such tool", tool_call_id="b")
    trace = read(
        AGENT,
        model(2, TASK, asked),
        span(3, "TOOL", tool__name="look", input__value="x", output__value="seen"),
        model(4, TASK, told, answered, message("output", 0, "assistant", "done")),
    )
    assert names(trace) == [("look", "fly"), ()]
    assert [each.arguments or each.arguments_raw for _, _, each in trace.calls()] == [{"cmd": "x"}, "{"]
    assert [each.result.text for _, _, each in trace.calls()] == ["seen", "no such tool"]
    assert errors(trace) == [False, None]
    assert (trace.task, trace.agent, trace.trace_id) == ("fix it", "helper", TRACE)


def test_a_failed_tool_span_is_an_error_and_gives_what_was_raised():
    failed: JsonValue = {
        **span(3, "TOOL", tool__name="look"),
        "status": {"status_code": "ERROR", "description": "E"},
        "events": [{"name": "exception", "attributes": {"exception.message": "no such file"}}],
    }
    asked = message("output", 0, "assistant", None, calls(("a", "look", "{}")))
    (result,) = [each.result for _, _, each in read(AGENT, model(2, TASK, asked), failed).calls()]
    assert (result.text, result.is_error) == ("no such file", True)


def test_parallel_tool_spans_out_of_order_find_their_calls_by_arguments():
    asked = message("output", 0, "assistant", None, calls(("a", "look", '{"q": "1"}'), ("b", "look", '{"q": "2"}')))
    trace = read(
        AGENT,
        model(2, TASK, asked),
        span(3, "TOOL", tool__name="look", input__value="2", output__value="two"),
        span(4, "TOOL", tool__name="look", input__value='{"q": "1"}', output__value="one"),
    )
    assert [each.result.text for _, _, each in trace.calls()] == ["one", "two"]


def test_the_status_of_langchain_is_found_where_the_instrumentation_keeps_it():
    kept = json.dumps({"messages": [[{"type": "tool", "content": "E", "tool_call_id": "a", "status": "error"}]]})
    asked = message("output", 0, "assistant", None, calls(("a", "look", "{}")))
    told = {
        **message("input", 1, "assistant", None, calls(("a", "look", "{}"))),
        **message("input", 2, "tool", "E", tool_call_id="a"),
    }
    second = model(3, TASK, told, message("output", 0, "assistant", "done"), input__value=kept)
    assert errors(read(AGENT, model(2, TASK, asked), second)) == [True]


def test_a_sub_agent_nests_below_its_tool_and_a_doubled_model_span_counts_once():
    asked = message("output", 0, "assistant", None, calls(("a", "ask", "{}")))
    trace = read(
        AGENT,
        model(2, TASK, asked),
        model(3, TASK, asked, parent=2),
        span(4, "TOOL", tool__name="ask", output__value="done"),
        span(5, "AGENT", 4, name="helper's helper"),
        model(6, TASK, message("output", 0, "assistant", "inner"), parent=5),
    )
    assert len(trace.steps) == 1
    (inner,) = trace.steps[0].calls[0].subtraces
    assert [(step.message, step.agent) for step in inner.steps] == [("inner", "helper's helper")]


def test_judges_of_the_run_are_no_part_of_it():
    judge = span(3, "EVALUATOR")
    trace = read(
        AGENT,
        model(2, TASK, message("output", 0, "assistant", "done")),
        judge,
        model(4, message("output", 0, "assistant", "correct"), parent=3),
    )
    assert [step.message for step in trace.steps] == ["done"]
    assert "1 spans that judge or guard the agent were left out, with what is below them" in trace.notes


def test_without_model_spans_each_span_that_ran_tools_is_a_step_and_that_is_noted():
    trace = read(
        AGENT,
        span(2, "CHAIN"),
        span(3, "TOOL", 2, tool__name="look", input__value='{"q": 1}', output__value="A"),
        span(4, "TOOL", 2, tool__name="look", input__value='{"q": 2}'),
        span(5, "CHAIN"),
        span(6, "TOOL", 5, tool__name="go", output__value=""),
    )
    assert names(trace) == [("look", "look"), ("go",)]
    assert states(trace) == ["present", "missing", "empty"]
    assert any("no model spans" in note for note in trace.notes)


def test_parts_reasoning_tools_usage_and_cost_are_carried():
    parts: JsonObject = {
        "contents__0__message_content__type": "reasoning",
        "contents__0__message_content__text": "hm",
        "contents__1__message_content__type": "text",
        "contents__1__message_content__text": "ok",
    }
    image: JsonObject = {
        "contents__0__message_content__type": "image",
        "contents__0__message_content__image__image__url": "data:image/png;base64,QUJD",
    }
    stated: JsonObject = {
        "llm.model_name": "m",
        "llm.token_count.prompt": 9,
        "llm.token_count.completion": 2,
        "llm.token_count.prompt_details.cache_read": 4,
        "llm.cost.total": 0.5,
        "llm.tools.0.tool.json_schema": '{"name": "look", "parameters": {"type": "object"}}',
    }
    said = message("output", 0, "assistant", None, parts)
    trace = read(model(2, message("input", 0, "user", None, image), said, stated))
    step = trace.steps[0]
    assert (step.message, step.reasoning, step.model) == ("ok", "hm", "m")
    assert step.usage == Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2, cost_usd=0.5)
    assert [tool.parameters for tool in trace.tools] == [{"type": "object"}]
    assert [each.media_type for each in trace.task_attachments] == ["image/png"]


def otlp(spans: list[JsonObject], encode: bool = False) -> JsonObject:
    def id_of(value: JsonValue) -> JsonValue:
        text = str(value).removeprefix("0x")
        return base64.b64encode(bytes.fromhex(text)).decode() if encode else text

    written: list[JsonValue] = []
    for each in spans:
        context, attributes = each["context"], each["attributes"]
        assert isinstance(context, dict)
        assert isinstance(attributes, dict)
        pairs: list[JsonValue] = [
            {"key": key, "value": {"stringValue": value}} for key, value in attributes.items() if value is not None
        ]
        parent: JsonObject = {"parentSpanId": id_of(each["parent_id"])} if each["parent_id"] else {}
        seconds = int(str(context["span_id"]), 16)
        written.append(
            {
                "traceId": id_of(context["trace_id"]),
                "spanId": id_of(context["span_id"]),
                **parent,
                "startTimeUnixNano": str((1_767_225_600 + seconds) * 10**9),
                "name": each["name"],
                "attributes": pairs,
                "status": {"code": 2},
            }
        )
    return {"resourceSpans": [{"scopeSpans": [{"spans": written}]}]}


def phoenix(spans: list[JsonObject]) -> list[JsonValue]:
    return [{**each, "span_kind": "LLM", "status_code": "OK"} for each in spans]


RUN = [AGENT, model(2, TASK, message("output", 0, "assistant", "see", calls(("a", "look", '{"q": 1}'))))]


def test_the_same_spans_tell_the_same_in_every_export():
    frame: list[JsonValue] = [
        {
            "name": "llm",
            "context.trace_id": TRACE,
            "context.span_id": f"{2:016x}",
            "parent_id": f"{1:016x}",
            "start_time": "2026-01-01T00:00:02Z",
            "attributes.openinference.span.kind": "LLM",
            "attributes.llm.input_messages": [{"message.role": "user", "message.content": "fix it"}],
            "attributes.llm.output_messages": [
                {
                    "message.role": "assistant",
                    "message.content": "see",
                    "message.tool_calls": [
                        {
                            "tool_call.id": "a",
                            "tool_call.function.name": "look",
                            "tool_call.function.arguments": '{"q": 1}',
                        }
                    ],
                }
            ],
        }
    ]
    documents: list[JsonValue] = [otlp(RUN), otlp(RUN, encode=True), {"data": phoenix(RUN[1:])}, frame]
    expected = read(*RUN)
    for document in documents:
        (trace,) = read_document(document)
        assert trace.source_format == "openinference"
        assert (trace.trace_id, trace.task, names(trace)) == (expected.trace_id, "fix it", [("look",)])
        assert trace.steps[0].calls == expected.steps[0].calls


def test_lines_that_hold_parts_of_one_trace_are_read_together():
    lines = [json.dumps(otlp([each])) for each in RUN]
    (trace,) = read_bytes("\n".join(lines).encode())
    assert (trace.agent, names(trace)) == ("helper", [("look",)])


def test_an_export_of_several_traces_gives_each_of_them_and_tells_of_those_that_are_none():
    other = {**RUN[1], "context": {"trace_id": "0x2", "span_id": "0x2"}, "parent_id": None}
    noise = {**span(3, "RETRIEVER", None), "context": {"trace_id": "0x3", "span_id": "0x3"}}
    found = list(read_document([*RUN, other, noise]))
    assert [trace.trace_id for trace in found] == [TRACE, "2"]
    assert all("1 traces of the export are no agents' runs and were left out" in trace.notes for trace in found)


def test_spans_that_are_each_other_s_parents_are_read_once():
    circle = [model(2, TASK, message("output", 0, "assistant", "a"), parent=3), span(3, "CHAIN", 2)]
    assert [step.message for step in read(*circle).steps] == ["a"]


@pytest.mark.skipif(not RECORDED, reason=WHY)
def test_recordings_tell_the_published_run():
    for path in RECORDED:
        trace = only(path, "openinference")
        last: list[tuple[str, ...]] = [] if "openai_agents" in path.name else [()]
        if "article" in path.name:
            assert_is_the_article(trace)
            assert [len(step.calls) for step in trace.steps] == [1] * len(ARTICLE) + [len(each) for each in last]
        else:
            assert names(trace) == [*PARALLEL, *last]
        assert (set(states(trace)), set(errors(trace))) == ({"present"}, {False})
        assert [tool.name for tool in trace.tools] == ["terminal", "file_editor"]

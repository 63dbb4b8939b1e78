"""MLflow traces: what clients of several providers sent and got, as MLflow's tracing keeps it."""

import json
from base64 import b64encode
from typing import Any

import pytest

from stepjudge.formats import read_document
from stepjudge.trace import Trace

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def span(number: int, kind: str, name: str, inputs: Any, outputs: Any = None, **more: Any) -> dict[str, Any]:
    """As `Span.to_dict` writes it: ids in base64, every attribute as JSON text."""
    stated = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs}
    return {
        "trace_id": b64encode(b"t" * 16).decode(),
        "span_id": b64encode(bytes([number]) * 8).decode(),
        "parent_span_id": None if number == 1 else b64encode(b"\1" * 8).decode(),
        "name": name,
        "start_time_unix_nano": 1_796_126_690_000_000_000 + number,
        "events": [],
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {key: json.dumps(value) for key, value in {**stated, **more}.items() if value is not None},
    }


def failed(spoken: dict[str, Any], why: str) -> dict[str, Any]:
    event = {"name": "exception", "attributes": {"exception.message": why}}
    return {**spoken, "status": {"code": "STATUS_CODE_ERROR", "message": f"ValueError: {why}"}, "events": [event]}


def trace_of(*spans: dict[str, Any]) -> Trace:
    (trace,) = read_document({"info": {"trace_id": "tr-1"}, "data": {"spans": list(spans)}})
    return trace


AGENT = span(1, "AGENT", "helper", {"question": "Weather in Lima?"}, "18 degrees")
WEATHER = span(3, "TOOL", "weather", {"city": "Lima"}, "18 degrees")

ASKED = {"role": "user", "content": "Weather in Lima?"}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lima"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "18 degrees"}
OPENAI_CHAT = (
    ({"messages": [ASKED], "tools": [TOOL]}, {"choices": [{"message": CALLING}]}),
    ({"messages": [ASKED, CALLING, RESULT]}, {"choices": [{"message": {"role": "assistant", "content": "18."}}]}),
)
USES = [{"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Lima"}}]
ANTHROPIC = (
    ({"messages": [ASKED], "tools": [{"name": "weather"}]}, {"role": "assistant", "content": USES}),
    (
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": USES},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "18 degrees"}]},
            ]
        },
        {"role": "assistant", "content": [{"type": "text", "text": "18."}]},
    ),
)
CALL_ITEM = {"type": "function_call", "call_id": "a", "name": "weather", "arguments": '{"city": "Lima"}'}
RESPONSES = (
    ({"input": "Weather in Lima?", "tools": [{"type": "function", "name": "weather"}]}, {"output": [CALL_ITEM]}),
    (
        {"input": [ASKED, CALL_ITEM, {"type": "function_call_output", "call_id": "a", "output": "18 degrees"}]},
        {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "18."}]}]},
    ),
)
HUMAN = {"type": "human", "content": "Weather in Lima?"}
AI = {"type": "ai", "content": "", "tool_calls": [{"name": "weather", "args": {"city": "Lima"}, "id": "a"}]}
LANGCHAIN = (
    ([[HUMAN]], {"generations": [[{"message": AI}]]}),
    (
        [[HUMAN, AI, {"type": "tool", "content": "18 degrees", "tool_call_id": "a"}]],
        {"generations": [[{"message": {"type": "ai", "content": "18."}}]]},
    ),
)


@pytest.mark.parametrize(
    "dialogue", [OPENAI_CHAT, ANTHROPIC, RESPONSES, LANGCHAIN], ids=["chat", "anthropic", "responses", "langchain"]
)
def test_what_each_provider_was_sent_and_answered_is_read_alike(dialogue: Any) -> None:
    (first, calls), (second, says) = dialogue
    tools = {"mlflow.chat.tools": [TOOL]} if dialogue is LANGCHAIN else {}
    trace = trace_of(
        AGENT,
        span(2, "CHAT_MODEL", "model", first, calls, **tools),
        WEATHER,
        span(4, "CHAT_MODEL", "model", second, says),
    )

    assert (trace.source_format, trace.trace_id, trace.agent, trace.notes) == ("mlflow", "tr-1", "helper", ())
    assert (trace.task, trace.final_output) == ("Weather in Lima?", "18.")
    assert [tool.name for tool in trace.tools] == ["weather"]
    calling, final = trace.steps
    assert [(call.name, call.arguments, call.result.text, call.result.is_error) for call in calling.calls] == [
        ("weather", {"city": "Lima"}, "18 degrees", False)
    ]
    assert (final.message, final.calls) == ("18.", ())


def test_a_tool_that_failed_is_an_error_and_an_unknown_tool_has_the_harness_own_answer() -> None:
    trace = trace_of(
        AGENT,
        span(2, "CHAT_MODEL", "model", {"messages": [ASKED]}, {"choices": [{"message": CALLING}]}),
        failed(span(3, "TOOL", "weather", {"city": "Lima"}), "no such city"),
    )
    result = trace.steps[0].calls[0].result
    assert (result.text, result.is_error) == ("no such city", True)

    told = {**RESULT, "content": "unknown tool"}
    trace = trace_of(
        AGENT,
        span(2, "CHAT_MODEL", "model", {"messages": [ASKED]}, {"choices": [{"message": CALLING}]}),
        span(4, "CHAT_MODEL", "model", {"messages": [ASKED, CALLING, told]}, "18."),
    )
    assert trace.steps[0].calls[0].result.text == "unknown tool"


def test_a_judge_among_the_spans_is_left_out_and_tokens_and_money_are_kept() -> None:
    counted = {"mlflow.chat.tokenUsage": {"input_tokens": 7, "output_tokens": 2, "cache_read_input_tokens": 3}}
    trace = trace_of(
        AGENT,
        span(2, "CHAT_MODEL", "m", {"messages": [ASKED]}, "18.", **counted, **{"mlflow.llm.cost": {"total_cost": 0.5}}),
        span(5, "EVALUATOR", "judge", {}, {"score": 1}),
    )
    usage = trace.steps[0].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.cost_usd) == (7, 2, 3, 0.5)
    assert len(trace.steps) == 1
    assert "1 spans that judge or guard" in trace.notes[0]

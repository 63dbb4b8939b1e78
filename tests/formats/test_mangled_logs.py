"""Whatever is done to a log of model calls or of a benchmark, reading it gives traces or UnreadableTrace."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from formats.test_hostile import JSON_VALUES
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import formats, read_bytes, read_document

calm = settings(deadline=None, max_examples=80)

LANGCHAIN: list[JsonValue] = [
    {"type": "human", "content": "fix"},
    {
        "type": "ai",
        "content": [{"type": "text", "text": "see"}, {"type": "thinking", "thinking": "hm"}],
        "tool_calls": [{"name": "look", "args": {"q": 1}, "id": "a"}],
        "invalid_tool_calls": [{"name": "look", "args": "{", "id": "b"}],
        "additional_kwargs": {"tool_calls": [{"id": "b"}]},
        "usage_metadata": {"input_tokens": 1, "input_token_details": {"cache_read": 1}},
        "response_metadata": {"model_name": "m"},
    },
    {"type": "tool", "content": "A", "tool_call_id": "a", "status": "error"},
    {"lc": 1, "type": "constructor", "id": ["x", "AIMessage"], "kwargs": {"content": "done"}},
]
LANGSMITH: JsonValue = [
    {
        "id": "r",
        "trace_id": "r",
        "run_type": "chain",
        "outputs": {"messages": LANGCHAIN},
        "dotted_order": "20260101T0Zr",
    },
    {
        "id": "l",
        "trace_id": "r",
        "parent_run_id": "r",
        "run_type": "llm",
        "inputs": {"prompts": ["System: s\nHuman: fix"]},
        "outputs": {"generations": [[{"message": LANGCHAIN[1]}]]},
        "extra": {"invocation_params": {"tools": [{"name": "look"}]}, "metadata": {}},
        "total_cost": "0.1",
    },
    {"id": "t", "trace_id": "r", "parent_run_id": "r", "run_type": "tool", "name": "look", "outputs": {"output": "x"}},
]
OPENINFERENCE: JsonValue = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "5KxGOAb7WN/4ZvJFiBf+6A==",
                            "spanId": "LW/jtzJEjY4=",
                            "name": "m",
                            "startTimeUnixNano": "1767225600000000000",
                            "attributes": [
                                {"key": key, "value": {"stringValue": value}}
                                for key, value in {
                                    "openinference.span.kind": "LLM",
                                    "llm.input_messages.0.message.role": "user",
                                    "llm.input_messages.0.message.contents.0.message_content.text": "fix",
                                    "llm.output_messages.0.message.role": "assistant",
                                    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "a",
                                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
                                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
                                    "llm.tools.0.tool.json_schema": '{"name": "look"}',
                                }.items()
                            ],
                        },
                        {
                            "traceId": "5KxGOAb7WN/4ZvJFiBf+6A==",
                            "spanId": "AkPoHwI7Svk=",
                            "parentSpanId": "LW/jtzJEjY4=",
                            "attributes": [{"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}}],
                            "events": [
                                {"name": "exception", "attributes": [{"key": "exception.message", "value": {}}]}
                            ],
                            "status": {"code": 2},
                        },
                    ]
                }
            ],
        }
    ]
}
_SAID: JsonValue = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "a", "name": "look", "arguments": {}}]}]
GENAI: JsonValue = [
    {
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "start_time": "2026-01-01T00:00:00Z",
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "fix"}]}]),
            "gen_ai.output.messages": _SAID,
            "gen_ai.tool.definitions": [{"name": "look"}],
            "gen_ai.usage.input_tokens": 3,
            "events": json.dumps([{"event.name": "gen_ai.choice", "message": {"content": "x"}}]),
        },
    },
    {
        "context": {"trace_id": "0x1", "span_id": "0x3"},
        "parent_id": "0x2",
        "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "a"},
        "events": [{"name": "gen_ai.choice", "attributes": {"message": '[{"text": "x"}]'}}],
    },
]
INSPECT: JsonValue = {
    "eval": {"task": "t", "model": "m", "run_id": "r"},
    "plan": {},
    "samples": [
        {
            "id": 1,
            "epoch": 1,
            "messages": [
                {"role": "user", "content": "attachment://x"},
                {
                    "role": "assistant",
                    "id": "m1",
                    "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "image", "image": "data:x"}],
                    "tool_calls": [{"id": "a", "function": "ask", "arguments": {}, "parse_error": "no"}],
                },
                {"role": "tool", "tool_call_id": "a", "function": "ask", "content": "", "error": {"type": "timeout"}},
            ],
            "events": [
                {"event": "span_begin", "id": "s", "parent_id": None, "type": "tool", "name": "ask"},
                {"event": "tool", "id": "a", "function": "ask", "agent_span_id": "s", "result": "x", "truncated": [1]},
                {
                    "event": "model",
                    "span_id": "s",
                    "input_refs": [[0, 1]],
                    "output": {"choices": [{"message": {"role": "assistant", "id": "m9", "content": "in"}}]},
                },
            ],
            "events_data": {"messages": [{"role": "user", "content": "hi"}]},
            "attachments": {"x": "long"},
            "model_usage": {"m": {"input_tokens": 1}},
        }
    ],
}
_CHAT: list[JsonValue] = [
    {"role": "user", "content": "fix"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": "{"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "Error: no"},
]
TAU: JsonValue = [{"task_id": 1, "reward": 1.0, "info": {}, "traj": _CHAT, "trial": 0}]
TAU2: JsonValue = {
    "tasks": [{"id": "1"}],
    "info": {"environment_info": {"policy": "p", "tool_defs": {"look": {"name": "look", "params": {}}}}},
    "simulations": [
        {
            "id": "s",
            "task_id": "1",
            "termination_reason": "x",
            "messages": [
                {"role": "assistant", "content": "hi"},
                {"role": "user", "content": "fix", "tool_calls": [{"name": "x", "arguments": {}}]},
                {"role": "assistant", "tool_calls": [{"id": "a", "name": "look", "arguments": {}}], "usage": {}},
                {"role": "tool", "tool_messages": [{"role": "tool", "id": "a", "content": "x", "error": True}]},
            ],
        }
    ],
}
BFCL: JsonValue = {
    "id": "m_0",
    "result": [[[{"look": "{}"}], "[look(q=1)]"]],
    "input_token_count": [[1, 2]],
    "inference_log": [
        [{"role": "state_info"}],
        {
            "begin_of_turn_query": [{"role": "user", "content": "fix"}],
            "step_0": [
                {"role": "assistant", "content": [{"look": "{}"}]},
                {"role": "handler_log", "model_response_decoded": ["look()"], "error": "x"},
                {"role": "tool", "content": '{"error": "no"}'},
            ],
        },
    ],
}
LABELLED: JsonValue = {"messages": _CHAT, "tools": [], "step_labels": {"1": 1}, "final_label": 1, "query_index": 0}
WHO: JsonValue = {
    "history": [{"role": "A (-> B)", "content": "x"}, "y"],
    "mistake_agent": "A",
    "system_prompt": {"A": "p"},
}
_SIDES: list[tuple[str, JsonValue]] = [
    ("start", {"messages": _CHAT[:1]}),
    ("end", {"content": "x", "usage": {"prompt_tokens": 1}}),
]
ATOF: JsonValue = [
    {"kind": "scope", "atof_version": "0.1", "uuid": "1", "scope_category": side, "category": "llm", "data": data}
    for side, data in _SIDES
]
MLFLOW: JsonValue = {
    "info": {"trace_id": "tr-1"},
    "data": {
        "spans": [
            {
                "trace_id": "dA==",
                "span_id": "cQ==",
                "parent_span_id": None,
                "name": "model",
                "status": {"code": "STATUS_CODE_OK"},
                "attributes": {
                    "mlflow.spanType": '"CHAT_MODEL"',
                    "mlflow.spanInputs": json.dumps({"messages": _CHAT[:1]}),
                    "mlflow.spanOutputs": json.dumps({"choices": [{"message": {"role": "assistant", "content": "x"}}]}),
                },
            },
        ]
    },
}
DOCUMENTS: dict[str, JsonValue] = {
    "mlflow": MLFLOW,
    "langchain": LANGCHAIN,
    "langsmith": LANGSMITH,
    "openinference": OPENINFERENCE,
    "otel-genai": GENAI,
    "inspect": INSPECT,
    "tau-bench": TAU,
    "tau2": TAU2,
    "bfcl": BFCL,
    "agent-process-bench": LABELLED,
    "who-and-when": WHO,
    "nat-atof": ATOF,
}


def mangled(draw: st.DrawFn, value: JsonValue) -> JsonValue:
    """With something in it replaced, left out, repeated or put into another order."""
    go_down = draw(st.integers(0, 7)) > 0
    match value:
        case dict() if value and go_down:
            key = draw(st.sampled_from(sorted(value)))
            return {**value, key: mangled(draw, value[key])}
        case list() if value and go_down:
            index = draw(st.integers(0, len(value) - 1))
            return [*value[:index], mangled(draw, value[index]), *value[index + 1 :]]
        case list() if value:
            return draw(st.permutations(value) | st.just(value[1:]) | st.just(value + value))
        case dict() if value:
            gone = draw(st.sampled_from(sorted(value)))
            return {key: member for key, member in value.items() if key != gone}
        case _:
            return draw(JSON_VALUES)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_of_its_format_and_survives_writing(name: str):
    (trace,) = read_document(DOCUMENTS[name])
    assert trace.source_format == name
    assert list(read_bytes(trace.model_dump_json().encode())) == [trace]
    strengths = sorted(each.detect(DOCUMENTS[name]).strength for each in formats())
    assert strengths[-1] > strengths[-2]


@pytest.mark.parametrize("name", DOCUMENTS)
@given(data=st.data())
@calm
def test_a_mangled_document_is_read_or_refused_and_what_is_read_survives_writing(name: str, data: st.DataObject):
    document: JsonValue = json.loads(json.dumps(DOCUMENTS[name]))
    for _ in range(data.draw(st.integers(1, 4))):
        document = data.draw(st.composite(mangled)(document))
    try:
        found = list(read_document(document, format=name))
    except UnreadableTrace:
        return
    for trace in found:
        assert list(read_bytes(trace.model_dump_json().encode())) == [trace]

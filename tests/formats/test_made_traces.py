"""Traces are put together without being checked anew, so here they are checked: what is made is what would be validated."""

import hashlib
import json
from collections.abc import Iterator
from typing import cast

import pytest
from pydantic import JsonValue

from stepjudge.formats import read_bytes, read_document
from stepjudge.formats.reading.content_id import content_id
from stepjudge.trace import Trace
from stepjudge.value import Value

_PICTURE = "data:image/png;base64,AAAA"
CHAT: JsonValue = {
    "tools": [{"function": {"name": "look", "parameters": {"type": "object", "z": 1e-5, "a": [1e22, 0.1]}}}],
    "messages": [
        {"role": "system", "content": 'be kind \x00\x1f\x7f\u2028\ufeff "quoted" \\ é 😀'},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": _PICTURE}}, {"text": "see"}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "odd": {"z": [1, 2.0, None], "a": {"é": True}},
            "usage": {"prompt_tokens": 3, "cost": 1},
            "tool_calls": [
                {"id": "a", "function": {"name": "look", "arguments": '{"q": 1e-7, "b": {"d": 1, "c": -0.0}}'}},
                {"id": "b", "function": {"name": "look", "arguments": {"n": 123456789012345678901234567890}}},
                {"id": "c", "function": {"name": "look", "arguments": "{"}},
                {"id": "d", "function": {"name": "look", "arguments": {}}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "tool", "tool_call_id": "b", "content": "x" * 5000},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "user", "name": "ann", "content": "go on"},
        {"role": "assistant", "content": "done"},
        {"role": "tool", "content": "nobody asked"},
    ],
}
ATIF: JsonValue = {
    "schema_version": "ATIF-v1.7",
    "agent": {"name": "a", "version": "1"},
    "steps": [
        {
            "step_id": 1,
            "source": "agent",
            "message": "m",
            "timestamp": "2026-01-01T00:00:00Z",
            "tool_calls": [{"tool_call_id": "a", "function_name": "f", "arguments": {"q": [1]}, "extra": {"e": 1.5}}],
            "observation": {"results": [{"source_call_id": "a", "subagent_trajectory_ref": [{"trajectory_id": "c"}]}]},
            "metrics": {"prompt_tokens": 1, "cost_usd": 1},
        },
        {"step_id": 2, "source": "agent", "message": "", "observation": {"results": [{"content": "seen"}]}},
    ],
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.7",
            "trajectory_id": "c",
            "agent": {"name": "b"},
            "steps": [{"step_id": 1, "source": "agent", "message": "hi"}],
        }
    ],
}


def values(value: object) -> Iterator[Value]:
    if isinstance(value, Value):
        yield value
        yield from values(tuple(value.__dict__.values()))
    elif isinstance(value, tuple):
        for each in cast("tuple[object, ...]", value):  # isinstance does not tell of what
            yield from values(each)


@pytest.fixture(params=[CHAT, ATIF], ids=["chat", "atif"])
def trace(request: pytest.FixtureRequest) -> Trace:
    (found,) = read_bytes(json.dumps(request.param).encode())
    return found


def test_a_trace_has_the_types_and_the_order_that_validation_gives(trace: Trace):
    again = Trace.model_validate_json(trace.model_dump_json())
    assert again == trace
    assert repr(again) == repr(trace)
    assert again.model_dump_json() == trace.model_dump_json()


def test_every_value_in_a_trace_has_all_members_in_the_order_of_its_class(trace: Trace):
    found = list(values(trace))
    assert len(found) > 5
    assert all(list(each.__dict__) == list(type(each).model_fields) for each in found)


def test_a_value_in_a_trace_is_frozen_and_can_be_copied(trace: Trace):
    step = trace.steps[0]
    assert step.model_copy(deep=True) == step
    assert step.model_copy(update={"message": "other"}).message == "other"
    with pytest.raises(ValueError, match="frozen"):
        step.message = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_the_content_id_is_the_digest_of_plain_sorted_json(trace: Trace):
    told = trace.model_dump(mode="json", include={"system", "task", "task_attachments", "tools", "steps", "after"})
    written = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert content_id(trace) == f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"


def test_every_character_is_spelt_in_a_content_id_as_json_spells_it():
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000, 37)]))
    (trace,) = read_document([{"role": "user", "content": text}, {"role": "assistant", "content": "done"}])
    told = trace.model_dump(mode="json", include={"system", "task", "task_attachments", "tools", "steps", "after"})
    written = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert trace.trace_id == f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"


def test_a_trace_does_not_change_with_the_document_it_was_read_from():
    document = json.loads(json.dumps(CHAT))
    (trace,) = read_document(document)
    before = trace.model_dump_json()
    emission = document["messages"][2]
    emission["odd"]["z"].append(9)
    emission["tool_calls"][1]["function"]["arguments"]["n"] = 0
    document["tools"][0]["function"]["parameters"]["a"].append(0)
    assert trace.model_dump_json() == before

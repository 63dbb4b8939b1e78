"""Whatever is done to a document, reading it gives traces or UnreadableTrace, and nothing else."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats import formats, read_bytes, read_document
from stepjudge.formats.to_atif import to_atif
from stepjudge.trace import Trace

settings.register_profile("formats", deadline=None, max_examples=150)
calm = settings.get_profile("formats")

CHAT: JsonValue = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
    "messages": [
        {"role": "system", "content": "be kind"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}},
                {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{"}},
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {"role": "tool", "tool_call_id": "a", "name": "look", "content": [{"type": "text", "text": "A"}]},
        {"role": "assistant", "function_call": {"name": "go", "arguments": "{}"}},
        {"role": "function", "name": "go", "content": "went"},
        {"role": "assistant", "content": "done", "refusal": None, "reasoning_content": "hm"},
    ],
}
ATIF: JsonValue = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s",
    "agent": {"name": "a", "version": "1", "tool_definitions": [{"function": {"name": "look"}}]},
    "steps": [
        {"step_id": 1, "source": "user", "message": "fix", "is_copied_context": True},
        {
            "step_id": 2,
            "source": "agent",
            "message": [{"type": "text", "text": "see"}, {"type": "image", "source": {"path": "p"}}],
            "tool_calls": [{"tool_call_id": "a", "function_name": "look", "arguments": {"q": 1}, "extra": {}}],
            "observation": {
                "results": [
                    {"source_call_id": "a", "content": "A", "subagent_trajectory_ref": [{"trajectory_id": "child"}]}
                ]
            },
            "metrics": {"prompt_tokens": 1, "cost_usd": 0.1},
            "llm_call_count": 2,
            "extra": {"tool_errors": [{"tool_call_id": "a"}]},
        },
        {"step_id": 3, "source": "agent", "message": "done"},
    ],
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.7",
            "trajectory_id": "child",
            "agent": {"name": "b", "version": "1"},
            "steps": [{"step_id": 1, "source": "agent", "message": "hi"}],
        }
    ],
    "final_metrics": {"total_prompt_tokens": 1},
}
CANONICAL: JsonValue = next(iter(read_document(ATIF))).model_dump(mode="json")
DOCUMENTS = st.sampled_from([CHAT, ATIF, CANONICAL])

_SURROGATES = st.text(st.characters(categories=["Cs", "Cc", "Lu"]), max_size=4)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | _SURROGATES
JSON_VALUES = st.recursive(
    _LEAVES | st.sampled_from(['{"a": NaN}', "[[", '{"a": 1, "a": 2}', "9" * 5000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "type", "text"]), inner),
    max_leaves=6,
)


@st.composite
def mangled(draw: st.DrawFn) -> JsonValue:
    """A document of which some values were replaced, left out, repeated or put into another order."""
    document: JsonValue = json.loads(json.dumps(draw(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        document = _mangle(draw, document)
    return document


def _mangle(draw: st.DrawFn, value: JsonValue) -> JsonValue:
    go_down = draw(st.integers(0, 3)) > 0
    match value:
        case dict() if value and go_down:
            key = draw(st.sampled_from(sorted(value)))
            return {**value, key: _mangle(draw, value[key])}
        case list() if value and go_down:
            index = draw(st.integers(0, len(value) - 1))
            return [*value[:index], _mangle(draw, value[index]), *value[index + 1 :]]
        case list() if value:
            return draw(st.permutations(value) | st.just(value[1:]) | st.just(value + value))
        case dict() if value:
            gone = draw(st.sampled_from(sorted(value)))
            return {key: member for key, member in value.items() if key != gone}
        case _:
            return draw(JSON_VALUES)


def attempt(data: bytes) -> list[Trace]:
    try:
        return list(read_bytes(data))
    except UnreadableTrace:
        return []


@given(mangled())
@settings(calm)
def test_a_mangled_document_is_read_or_refused_and_what_is_read_survives_writing(document: JsonValue):
    try:
        found = list(read_document(document))
    except UnreadableTrace:
        return
    for trace in found:
        assert list(read_bytes(trace.model_dump_json().encode())) == [trace]
        (again,) = read_document(to_atif(trace))
        assert [len(step.calls) for step in again.steps] == [len(step.calls) for step in trace.steps]


@given(mangled(), st.sampled_from([each.name for each in formats()]))
@settings(calm)
def test_a_mangled_document_that_is_read_as_a_named_format_is_read_or_refused(document: JsonValue, name: str):
    try:
        list(read_document(document, format=name))
    except UnreadableTrace:
        return


@given(JSON_VALUES)
@settings(calm)
def test_detection_never_raises(document: JsonValue):
    assert all(each.detect(document).strength >= 0 for each in formats())


@given(DOCUMENTS, st.data())
@settings(calm)
def test_a_cut_document_is_refused(document: JsonValue, data: st.DataObject):
    written = json.dumps(document).encode()
    assert attempt(written[: data.draw(st.integers(0, len(written) - 1))]) == []


@given(DOCUMENTS, st.data())
@settings(calm)
def test_a_corrupted_document_is_read_or_refused(document: JsonValue, data: st.DataObject):
    written = bytearray(json.dumps(document, indent=data.draw(st.sampled_from([None, 1]))).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    attempt(bytes(written))


@given(st.binary(max_size=200))
@settings(calm)
def test_noise_is_refused(data: bytes):
    attempt(data)
    attempt(b"PK\x03\x04" + data)
    attempt(b"\x1f\x8b" + data)


@given(st.permutations(range(8)))
@settings(calm)
def test_shuffled_messages_lose_no_call_and_no_text(order: list[int]):
    messages = CHAT["messages"] if isinstance(CHAT, dict) else None
    assert isinstance(messages, list)
    (trace,) = read_document([messages[index] for index in order])
    texts = trace.model_dump_json()
    assert sum(len(step.calls) for step in trace.steps) == 3
    assert all(f'"{text}"' in texts for text in ("be kind", "see", "A", "B", "went", "done"))

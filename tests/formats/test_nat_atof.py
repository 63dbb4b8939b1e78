import json

import pytest
from pydantic import JsonValue

from formats.recorded import errors, names, only
from formats.shared_traces import TRACES, WHY, files
from stepjudge.formats import read_bytes, read_file
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

REAL = files("nat_atof")


def scope(
    id: str, category: str, start: JsonValue, end: JsonValue, *, parent: str | None = "root", **fields: JsonValue
) -> list[JsonObject]:
    both: JsonObject = {"kind": "scope", "atof_version": "0.1", "uuid": id, "parent_uuid": parent, "category": category}
    name = fields.pop("name", category)
    return [
        {**both, "name": name, "scope_category": "start", "data": start, "timestamp": "2026-01-01T00:00:00Z", **fields},
        {**both, "name": name, "scope_category": "end", "data": end, "timestamp": "2026-01-01T00:00:01Z", **fields},
    ]


def read(*scopes: list[JsonObject]) -> Trace:
    events = [event for each in scopes for event in each]
    (trace,) = read_bytes("\n".join(json.dumps(event) for event in events).encode())
    assert trace.source_format == "nat-atof"
    return trace


ROOT = scope("root", "agent", {"input": "fix it"}, {"response": "done"}, parent=None, name="helper")
USER: JsonValue = {"role": "user", "content": "fix it"}


def test_calls_come_from_the_model_and_results_from_prompts_and_tools():
    asked: JsonValue = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "name": "look", "arguments": {"q": 1}}, {"id": "b", "name": "fly"}],
    }
    trace = read(
        ROOT,
        scope("1", "llm", {"messages": [USER]}, asked),
        scope("2", "tool", {"q": 1}, {"seen": 7}, name="look", category_profile={"tool_call_id": "a"}),
        scope("3", "llm", {"messages": [USER, asked]}, {"content": "done", "usage": {"prompt_tokens": 3}}),
    )
    assert names(trace) == [("look", "fly"), ()]
    assert [call.result.state for _, _, call in trace.calls()] == ["present", "missing"]
    assert (trace.agent, trace.task, trace.final_output) == ("helper", "fix it", "done")
    assert trace.steps[1].usage == Usage(prompt_tokens=3)


def test_the_status_of_a_scope_is_the_error_signal():
    called: JsonValue = {"tool_calls": [{"id": "a", "name": "look"}]}
    failed = scope(
        "2",
        "tool",
        {},
        None,
        name="look",
        category_profile={"tool_call_id": "a"},
        status="error",
        error={"message": "no"},
    )
    trace = read(ROOT, scope("1", "llm", {"messages": [USER]}, called), failed)
    assert [(call.result.text, call.result.is_error) for _, _, call in trace.calls()] == [("no", True)]


def test_the_spelling_of_the_drafts_is_read():
    response: JsonValue = {"choices": [{"message": {"role": "assistant", "content": "done"}}]}
    events: list[JsonValue] = [
        {"kind": "StreamHeader", "uuid": "h", "schema_version": "0.1"},
        {"kind": "ScopeStart", "uuid": "1", "scope_type": "llm", "model_name": "m", "input": {"messages": [USER]}},
        {"kind": "ScopeEnd", "uuid": "1", "scope_type": "llm", "output": response, "status": "ok"},
    ]
    (trace,) = read_bytes("\n".join(json.dumps(event) for event in events).encode())
    assert (trace.source_format, trace.model, trace.task, trace.final_output) == ("nat-atof", "m", "fix it", "done")


@pytest.mark.skipif(not REAL, reason=WHY)
def test_the_real_log_tells_what_its_atif_twin_tells():
    (twin,) = read_file(TRACES / "atif" / "nat_exmp02_atif.json")
    trace = only(REAL[0], "nat-atof")
    assert names(trace) == names(twin)
    assert trace.task == twin.task
    assert [call.arguments for _, _, call in trace.calls()] == [call.arguments for _, _, call in twin.calls()]
    assert errors(trace) == [None]

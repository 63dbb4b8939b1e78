"""How spans and tools of a DeepEval test case become steps. The objects only need the attributes that are read."""

from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from stepjudge.adapters.deepeval_trace import document
from stepjudge.errors import UnreadableTrace
from stepjudge.trace import Trace


def case(**fields: Any) -> Any:
    absent: dict[str, Any] = dict.fromkeys(("metadata", "_trace_dict", "tools_called", "actual_output"))
    return SimpleNamespace(**{**absent, "input": "How warm is it in Lima?", **fields})


def span(type: str, *children: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": type, "name": type, "children": list(children), **fields}


def trace(*children: dict[str, Any], **fields: Any) -> Trace:
    root = span("agent", *children, input={"question": "How warm is it in Lima?"}, output="18 degrees", **fields)
    found = document(case(_trace_dict=root))
    assert isinstance(found, Trace)
    return found


LOOK = span("tool", name="weather", input={"city": "Lima"}, output={"degrees": 18, "at": date(2026, 1, 1)})


def test_tools_that_ran_after_a_models_text_are_its_calls() -> None:
    found = trace(span("llm", input="prompt", output="I look."), LOOK, span("llm", input="prompt", output="18 degrees"))

    assert [(step.message, [call.name for call in step.calls]) for step in found.steps] == [
        ("I look.", ["weather"]),
        ("18 degrees", []),
    ]
    [call] = found.steps[0].calls
    assert (call.arguments, call.result.text) == ({"city": "Lima"}, '{"degrees":18,"at":"2026-01-01"}')
    assert found.task == "How warm is it in Lima?"
    assert any("names no call, but tools ran after it" in note for note in found.notes)


def test_calls_count_as_the_model_emitted_them_not_as_tools_ran() -> None:
    invented = {"id": "a", "type": "function", "function": {"name": "invented", "arguments": "{}"}}
    found = trace(span("llm", output={"role": "assistant", "content": None, "tool_calls": [invented]}), LOOK)
    assert [call.name for step in found.steps for call in step.calls] == ["invented"]


def test_calls_may_stand_on_the_models_span_as_deepeval_writes_them() -> None:
    called = [{"name": "weather", "input_parameters": {"city": "Lima"}}]
    found = trace(span("llm", output=called, tools_called=called), LOOK)
    [step] = found.steps
    assert ([call.arguments for call in step.calls], step.message) == ([{"city": "Lima"}], "")


def test_without_a_model_each_tool_is_a_step_and_the_output_is_the_last() -> None:
    failed = span("tool", name="weather", input={"city": "Oz"}, error="no such city")
    found = trace(LOOK, span("base", failed, name="inner"))

    assert [[call.name for call in step.calls] for step in found.steps] == [["weather"], ["weather"], []]
    result = found.steps[1].calls[0].result
    assert (result.text, result.is_error) == ("no such city", True)
    assert found.steps[-1].message == found.final_output == "18 degrees"


def test_what_runs_below_a_tool_is_the_tools_own_affair() -> None:
    found = trace(span("llm", output="I ask."), span("tool", span("llm", output="inner"), name="helper", output="done"))
    assert [step.message for step in found.steps] == ["I ask."]


def test_a_log_in_the_metadata_comes_first_and_nothing_is_nothing() -> None:
    log = [{"role": "user", "content": "hi"}]
    assert document(case(metadata={"trace": log}, actual_output="x", _trace_dict=span("agent", LOOK))) is log
    assert document(case(_trace_dict=span("agent"))) is None


def test_objects_that_hold_themselves_and_bottomless_spans_are_unreadable() -> None:
    loop: dict[str, Any] = {}
    loop["itself"] = loop
    deep = span("llm", output="x")
    for _ in range(300):
        deep = span("agent", deep)
    for hostile in (span("agent", span("tool", output=loop)), deep):
        with pytest.raises(UnreadableTrace):
            document(case(_trace_dict=hostile))

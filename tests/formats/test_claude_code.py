import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, read_every, shape
from formats.shared_traces import TRACES, WHY, files
from stepjudge.formats import read_document, read_file
from stepjudge.trace import Message, Result, Trace, Usage
from stepjudge.value import JsonObject


def read(document: object) -> Trace:
    (trace,) = read_document(document)
    assert trace.source_format == "claude-code"
    return trace


def text(said: str) -> JsonValue:
    return {"type": "text", "text": said}


def use(id: str, name: str = "Bash", **given: JsonValue) -> JsonValue:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(id: str, content: JsonValue = "seen", **fields: JsonValue) -> JsonValue:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


def says(id: str, *parts: JsonValue, usage: JsonValue = None, **fields: JsonValue) -> JsonObject:
    message: JsonValue = {"id": id, "role": "assistant", "model": "m", "content": list(parts), "usage": usage}
    return {"type": "assistant", "sessionId": "s", "timestamp": "2026-01-01", "message": message, **fields}


def asks(content: JsonValue, *more: JsonValue, **fields: JsonValue) -> JsonObject:
    parts: JsonValue = [content, *more] if more or isinstance(content, dict) else content
    return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": parts}, **fields}


TASK = asks("fix it")


def test_entries_of_one_message_are_one_step_although_results_stand_between_them():
    counts: JsonValue = {"input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 2}
    trace = read([
        *(TASK, says("m1", {"type": "thinking", "thinking": "hm"}, usage={"input_tokens": 4, "output_tokens": 1})),
        *(says("m1", text("look")), says("m1", use("a", command="ls")), asks(result("a", "A", is_error=False))),
        *(says("m1", use("b"), usage=counts), asks(result("b", [text("B")])), says("m2", text("done"))),
    ])  # fmt: skip
    first, last = trace.steps
    assert (first.message, first.reasoning, first.started_at, first.model) == ("look", "hm", "2026-01-01", "m")
    assert [call.result for call in first.calls] == [
        Result(text="A", state="present", is_error=False),
        Result(text="B", state="present"),
    ]
    assert first.usage == Usage(prompt_tokens=7, cached_tokens=3, completion_tokens=2)
    assert (last.message, trace.final_output, trace.trace_id, trace.task) == ("done", "done", "s", "fix it")


@pytest.mark.parametrize(
    ("content", "kind", "code"),
    [
        ("<tool_use_error>Error: No such tool available: Look</tool_use_error>", "unknown_tool", None),
        ("<tool_use_error>InputValidationError: missing</tool_use_error>", "bad_arguments", None),
        ("Exit code 2\nboom", None, 2),
        ("Error: no such file", None, None),
    ],
)
def test_errors_tell_their_kind_or_their_exit_code(content: str, kind: str | None, code: int | None):
    (step,) = read([TASK, says("m", use("a")), asks(result("a", content, is_error=True))]).steps
    found = step.calls[0].result
    assert (found.is_error, found.error_kind, found.exit_code) == (True, kind, code)


def test_only_what_a_person_wrote_opens_a_turn():
    trace = read([
        *(asks("caveat", isMeta=True), TASK, says("m1", use("a")), asks(result("a"), text("[interrupted]"))),
        *(asks("long story", isCompactSummary=True), says("m2", text("ok")), asks("more"), says("m3", text("done"))),
    ])  # fmt: skip
    assert (trace.task, shape(trace)) == ("fix it", [(1, 1), (1, 0), (2, 0)])
    assert [message.role for step in trace.steps for message in step.before] == ["other", "other", "other", "user"]
    assert trace.notes == ("the harness condensed the context: the agent no longer saw every earlier step",)


def test_what_the_harness_says_in_the_agents_place_is_no_step():
    broken: JsonValue = {"model": "<synthetic>", "role": "assistant", "content": [text("API Error")]}
    trace = read([TASK, says("m1", text("hi")), {**says("m2"), "message": broken, "isApiErrorMessage": True}])
    assert (shape(trace), trace.after) == ([(1, 0)], (Message(role="other", text="API Error", name="harness"),))


def test_a_sub_agent_between_the_entries_is_nested_under_the_call_with_its_prompt():
    inner = {"isSidechain": True}
    trace = read([
        *(TASK, says("m1", use("t", "Task", prompt="explore", subagent_type="Explore"), uuid="1")),
        *(asks("explore", uuid="2", parentUuid=None, **inner), says("x", use("b"), uuid="3", parentUuid="2", **inner)),
        *(asks(result("b", "B"), uuid="4", parentUuid="3", **inner), asks(result("t", "found"), uuid="5")),
        *(says("y", text("found"), uuid="6", parentUuid="4", **inner), says("m2", text("done"))),
        asks("nobody asked", uuid="7", parentUuid=None, **inner),
    ])  # fmt: skip
    (call,) = trace.steps[0].calls
    assert (shape(trace), call.result.text) == ([(1, 1), (1, 0)], "found")
    (sub,) = call.subtraces
    assert (sub.agent, sub.task, shape(sub), sub.final_output) == ("Explore", "explore", [(1, 1), (1, 0)], "found")
    assert trace.notes == ("runs of sub-agents that belong to no call were left out: 1",)


def test_a_sub_agent_in_a_file_of_its_own_is_nested_under_the_call_that_names_it(tmp_path: Path):
    ended: JsonValue = {"agentId": "a1", "status": "completed"}
    session = [TASK, says("m1", use("t", "Task", prompt="go")), asks(result("t", "found"), toolUseResult=ended)]
    inner = [asks("go", isSidechain=True, agentId="a1"), says("x", text("found"), isSidechain=True, agentId="a1")]
    for name, entries in (("s.jsonl", session), ("s/subagents/agent-a1.jsonl", inner)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    (trace,) = read_file(tmp_path / "s.jsonl")
    assert [(sub.trace_id, shape(sub)) for sub in trace.steps[0].calls[0].subtraces] == [("a1", [(1, 0)])]
    assert read(session).notes == ("the run of sub-agent 'a1' was not at hand",)
    (alone,) = read_file(tmp_path / "s/subagents/agent-a1.jsonl")
    assert alone.notes == ("this is the run of a sub-agent: what started it is not in the document",)


def test_a_stream_is_read_with_its_tools_sub_agents_and_totals():
    of_task: JsonObject = {"parent_tool_use_id": "t"}
    end: JsonObject = {"type": "result", "subtype": "success", "result": "done", "total_cost_usd": 0.5, "num_turns": 2}
    trace = read([
        {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash", "Task"], "model": "m"},
        *(says("m1", use("t", "Task", prompt="go")), asks("go", **of_task), says("x", text("found"), **of_task)),
        *(asks(result("t", "found")), says("m2", text("done")), {**end, "usage": {"input_tokens": 9}}),
    ])  # fmt: skip
    assert [tool.name for tool in trace.tools] == ["Bash", "Task"]
    assert (trace.usage, trace.final_output) == (Usage(prompt_tokens=9, cost_usd=0.5), "done")
    assert trace.extra == {"result": {"subtype": "success", "num_turns": 2}}
    assert (shape(trace), [shape(sub) for sub in trace.steps[0].calls[0].subtraces]) == ([(1, 1), (1, 0)], [[(1, 0)]])


def test_an_entry_written_twice_is_told_once_and_a_rewound_session_says_so():
    said = says("m1", text("hi"), uuid="2")
    again = [asks("no, that", uuid="3", parentUuid="1"), says("m2", text("ok"), uuid="4")]
    trace = read([asks("this", uuid="5", parentUuid="1"), said, said, *again])
    assert (shape(trace), len(trace.notes)) == ([(1, 0), (2, 0)], 1)


def test_several_sessions_in_one_document_are_several_traces_unless_one_goes_on_from_another():
    other = [asks("else", sessionId="t"), says("m2", text("ok"), sessionId="t")]
    traces = list(read_document([TASK, says("m1", text("hi"), uuid="1"), *other]))
    assert [(trace.trace_id, trace.task) for trace in traces] == [("s", "fix it"), ("t", "else")]
    other[0]["parentUuid"] = "1"
    assert shape(read([TASK, says("m1", text("hi"), uuid="1"), *other])) == [(1, 0), (2, 0)]


def test_an_export_is_read_as_the_lines_are():
    entries = [TASK, says("m", use("a")), asks(result("a"))]
    assert read({"loglines": entries}) == read(entries)


@pytest.mark.skipif(not files("claude_code"), reason=WHY)
def test_the_real_files_are_read():
    found = {name: trace for name, (trace,) in read_every("claude_code").items()}
    assert {trace.source_format for trace in found.values()} == {"claude-code"}
    assert {name: (len(trace.steps), len(list(trace.calls()))) for name, trace in found.items()} == {
        "atifmake_claude-code-transcript.jsonl": (2, 1),
        "ccl_representative_messages.jsonl": (5, 2),
        "scout_agent-atest01.jsonl": (2, 1),
        "scout_agent_session.jsonl": (2, 1),
        "simonw_sample_session.json": (15, 12),
        "simonw_sample_session.jsonl": (3, 2),
    }
    export = found["simonw_sample_session.json"]
    assert [step.turn for step in export.steps] == [1] * 5 + [2] * 3 + [3] * 2 + [4] * 3 + [5] * 2
    assert outcomes(export) == {("present", False), ("present", True)}
    assert [call.result.exit_code for _, _, call in export.calls() if call.result.is_error] == [1]


@pytest.mark.skipif(not files("claude_code"), reason=WHY)
def test_a_real_sub_agent_is_nested_when_its_file_has_the_name_that_claude_code_gives(tmp_path: Path):
    for name, target in (("scout_agent_session", "session"), ("scout_agent-atest01", "agent-atest01")):
        (tmp_path / f"{target}.jsonl").write_bytes((TRACES / "claude_code" / f"{name}.jsonl").read_bytes())
    (trace,) = read_file(tmp_path / "session.jsonl")
    (sub,) = trace.steps[0].calls[0].subtraces
    assert (sub.agent, shape(sub), trace.notes) == ("Explore", [(1, 1), (1, 0)], ())

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document, read_file
from stepjudge.trace import Message, Result, Trace, Usage
from stepjudge.value import JsonObject

ABOUT: JsonObject = {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01"}


def read(document: object) -> Trace:
    (trace,) = read_document(document)
    assert trace.source_format == "gemini-cli"
    return trace


def session(*messages: JsonValue) -> Trace:
    return read({**ABOUT, "messages": list(messages)})


def message(type: str, content: JsonValue, id: str = "1", **fields: JsonValue) -> JsonObject:
    return {"id": id, "timestamp": "2026-01-01", "type": type, "content": content, **fields}


def call(id: str, status: str = "success", result: JsonValue = None, **fields: JsonValue) -> JsonValue:
    return {"id": id, "name": "read_file", "args": {"path": id}, "status": status, "result": result, **fields}


def answered(**response: JsonValue) -> JsonValue:
    return [{"functionResponse": {"id": "a", "name": "read_file", "response": response}}]


TASK = message("user", [{"text": "fix it"}], id="0")


def test_calls_have_their_results_and_the_status_is_the_error_signal():
    made = [
        *(call("a", result=answered(output="A")), call("b", "error", answered(error="no")), call("c", "executing")),
        *(call("d", "cancelled", answered(error="denied")), call("e", result=answered(hits=2)), call("f")),
    ]
    (step,) = session(TASK, message("gemini", "look", toolCalls=made)).steps
    assert [each.result for each in step.calls] == [
        Result(text="A", state="present", is_error=False),
        Result(text="no", state="present", is_error=True),
        Result(),
        Result(text="denied", state="present", is_error=True, error_kind="other"),
        Result(text='{"hits":2}', state="present", is_error=False),
        Result(state="empty", is_error=False),
    ]


def test_thoughts_tokens_and_models_are_carried():
    tokens: JsonValue = {"input": 7, "output": 2, "cached": 3, "thoughts": 4, "total": 13}
    thoughts: JsonValue = [{"subject": "Plan", "description": "look first"}]
    trace = session(TASK, message("gemini", "done", thoughts=thoughts, tokens=tokens, model="m"))
    (step,) = trace.steps
    assert (step.reasoning, step.model, trace.model, trace.trace_id) == ("Plan: look first", "m", "m", "s")
    assert step.usage == Usage(prompt_tokens=7, cached_tokens=3, completion_tokens=6)


def test_users_open_turns_and_notices_do_not():
    said = [message("gemini", "hi", id="1"), message("error", "quota", id="2"), message("gemini", "on", id="3")]
    trace = session(TASK, *said, message("user", "more", id="4"), message("gemini", "done", id="5"))
    assert (trace.task, shape(trace)) == ("fix it", [(1, 0), (1, 0), (2, 0)])
    assert trace.steps[1].before == (Message(role="other", text="quota", name="error"),)


def test_lines_replace_earlier_ones_with_their_id_and_rewinding_takes_messages_away():
    trace = read([
        *(ABOUT, TASK, message("gemini", "look", toolCalls=[call("a", "executing")])),
        message("gemini", "look", toolCalls=[call("a", result=answered(output="A"))]),
        *(message("user", "no", id="2"), message("gemini", "oh", id="3"), {"$rewindTo": "2"}),
        *({"$set": {"summary": "a session"}}, message("gemini", "done", id="4")),
    ])  # fmt: skip
    assert [step.message for step in trace.steps] == ["look", "done"]
    assert trace.steps[0].calls[0].result.text == "A"
    assert (trace.extra["summary"], len(trace.notes)) == ("a session", 1)


def test_the_file_of_a_sub_agent_is_nested_under_its_call(tmp_path: Path):
    lines = [ABOUT, TASK, message("gemini", "go", toolCalls=[call("a", result=answered(output="found"), agentId="x")])]
    inner = [{**ABOUT, "sessionId": "x", "kind": "subagent"}, TASK, message("gemini", "found")]
    (tmp_path / "s").mkdir()
    for name, each in (("session.jsonl", lines), ("s/x.jsonl", inner)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in each))
    (trace,) = read_file(tmp_path / "session.jsonl")
    assert [(sub.trace_id, shape(sub)) for sub in trace.steps[0].calls[0].subtraces] == [("x", [(1, 0)])]
    assert read(lines).notes == ("the run of sub-agent 'x' was not at hand",)


@pytest.mark.skipif(not files("gemini_cli"), reason=WHY)
def test_the_real_files_are_read():
    ((trace,),) = read_every("gemini_cli").values()
    assert (trace.source_format, shape(trace), outcomes(trace)) == ("gemini-cli", [(1, 1)], {("present", False)})
    assert [(each.name, each.result.text) for _, _, each in trace.calls()] == [("read_file", "Project overview")]

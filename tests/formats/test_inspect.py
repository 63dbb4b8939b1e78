import io
import json
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from formats.recorded import PARALLEL, assert_is_the_article, errors, names, only, states
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_bytes, read_document, read_file
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

REAL = files("inspect_ai")
EVAL: JsonObject = {"task": "t", "model": "m", "run_id": "r"}


def sample(*messages: JsonValue, id: int = 1, epoch: int = 1, **fields: JsonValue) -> JsonObject:
    return {"id": id, "epoch": epoch, "input": "fix it", "target": "secret", "messages": list(messages), **fields}


def log(*samples: JsonValue) -> JsonObject:
    return {"version": 2, "status": "success", "eval": EVAL, "plan": {}, "samples": list(samples)}


def read(*messages: JsonValue, **fields: JsonValue) -> Trace:
    (trace,) = read_document(log({**sample(USER, *messages), **fields}))
    assert trace.source_format == "inspect"
    return trace


USER: JsonValue = {"role": "user", "content": "fix it"}


def says(content: str = "", *calls: JsonValue, id: str = "m1") -> JsonObject:
    return {"role": "assistant", "id": id, "content": content, "tool_calls": list(calls), "model": "m"}


def call(id: str = "a", function: str = "look", arguments: JsonValue = None, **fields: JsonValue) -> JsonValue:
    return {"id": id, "function": function, "arguments": arguments or {}, "type": "function", **fields}


def tool(content: str, id: str = "a", function: str = "look", **fields: JsonValue) -> JsonObject:
    return {"role": "tool", "content": content, "tool_call_id": id, "function": function, **fields}


def model(message: JsonValue, *given: JsonValue, span: str = "s", **fields: JsonValue) -> JsonObject:
    output: JsonObject = {"choices": [{"message": message}], "usage": {"input_tokens": 5, "output_tokens": 2}}
    return {"event": "model", "span_id": span, "input": list(given), "output": output, "timestamp": "t1", **fields}


def test_samples_and_epochs_are_traces_of_their_own_with_targets_in_extra_only():
    found = list(read_document(log(sample(USER, says("one")), sample(USER, says("two"), id=2, epoch=3))))
    assert [(trace.trace_id, trace.final_output) for trace in found] == [("r/1/1", "one"), ("r/2/3", "two")]
    assert "secret" not in found[0].model_copy(update={"extra": {}}).model_dump_json()
    assert "secret" in found[0].model_dump_json()


def test_the_error_of_a_tool_message_is_its_signal_and_its_text_where_there_is_no_content():
    calls = [call(each) for each in "abcd"]
    trace = read(
        says("", *calls),
        tool("", "a", error={"type": "parsing", "message": "bad"}),
        tool("part", "b", error={"type": "timeout", "message": "too slow"}),
        tool("", "c"),
        tool("", "d", error={"type": "parsing", "message": "Tool look not found"}),
    )
    results = [each.result for _, _, each in trace.calls()]
    assert [each.text for each in results] == ["bad", "part\ntoo slow", "", "Tool look not found"]
    assert [each.is_error for each in results] == [True, True, False, True]
    assert [each.error_kind for each in results] == ["bad_arguments", "timeout", None, "unknown_tool"]
    assert results[2].state == "empty"


def test_arguments_that_did_not_parse_are_found_in_the_parse_error():
    error = 'Error parsing the following tool call arguments:\n\n{"q": \n\nError details: cut'
    first, second = read(says("", call(parse_error=error), call("b", parse_error="odd"))).steps[0].calls
    assert (first.arguments_raw, first.arguments_state) == ('{"q": ', "unparsed")
    assert (second.arguments, second.arguments_state) == (None, "elided")


def test_events_give_usage_times_tools_and_what_the_harness_cut():
    events: list[JsonValue] = [
        model(says(id="m1"), tools=[{"name": "look", "parameters": {"type": "object"}}]),
        {"event": "tool", "id": "a", "function": "look", "result": "x", "truncated": [9, 1], "message_id": "t9"},
    ]
    trace = read(says("", call()), {**tool("x"), "id": "t9"}, events=events)
    step = trace.steps[0]
    assert (step.usage, step.started_at) == (Usage(prompt_tokens=5, completion_tokens=2), "t1")
    assert [each.name for each in trace.tools] == ["look"]
    assert states(trace) == ["truncated"]


def test_long_values_are_found_where_they_are_kept():
    asked = call(arguments={"text": "attachment://two"})
    new = read(says("attachment://one", asked), attachments={"one": "long", "two": "longer"})
    assert (new.steps[0].message, new.steps[0].calls[0].arguments) == ("long", {"text": "longer"})
    assert read(says("tc://one"), transcript={"content": {"one": "long"}}).steps[0].message == "long"


def test_without_messages_the_conversation_is_that_of_the_last_model_event_and_its_pool():
    pool: list[JsonValue] = [USER, says("", call()), tool("seen")]
    event = model(says("done", id="m2"), input_refs=[[0, 2], [2, 3]])
    (trace,) = read_document(log({**sample(), "events": [event], "events_data": {"messages": pool}}))
    assert (trace.task, names(trace), trace.final_output) == ("fix it", [("look",), ()], "done")
    assert trace.notes == ("the sample has no messages: its conversation was taken from its last model event",)


def spans() -> list[JsonValue]:
    return [
        {"event": "span_begin", "id": "tool", "parent_id": "s", "type": "tool", "name": "ask"},
        {"event": "tool", "span_id": "s", "id": "a", "function": "ask", "result": "done"},
        {"event": "span_begin", "id": "agent", "parent_id": "tool", "type": "agent", "name": "sub"},
        model(says("inner", id="m9"), USER, span="agent"),
        {"event": "span_begin", "id": "scorer", "parent_id": None, "type": "scorers", "name": "scorers"},
        model(says("graded", id="m8"), USER, span="scorer"),
    ]


def nested() -> list[JsonValue]:
    """As logs had it before there were spans."""
    return [
        {
            "event": "tool",
            "id": "a",
            "function": "ask",
            "result": "done",
            "events": [model(says("inner", id="m9"), USER)],
        }
    ]


@pytest.mark.parametrize("events", [spans(), nested()], ids=["spans", "nested events"])
def test_the_run_of_a_sub_agent_nests_below_its_call_and_graders_are_left_out(events: list[JsonValue]):
    trace = read(says("", call("a", "ask")), tool("done", "a", "ask"), says("all", id="m3"), events=events)
    (inner,) = trace.steps[0].calls[0].subtraces
    assert [step.message for step in inner.steps] == ["inner"]
    assert len(trace.steps) == 2


def test_samples_without_a_step_are_told_of_and_a_log_of_nothing_else_is_refused():
    found = list(read_document(log(sample(USER), sample(USER, says("two"), id=2), sample(USER, id=3))))
    assert [trace.trace_id for trace in found] == ["r/2/1"]
    assert found[0].notes == (
        "2 runs beside this one in the document have no steps, so there is nothing to judge: left out",
    )
    with pytest.raises(UnreadableTrace, match="the trace has no steps"):
        list(read_document(log(sample(USER))))


def test_a_header_alone_is_refused_with_what_is_missing():
    with pytest.raises(UnreadableTrace, match="it is the header of an Inspect log, without `samples`"):
        list(read_document({**log(), "samples": None}))


def archive(*samples: JsonObject, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("header.json", json.dumps({**log(), "samples": None}))
        for each in samples:
            archive.writestr(f"samples/{each['id']}_epoch_{each['epoch']}.json", json.dumps(each))
    return packed.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD], ids=["deflated", "zstandard"])
def test_an_archive_tells_what_the_log_tells(method: int):
    samples = [sample(USER, says("one")), sample(USER, id=2), sample(USER, says("three"), id=3)]
    packed = list(read_bytes(archive(*samples, method=method)))
    assert [trace.final_output for trace in packed] == ["one", "three"]
    assert [len(trace.notes) for trace in packed] == [1, 0]


def test_a_damaged_archive_is_refused():
    packed = bytearray(archive(sample(USER, says("one" * 500)), method=zipfile.ZIP_ZSTANDARD))
    packed[200:220] = bytes(20)
    with pytest.raises(UnreadableTrace):
        list(read_bytes(bytes(packed)))


@pytest.mark.skipif(not REAL, reason=WHY)
def test_real_logs_are_read_and_archives_tell_what_json_tells():
    recorded: dict[str, list[Trace]] = {}
    for path in REAL:
        if path.name == "log_tool_call_error.json":  # a fixture of tool messages alone
            with pytest.raises(UnreadableTrace, match="the trace has no steps"):
                list(read_file(path))
        else:
            recorded.setdefault(Path(path.name).stem, []).append(next(read_file(path)))
    assert {trace.source_format for found in recorded.values() for trace in found} == {"inspect"}
    for found in (each for each in recorded.values() if len(each) == 2):
        assert [names(trace) for trace in found] == [names(found[0])] * 2
        assert [step.message for step in found[0].steps] == [step.message for step in found[1].steps]
    assert len(list(read_file(next(path for path in REAL if path.name == "security-guide.json")))) == 3


@pytest.mark.skipif(not REAL, reason=WHY)
def test_recordings_tell_the_published_run():
    for path in (path for path in REAL if path.name.startswith("5262")):
        trace = only(path, "inspect")
        if "article" in path.name:
            assert_is_the_article(trace)
            assert [len(step.calls) for step in trace.steps] == [1] * 7 + [0]
            assert states(trace) == ["present", "truncated", *["present"] * 5]
        else:
            assert names(trace) == [*PARALLEL, ()]
            assert set(states(trace)) == {"present"}
        assert set(errors(trace)) == {False}
        assert [tool.name for tool in trace.tools] == ["terminal", "file_editor"]

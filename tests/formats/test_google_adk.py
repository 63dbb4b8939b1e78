import pytest
from pydantic import JsonValue

from formats.recorded_runs import is_the_article_run, is_the_parallel_run, outcomes, shape
from formats.shared_traces import TRACES, WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_bytes, read_document, read_file
from stepjudge.trace import Trace, Usage


def read(document: object) -> Trace:
    """Detected, not named."""
    (trace,) = read_document(document)
    assert trace.source_format == "google-adk"
    return trace


def event(author: str, *parts: JsonValue, **fields: JsonValue) -> JsonValue:
    role = "user" if author == "user" else "model"
    return {"author": author, "invocationId": "i", "content": {"role": role, "parts": list(parts)}, **fields}


def call(id: str | None = "c", name: str = "look", **args: JsonValue) -> JsonValue:
    return {"functionCall": {"id": id, "name": name, "args": args}}


def response(value: JsonValue, id: str | None = "c", name: str = "look") -> JsonValue:
    return {"functionResponse": {"id": id, "name": name, "response": value}}


TASK = event("user", {"text": "fix it"})


def test_an_event_is_a_step_with_its_agent_usage_and_time():
    usage: JsonValue = {"promptTokenCount": 9, "candidatesTokenCount": 2}
    trace = read({"id": "s", "appName": "app", "userId": "u", "events": [
        TASK, event("root", {"text": "I look"}, call("a"), call("b"), usageMetadata=usage, timestamp=0.5),
        event("root", response({"output": "B"}, "b"), response({"output": "A"}, "a")),
        event("root", {"text": "done"}),
    ]})  # fmt: skip
    first = trace.steps[0]
    assert (trace.trace_id, trace.agent, trace.extra) == ("s", "app", {"userId": "u"})
    assert (first.agent, first.usage) == ("root", Usage(prompt_tokens=9, completion_tokens=2))
    assert first.started_at == "1970-01-01T00:00:00.500000+00:00"
    assert [each.result.text for each in first.calls] == ["A", "B"]
    assert (shape(trace), trace.final_output) == ([(1, 2), (1, 0)], "done")


def test_errors_are_those_of_the_kit_and_not_the_status_of_an_application():
    trace = read([TASK, event("root", call("a"), call("b"), call("c")),
                  event("root", response({"error": "no such tool"}, "a"), response({"status": "error"}, "b"))])  # fmt: skip
    assert [(each.result.state, each.result.is_error) for _, _, each in trace.calls()] == [
        ("present", True), ("present", None), ("missing", None)]  # fmt: skip


def test_an_agent_that_takes_over_is_named_in_its_steps():
    trace = read([TASK, event("root", call(name="transfer_to_agent", agent_name="sub")),
                  event("root", response(None, name="transfer_to_agent"), actions={"transferToAgent": "sub"}),
                  event("sub", {"text": "done"})])  # fmt: skip
    assert [step.agent for step in trace.steps] == ["root", "sub"]


def test_pieces_of_a_stream_and_changes_of_state_are_no_steps_and_are_noted():
    trace = read([TASK, event("root", {"text": "do"}, partial=True), event("root", {"text": "done"}),
                  {"author": "root", "invocationId": "i", "actions": {"stateDelta": {"a": 1}}}])  # fmt: skip
    assert [step.message for step in trace.steps] == ["done"]
    assert len(trace.notes) == 2


def test_an_event_that_ended_in_an_error_is_a_step_without_words():
    trace = read([TASK, {"author": "root", "invocationId": "i", "errorCode": "SAFETY", "errorMessage": "no"}])
    assert (shape(trace), trace.steps[0].extra["errorCode"]) == ([(1, 0)], "SAFETY")
    assert trace.notes == ("an event ended in an error: SAFETY",)


def test_users_open_turns_and_agents_side_by_side_are_noted():
    trace = read([TASK, event("a", {"text": "1"}, branch="p.a"), event("b", {"text": "2"}, branch="p.b"), TASK,
                  event("a", {"text": "3"}, branch="p.a")])  # fmt: skip
    assert [step.turn for step in trace.steps] == [1, 1, 2]
    assert any("side by side" in note for note in trace.notes)


def test_a_late_answer_to_a_long_running_call_is_kept_as_a_message():
    trace = read([TASK, event("root", call(), longRunningToolIds=["c"]), event("root", response({"output": "pending"})),
                  event("user", response({"output": "ready"})), event("root", {"text": "done"})])  # fmt: skip
    assert trace.steps[0].calls[0].result.text == "pending"
    assert trace.steps[0].extra == {"longRunningToolIds": ["c"]}
    assert [(each.role, each.text) for each in trace.steps[1].before] == [("tool", "ready")]


@pytest.mark.skipif(not files("google_adk"), reason=WHY)
def test_the_real_files_are_read():
    folder = TRACES / "google_adk"
    (article,) = read_file(folder / "5262_article_adk_session.json")
    (parallel,) = read_file(folder / "5262_parallel_adk_session.json")
    (shop,) = read_file(folder / "customer_service_123.session.json")
    assert is_the_article_run(article)
    assert is_the_parallel_run(parallel)
    assert outcomes(article) == outcomes(parallel) == outcomes(shop) == {("present", None)}
    assert shape(article) == [(1, 1)] * 7 + [(1, 0)]
    assert (len(shop.steps), len(list(shop.calls())), shop.steps[-1].turn) == (17, 6, 11)
    for trace in (article, parallel, shop):
        assert trace.source_format == "google-adk"
        assert list(read_bytes(trace.model_dump_json().encode())) == [trace]
    with pytest.raises(UnreadableTrace, match="an ADK eval set holds what is expected of runs, not runs"):
        list(read_file(folder / "order_query.test.json"))

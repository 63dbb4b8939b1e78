import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from formats.recorded_runs import is_the_article_run, outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document, read_file
from stepjudge.trace import Message, Result, Trace, Usage
from stepjudge.value import JsonObject


def read(events: list[JsonValue]) -> Trace:
    (trace,) = read_document(events)
    assert trace.source_format == "openhands-v1"
    return trace


def text(said: str) -> JsonValue:
    return [{"type": "text", "text": said}]


def event(kind: str, source: str = "agent", **fields: JsonValue) -> JsonObject:
    return {"id": "e", "timestamp": "2026-01-01T00:00:00", "source": source, "kind": kind, **fields}


def says(role: str, said: str) -> JsonObject:
    return event("MessageEvent", role, llm_message={"role": role, "content": text(said)})


def acts(id: str, response: str, arguments: str = '{"command": "ls"}', **fields: JsonValue) -> JsonObject:
    emitted: JsonValue = {"id": id, "name": "terminal", "arguments": arguments}
    action: JsonValue = {"kind": "TerminalAction", "command": "ls", "is_input": False}
    mine: JsonObject = {"tool_call": emitted, "action": action, "thought": text(f"think {id}"), **fields}
    return {**event("ActionEvent"), "tool_name": "terminal", "tool_call_id": id, "llm_response_id": response, **mine}


def observes(id: str, **observation: JsonValue) -> JsonObject:
    observed: JsonValue = {"content": text(f"saw {id}"), "is_error": False, **observation}
    return event("ObservationEvent", "environment", tool_name="terminal", tool_call_id=id, observation=observed)


TASK = says("user", "fix it")


def test_actions_of_one_response_are_one_step_although_results_stand_between_them():
    trace = read([TASK, acts("a", "r1"), observes("a"), acts("b", "r1", thought=[]), observes("b"), acts("c", "r2")])
    assert [[call.result.text for call in step.calls] for step in trace.steps] == [["saw a", "saw b"], [""]]
    assert [step.message for step in trace.steps] == ["think a", "think c"]
    assert [step.calls[-1].result.state for step in trace.steps] == ["present", "missing"]


def test_a_response_id_used_anew_in_a_later_turn_is_another_emission():
    trace = read([TASK, acts("a", "r1"), observes("a"), says("user", "more"), acts("b", "r1"), observes("b")])
    assert shape(trace) == [(1, 1), (2, 1)]


def test_arguments_are_those_the_model_emitted_and_not_those_of_the_action():
    assert [call.arguments for _, _, call in read([TASK, acts("a", "r")]).calls()] == [{"command": "ls"}]
    broken = read([TASK, acts("a", "r", '{"command": ')]).steps[0].calls[0]
    assert (broken.arguments_raw, broken.arguments_state) == ('{"command": ', "unparsed")


def test_what_the_sdk_refused_is_an_error_of_the_right_kind():
    tools: JsonValue = [{"kind": "TerminalTool", "description": "d"}]
    system = event("SystemPromptEvent", system_prompt={"text": "be kind"}, tools=tools)
    unknown = acts("b", "r2", action=None, tool_call={"id": "b", "name": "grep", "arguments": "{}"}, tool_name="grep")
    refuse: list[JsonObject] = [event("AgentErrorEvent", tool_name=name, tool_call_id=id, error="no")
              for id, name in (("a", "terminal"), ("b", "grep"), ("c", "terminal"))]  # fmt: skip
    log: list[JsonValue] = [system, TASK, acts("a", "r1", action=None), refuse[0], unknown, refuse[1]]
    trace = read([*log, acts("c", "r3"), refuse[2]])
    kinds = [(call.result.is_error, call.result.error_kind) for _, _, call in trace.calls()]
    assert kinds == [(True, "bad_arguments"), (True, "unknown_tool"), (True, "tool_error")]
    assert (trace.system, [tool.name for tool in trace.tools]) == ("be kind", ["terminal"])


def test_error_signals_and_exit_codes_are_kept_apart():
    trace = read([
        *(TASK, acts("a", "r1"), observes("a", exit_code=2)),
        *(acts("b", "r2"), observes("b", is_error=True, metadata={"exit_code": -1})),
        *(acts("c", "r3"), event("UserRejectObservation", tool_call_id="c", rejection_reason="never")),
        *(acts("d", "r4"), observes("d", content=[])),
    ])  # fmt: skip
    assert [call.result for _, _, call in trace.calls()] == [
        Result(text="saw a", state="present", is_error=False, exit_code=2),
        Result(text="saw b", state="present", is_error=True),
        Result(text="never", state="present", is_error=True, error_kind="other"),
        Result(state="empty", is_error=False),
    ]


def test_the_finish_message_is_the_final_output_and_statistics_are_the_usage():
    finish = acts("a", "r", action={"kind": "FinishAction", "message": "done"})
    tokens: JsonValue = {"prompt_tokens": 7, "completion_tokens": 2, "cache_read_tokens": 3}
    use: JsonValue = {"model_name": "m", "accumulated_cost": 0.5, "accumulated_token_usage": tokens}
    stats: JsonValue = {"usage_to_metrics": {"agent": use, "condenser": {"model_name": "n", "accumulated_cost": 0.25}}}
    trace = read([TASK, finish, event("ConversationStateUpdateEvent", key="stats", value=stats)])
    assert (trace.final_output, trace.model) == ("done", "m")
    assert trace.usage == Usage(prompt_tokens=7, cached_tokens=3, completion_tokens=2, cost_usd=0.75)


def test_a_message_of_the_agent_is_a_step_and_what_a_trace_cannot_hold_is_noted():
    condensed = event("Condensation", "environment", summary="long story")
    trace = read([TASK, says("agent", "which one?"), says("user", "that"), condensed, acts("a", "r"), event("Odd")])
    assert (shape(trace), trace.steps[0].message) == ([(1, 0), (2, 1)], "which one?")
    assert trace.steps[1].before[1] == Message(role="other", text="long story", name="condenser")
    assert trace.notes == (
        "the harness condensed the context: the agent no longer saw every earlier step",
        "events of the kind 'Odd' were left out",
    )


def test_pages_rows_and_folders_are_read_as_the_list_is(tmp_path: Path):
    events: list[JsonValue] = [TASK, acts("a", "r"), observes("a")]
    expected = read(events).steps
    for document in ({"items": events, "next_page_id": None}, {"instance_id": "i", "history": events}):
        (trace,) = read_document(document)
        assert (trace.source_format, trace.steps) == ("openhands-v1", expected)
    (tmp_path / "events").mkdir()
    for number, each in enumerate(events):
        (tmp_path / "events" / f"event-{number:05}-x.json").write_text(json.dumps(each))
    (tmp_path / "base_state.json").write_text(json.dumps({"id": "conversation", "agent": {"llm": {"model": "m"}}}))
    (trace,) = read_file(tmp_path)
    assert (trace.steps, trace.trace_id, trace.model) == (expected, "conversation", "m")


@pytest.mark.skipif(not files("openhands_v1"), reason=WHY)
def test_the_real_files_are_read():
    found = read_every("openhands_v1")
    (article,), (lines,), (goal,) = (
        found[name] for name in ("5262_article_events.json", "5262_article_events.jsonl", "goal_events.jsonl")
    )
    assert article == lines
    assert is_the_article_run(article)
    assert (shape(article), outcomes(article)) == ([(1, 1)] * 8, {("present", False)})
    codes = [call.result.exit_code for _, _, call in article.calls()]
    assert codes == [0, None, 0, None, None, None, 0, None]
    assert [tool.name for tool in article.tools] == ["terminal", "file_editor", "task_tracker", "finish"]
    assert [call.result.is_error for _, _, call in goal.calls()] == [True, False]

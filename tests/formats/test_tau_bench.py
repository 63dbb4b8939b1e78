import pytest
from pydantic import JsonValue

from formats.recorded import errors, names, states
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_bytes, read_document, read_file
from stepjudge.value import JsonObject

REAL = files("tau_bench")


def row(*traj: JsonValue, task: int = 0, **fields: JsonValue) -> JsonObject:
    return {
        "task_id": task,
        "reward": 0.0,
        "info": {"task": {"actions": ["secret"]}},
        "traj": list(traj),
        "trial": 1,
        **fields,
    }


def says(content: str | None, *names: str, arguments: JsonValue = "{}") -> JsonValue:
    calls: list[JsonValue] = [{"id": "0", "function": {"name": name, "arguments": arguments}} for name in names]
    return {"role": "assistant", "content": content, "tool_calls": calls or None}


def tool(content: str, name: str = "look") -> JsonValue:
    return {"role": "tool", "tool_call_id": "0", "name": name, "content": content}


SYSTEM: JsonValue = {"role": "system", "content": "policy"}
USER: JsonValue = {"role": "user", "content": "hello"}


def test_the_simulated_user_s_turns_are_kept_and_ids_that_repeat_pair_within_their_step():
    bye: JsonValue = {"role": "user", "content": "###STOP###"}
    traj = [
        SYSTEM,
        USER,
        says(None, "look"),
        tool("1"),
        says("so?"),
        USER,
        says(None, "look"),
        tool("2"),
        says("ok"),
        bye,
    ]
    (trace,) = read_document(row(*traj))
    assert (trace.system, trace.task, trace.trace_id) == ("policy", "hello", "task-0/trial-1")
    assert [step.turn for step in trace.steps] == [1, 1, 2, 2]
    assert [each.result.text for _, _, each in trace.calls()] == ["1", "2"]
    assert [message.text for message in trace.after] == ["###STOP###"]


def test_the_environment_s_own_words_for_failure_are_the_error_signal():
    traj = [
        USER,
        says(None, "look"),
        tool("Error: no"),
        says(None, "fly"),
        tool("Unknown action fly", "fly"),
        says(None, "look"),
        tool(""),
    ]
    (trace,) = read_document(row(*traj))
    assert errors(trace) == [True, True, None]
    assert [each.result.error_kind for _, _, each in trace.calls()] == ["tool_error", "unknown_tool", None]
    assert states(trace) == ["present", "present", "empty"]


def test_arguments_may_be_objects_or_text():
    traj = [USER, says(None, "look", arguments={"q": 1}), says(None, "look", arguments="{")]
    (trace,) = read_document(row(*traj))
    assert [each.arguments_state for _, _, each in trace.calls()] == ["ok", "unparsed"]


def test_what_graders_see_stays_in_extra():
    (trace,) = read_document(row(USER, says("ok")))
    assert "secret" not in trace.model_copy(update={"extra": {}}).model_dump_json()


def test_an_attempt_that_failed_before_its_first_step_does_not_stop_the_others():
    crashed = row(task=1, info={"error": "rate limit"})
    found = list(read_document([crashed, row(USER, says("ok"), task=2)]))
    assert [trace.trace_id for trace in found] == ["task-2/trial-1"]
    assert len(found[0].notes) == 1
    with pytest.raises(UnreadableTrace, match="the trace has no steps"):
        list(read_document([crashed]))


@pytest.mark.skipif(not REAL, reason=WHY)
def test_real_results_are_detected_and_read():
    found = {path.name: list(read_file(path)) for path in REAL}
    assert {name: [len(trace.steps) for trace in traces] for name, traces in found.items()} == {
        "docent_tb_airline_0.json": [20],
        "gpt-4o-airline_subset_dev.json": [15, 11, 17],
    }
    for trace in (trace for traces in found.values() for trace in traces):
        assert trace.source_format == "tau-bench"
        assert list(read_bytes(trace.model_dump_json().encode())) == [trace]
        assert all(
            call.result.is_error is (True if call.result.text.startswith("Error:") else None)
            for _, _, call in trace.calls()
        )
        assert max(len(each) for each in names(trace)) == 1
        assert "missing" not in states(trace)

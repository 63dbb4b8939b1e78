import pytest
from pydantic import JsonValue

from formats.recorded import only
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Trace

REAL = files("who_and_when")


def read(*history: JsonValue, **fields: JsonValue) -> Trace:
    labels: dict[str, JsonValue] = {"mistake_agent": "Coder", "mistake_step": "1", "mistake_reason": "secret"}
    (trace,) = read_document({"history": list(history), "question": "fix it", "question_ID": "q", **labels, **fields})
    assert trace.source_format == "who-and-when"
    return trace


def test_entries_are_steps_of_the_agents_they_name_and_know_their_place():
    prompts: JsonValue = {"Coder": "you code"}
    trace = read(
        {"role": "assistant", "name": "Coder", "content": "run this"},
        {"role": "user", "name": "Terminal", "content": "exitcode: 0"},
        system_prompt=prompts,
    )
    assert [(step.agent, step.message) for step in trace.steps] == [("Coder", "run this"), ("Terminal", "exitcode: 0")]
    assert [step.extra for step in trace.steps] == [{"message_index": 0}, {"message_index": 1}]
    assert (trace.task, trace.system, trace.trace_id) == ("fix it", "Coder: you code", "q")


def test_the_human_s_entry_is_the_task_and_roles_tell_the_agent():
    trace = read(
        {"role": "human", "content": "please"},
        {"role": "Orchestrator (-> Coder)", "content": "go"},
        {"role": "Coder", "content": "went"},
    )
    assert trace.task == "please"
    assert [(step.agent, step.extra["message_index"]) for step in trace.steps] == [("Orchestrator", 1), ("Coder", 2)]
    assert trace.steps[0].extra["role"] == "Orchestrator (-> Coder)"


def test_labels_stay_in_extra():
    trace = read({"role": "Coder", "content": "go"}, ground_truth="secret too")
    assert trace.extra["mistake_step"] == "1"
    assert "secret" not in trace.model_copy(update={"extra": {}}).model_dump_json()


@pytest.mark.skipif(not REAL, reason=WHY)
def test_real_records_are_detected_and_read():
    found = {path.name: only(path, "who-and-when") for path in REAL}
    assert {name: len(trace.steps) for name, trace in found.items()} == {
        "algorithm_generated_1.json": 6,
        "algorithm_generated_10.json": 10,
        "hand_crafted_1.json": 28,
    }
    for trace in found.values():
        mistaken = [
            step.agent for step in trace.steps if str(step.extra["message_index"]) == trace.extra["mistake_step"]
        ]
        assert mistaken == [trace.extra["mistake_agent"]]

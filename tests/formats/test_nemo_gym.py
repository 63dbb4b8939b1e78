import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, shape
from formats.shared_traces import TRACES, WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_bytes, read_document, read_file
from stepjudge.trace import Message, Result, Tool, Trace, Usage

CALL: JsonValue = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
OUTPUT: JsonValue = {"type": "function_call_output", "call_id": "c", "output": "x"}
DONE: JsonValue = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}


def rollout(
    output: list[JsonValue],
    *,
    given: JsonValue = None,
    params: dict[str, JsonValue] | None = None,
    usage: JsonValue = None,
    **fields: JsonValue,
) -> JsonValue:
    asked: JsonValue = [{"role": "user", "content": "fix it"}] if given is None else given
    stated = usage or {"input_tokens": 9, "output_tokens": 2}
    return {
        "responses_create_params": {
            "input": asked,
            "tools": [{"type": "function", "name": "look"}],
            **(params or {}),
        },
        "response": {"id": "r", "object": "response", "model": "m", "output": output, "usage": stated},
        "reward": 1.0,
        **fields,
    }


def read(document: object) -> Trace:
    """Detected, not named."""
    (trace,) = read_document(document)
    assert trace.source_format == "nemo-gym"
    return trace


def test_a_rollout_is_its_input_and_its_output_and_the_reward_stays_beside():
    trace = read(rollout([CALL, OUTPUT, DONE], agent_ref={"name": "simple"}))
    assert (trace.task, trace.tools, trace.agent, trace.model) == ("fix it", (Tool(name="look"),), "simple", "m")
    assert (shape(trace), trace.final_output) == ([(1, 1), (1, 0)], "done")
    assert trace.usage == Usage(prompt_tokens=9, completion_tokens=2)
    assert trace.extra["reward"] == 1.0


def test_rollouts_of_one_task_have_ids_of_their_own():
    ids = [read(rollout([DONE], _ng_rollout_index=index)).trace_id for index in range(2)]
    assert ids == ["r/0", "r/1"]


def test_an_empty_input_takes_the_task_from_the_problem_statement():
    config: JsonValue = {"agent_kwargs": {"system_prompt": "be kind"}}
    trace = read(
        rollout([DONE], given=[], params={"metadata": {"problem_statement": "it broke"}}, instance_config=config)
    )
    assert (trace.system, trace.task) == ("be kind", "it broke")
    assert any("prompt is not in the rollout" in note for note in trace.notes)


def test_a_usage_of_nothing_is_unknown():
    trace = read(rollout([CALL], usage={"input_tokens": 0, "output_tokens": 0}))
    assert (trace.usage, trace.steps[0].calls[0].result.state) == (None, "missing")
    assert trace.notes == ("the usage states no tokens at all: taken as unknown",)


def test_a_simulation_of_tau2_tells_errors_times_and_the_words_of_the_user():
    simulation: JsonValue = {
        "reward_info": {"reward": 0.0},
        "messages": [
            {"role": "assistant", "content": "Hi!", "usage": None},
            {"role": "user", "content": "refund me", "usage": {"prompt_tokens": 1}},
            {"role": "assistant", "content": "", "timestamp": "2026-01-01T00:00:00", "cost": 0.5,
             "usage": {"prompt_tokens": 5, "completion_tokens": 1},
             "tool_calls": [{"id": "c", "name": "look", "arguments": {"q": 1}, "requestor": "assistant"}]},
            {"role": "tool", "id": "c", "content": "no such order", "error": True, "requestor": "assistant"},
            {"role": "assistant", "content": "no", "usage": {"prompt_tokens": 6}},
            {"role": "user", "content": None, "tool_calls": [{"id": "u", "name": "toggle", "arguments": {}}]},
            {"role": "tool", "id": "u", "content": "on", "error": False, "requestor": "user"},
            {"role": "assistant", "content": "bye", "usage": {"prompt_tokens": 7}},
        ],
    }  # fmt: skip
    system: JsonValue = {"role": "system", "content": "policy", "type": "message"}
    trace = read(rollout([DONE], given=[system], result=simulation))
    assert (trace.system, trace.task, shape(trace)) == ("policy", "refund me", [(1, 1), (1, 0), (1, 0)])
    first = trace.steps[0]
    assert first.before == (Message(role="assistant", text="Hi!"),)
    assert first.usage == Usage(prompt_tokens=5, completion_tokens=1, cost_usd=0.5)
    assert first.calls[0].result == Result(text="no such order", state="present", is_error=True)
    assert [each.text for each in trace.steps[2].before] == ["toggle({})", "on"]
    assert trace.extra["result"] == {"reward_info": {"reward": 0.0}}


def test_lines_are_read_one_by_one_and_a_task_without_response_is_a_near_miss():
    lines = b'{"responses_create_params": {}, "response": {"output": [{"role": "assistant", "content": "a"}]}}\n' * 2
    assert len(list(read_bytes(lines))) == 2
    with pytest.raises(UnreadableTrace, match="a task of NeMo Gym, not a rollout"):
        list(read_document({"responses_create_params": {}}))


def test_a_rollout_without_output_has_nothing_to_judge():
    with pytest.raises(UnreadableTrace, match="no steps"):
        read(rollout([]))


@pytest.mark.skipif(not files("nemo_gym_rollout"), reason=WHY)
def test_the_real_files_are_read():
    empty = TRACES / "nemo_gym_rollout" / "swe_agents_dummy_response.json"
    with pytest.raises(UnreadableTrace, match="read as nemo-gym: the trace has no steps"):
        list(read_file(empty))
    found = {path.name: list(read_file(path)) for path in files("nemo_gym_rollout") if path != empty}
    assert {trace.source_format for traces in found.values() for trace in traces} == {"nemo-gym"}
    counts = {
        name: [(len(trace.steps), len(list(trace.calls()))) for trace in traces] for name, traces in found.items()
    }
    assert counts == {
        "anyswe_claude_code_l0.jsonl": [(8, 7)],
        "anyswe_openclaw_l0-1.jsonl": [(1, 0), (1, 0)],
        "mini_swe_agent_2_l0-1.jsonl": [(5, 8), (5, 6)],
        "tau2_l0.jsonl": [(5, 4)],
        "workplace_assistant.jsonl": [(2, 1), (2, 1), (3, 2), (3, 2), (3, 2)],
    }
    assert outcomes(found["tau2_l0.jsonl"][0]) == {("present", False)}
    assert outcomes(found["mini_swe_agent_2_l0-1.jsonl"][0]) == {("present", None), ("missing", None)}
    for traces in found.values():
        for trace in traces:
            assert list(read_bytes(trace.model_dump_json().encode())) == [trace]

import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Call, Result, Trace, Usage
from stepjudge.value import JsonObject


def read(document: object) -> Trace:
    (trace,) = read_document(document)
    assert trace.source_format == "swe-agent"
    return trace


def step(action: str, observation: str = "seen", thought: str = "think") -> JsonObject:
    response = f"{thought}\n```\n{action}\n```"
    return {"action": action, "observation": observation, "thought": thought, "response": response, "state": "{}"}


def entry(role: str, content: str, **fields: JsonValue) -> JsonObject:
    kind = {"system": "system_prompt", "assistant": "action"}.get(role, "observation")
    return {"role": role, "content": content, "agent": "main", "message_type": kind, **fields}


def acted(action: str, *functions: tuple[str, str, str]) -> JsonObject:
    calls: JsonValue = [{"id": id, "function": {"name": name, "arguments": given}} for id, name, given in functions]
    return entry("assistant", "think", thought="think", action=action, **({"tool_calls": calls} if functions else {}))


OPENING: list[JsonValue] = [entry("system", "be kind"), entry("user", "fix it")]


def test_an_action_in_text_is_a_command_of_the_shell():
    trace = read({"trajectory": [step("ls -F\n"), step("rm x\n", "")], "history": OPENING, "info": {}})
    assert [each.calls for each in trace.steps] == [
        (Call(name="bash", arguments={"command": "ls -F\n"}, result=Result(text="seen", state="present")),),
        (Call(name="bash", arguments={"command": "rm x\n"}, result=Result(state="empty")),),
    ]
    assert (trace.system, trace.task, trace.steps[0].message) == ("be kind", "fix it", "think")


def test_an_action_that_was_a_function_call_is_that_call_also_where_the_history_is_shorter():
    history = [*OPENING, acted("open a", ("c1", "open", '{"path": "a"}')), acted("edit", ("c2", "edit", "{broken"))]
    trace = read({"trajectory": [step("open a"), step("odd"), step("edit")], "history": history, "info": {}})
    assert [(call.id, call.name, call.arguments_state) for _, _, call in trace.calls()] == [
        *(("c1", "open", "ok"), (None, "bash", "ok")),
        ("c2", "edit", "unparsed"),
    ]
    assert trace.notes == ("the history has no function call for an action: it is told as a command of the shell",)


def test_an_action_done_twice_is_the_call_of_each_time():
    history = [*OPENING, *(acted("ls", (id, "bash", '{"command": "ls"}')) for id in ("c1", "c2"))]
    trace = read({"trajectory": [step("ls"), step("ls")], "history": history, "info": {}})
    assert [call.id for _, _, call in trace.calls()] == ["c1", "c2"]


def test_a_step_without_an_action_has_its_observation_and_no_call():
    (only,) = read({"trajectory": [step("", "no command found")], "history": OPENING, "info": {}}).steps
    assert (only.calls, only.observation) == ((), Result(text="no command found", state="present"))


def test_demonstrations_shown_to_the_model_are_no_steps():
    shown = [entry("user", "a demo", is_demo=True), {**acted("ls"), "is_demo": True}]
    trace = read({"history": [OPENING[0], *shown, OPENING[1], acted("pwd"), entry("user", "/")]})
    assert [call.arguments for _, _, call in trace.calls()] == [{"command": "pwd"}]
    assert (trace.task, trace.notes) == ("fix it", ("a demonstration shown to the model was left out (2 times)",))


def test_a_history_alone_pairs_tool_messages_by_id():
    history = [*OPENING, acted("x", ("a", "open", "{}"), ("b", "edit", "{}")),
               entry("tool", "B", tool_call_ids=["b"]), entry("tool", "A", tool_call_ids=["a"])]  # fmt: skip
    (only,) = read({"history": history}).steps
    assert [(call.name, call.result.text) for call in only.calls] == [("open", "A"), ("edit", "B")]


def test_statistics_submission_and_model_are_carried():
    stats: JsonValue = {"instance_cost": 0.5, "tokens_sent": 7, "tokens_received": 2, "api_calls": 1}
    info: JsonValue = {"model_stats": stats, "submission": "diff", "exit_status": "submitted", "edited_files30": "x"}
    config = '{"agent": {"model": {"name": "m"}}}'
    nothing: JsonValue = []
    other: JsonValue = [{"trajectory": nothing}]
    trace = read(
        {"trajectory": [step("ls")], "history": nothing, "info": info, "replay_config": config, "attempts": other}
    )
    assert (trace.final_output, trace.model, trace.extra) == ("diff", "m", {"info": {"exit_status": "submitted"}})
    assert trace.usage == Usage(prompt_tokens=7, completion_tokens=2, cost_usd=0.5)
    assert len(trace.notes) == 1


@pytest.mark.skipif(not files("sweagent_traj"), reason=WHY)
def test_the_real_files_are_read():
    found = {name: trace for name, (trace,) in read_every("sweagent_traj").items()}
    assert {trace.source_format for trace in found.values()} == {"swe-agent"}
    assert {name: shape(trace) for name, trace in found.items()} == {
        "function_calling_simple.traj": [(1, 1)] * 5,
        "marshmallow_default_thought_action.traj": [(1, 1)] * 14,
        "marshmallow_function_calling_replace.traj": [(1, 1)] * 11,
        "test_repo_1c2844_v0.traj": [(1, 1)] * 5,
    }
    functions = found["marshmallow_function_calling_replace.traj"]
    assert [call.name for _, _, call in functions.calls()] == [
        *("create", "insert", "bash", "bash", "find_file", "open", "edit", "edit", "bash", "bash"),
        "submit",
    ]
    assert outcomes(functions) == {("present", None), ("empty", None)}
    assert found["test_repo_1c2844_v0.traj"].usage == Usage(
        prompt_tokens=7141, completion_tokens=243, cost_usd=0.019520000000000006
    )

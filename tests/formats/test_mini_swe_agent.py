import pytest
from pydantic import JsonValue

from formats.recorded_runs import outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Message, Result, Trace, Usage
from stepjudge.value import JsonObject

TASK: JsonObject = {"role": "user", "content": "fix it"}


def read(document: object) -> Trace:
    (trace,) = read_document(document)
    assert trace.source_format == "mini-swe-agent"
    return trace


def run(*messages: JsonValue, **info: JsonValue) -> Trace:
    return read({"trajectory_format": "mini-swe-agent-1.1", "info": info, "messages": [TASK, *messages]})


def says(command: str, *, block: str = "mswea_bash_command", **extra: JsonValue) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": f"think\n\n```{block}\n{command}\n```"}
    return {**message, "extra": extra} if extra else message


def calls(*ids: str, name: str = "bash") -> JsonObject:
    made: JsonValue = [{"id": id, "function": {"name": name, "arguments": '{"command": "ls"}'}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, "extra": {"cost": 0.5, "timestamp": 86400.5}}


def output(text: str, role: str = "user", id: str | None = None, **extra: JsonValue) -> JsonObject:
    message: JsonObject = {"role": role, "content": text, "extra": {"returncode": 0, "raw_output": text, **extra}}
    return {**message, "tool_call_id": id} if id else message


def test_a_command_in_the_text_is_a_call_and_the_next_message_its_result():
    trace = run(says("ls", actions=[{"command": "ls"}]), output("a", returncode=2), says("pwd"), output("/"))
    assert [(call.name, call.arguments, call.result.exit_code) for _, _, call in trace.calls()] == [
        ("bash", {"command": "ls"}, 2),
        ("bash", {"command": "pwd"}, 0),
    ]
    assert outcomes(trace) == {("present", False)}


def test_parallel_calls_are_one_step_and_find_their_results():
    (step,) = run(calls("a", "b"), output("B", "tool", "b"), output("A", "tool", "a", exception_info="timeout")).steps
    assert [(call.result.text, call.result.is_error) for call in step.calls] == [("A", True), ("B", False)]
    assert (step.usage, step.started_at) == (Usage(cost_usd=0.5), "1970-01-02T00:00:00.500000+00:00")


def test_a_bare_list_is_recognised_by_its_blocks_and_its_return_codes():
    answered: JsonObject = {"role": "user", "content": "<returncode>1</returncode>\n<output>\n</output>"}
    for block in ("mswea_bash_command", "bash"):
        (step,) = read([TASK, says("ls", block=block), answered]).steps
        assert (step.calls[0].arguments, step.calls[0].result.exit_code) == ({"command": "ls"}, 1)
        assert step.calls[0].result.is_error is None
    (chat,) = read_document([TASK, says("ls", block="bash"), {"role": "user", "content": "thanks"}])
    assert chat.source_format == "openai-chat"


def test_an_answer_with_two_commands_runs_none():
    two: JsonObject = {"role": "assistant", "content": f"{says('a')['content']}\n{says('b')['content']}"}
    (step,) = run(two, {"role": "user", "content": "exactly one, please"}).steps
    assert (step.calls, step.observation) == ((), Result(text="exactly one, please", state="present"))


def test_an_answer_that_could_not_be_parsed_is_a_step_though_the_harness_dropped_it():
    wrong = output("format error", interrupt_type="FormatError", model_response="no command")
    lost = output("format error", interrupt_type="FormatError")
    trace = run(calls("a"), output("A", "tool", "a"), wrong, lost)
    assert [step.message for step in trace.steps] == ["", "no command", ""]
    assert [step.observation for step in trace.steps[1:]] == [
        Result(text="format error", state="present", is_error=True)
    ] * 2
    assert trace.notes == ("the log does not have what the model said in an answer that could not be parsed",)


def test_a_run_that_submits_ends_within_its_last_call():
    submitted: JsonObject = {"exit_status": "Submitted", "submission": "diff"}
    stats: JsonValue = {"instance_cost": 1.5, "api_calls": 1}
    trace = run(calls("a"), {"role": "exit", "content": "diff", "extra": submitted}, model_stats=stats)
    assert (trace.final_output, trace.usage) == ("diff", Usage(cost_usd=1.5))
    assert trace.steps[0].calls[0].result == Result(text="diff", state="present")


def test_a_run_that_was_stopped_leaves_its_last_call_unanswered():
    trace = run(calls("a"), {"role": "exit", "content": "too dear", "extra": {"exit_status": "LimitsExceeded"}})
    assert trace.steps[0].calls[0].result.state == "missing"
    assert (trace.after, trace.final_output) == ((Message(role="other", text="too dear", name="exit"),), None)


def test_a_user_who_interrupts_opens_a_turn():
    trace = run(calls("a"), output("A", "tool", "a"), output("stop", interrupt_type="UserInterruption"), says("pwd"))
    assert shape(trace) == [(1, 1), (2, 1)]


@pytest.mark.skipif(not files("mini_swe_agent"), reason=WHY)
def test_the_real_files_are_read():
    found = {name: trace for name, (trace,) in read_every("mini_swe_agent").items()}
    assert {name: shape(trace) for name, trace in found.items()} == {
        "5262_article_textbased.traj.json": [(1, 1)] * 8,
        "5262_article_toolcall.traj.json": [(1, 1)] * 8,
        "5262_parallel_toolcall.traj.json": [(1, 2), (1, 2), (1, 1), (1, 1), (1, 1)],
        "github_issue_v1_messages.json": [(1, 1)] * 10,
    }
    text, tools = found["5262_article_textbased.traj.json"], found["5262_article_toolcall.traj.json"]
    assert [call.arguments for _, _, call in text.calls()] == [call.arguments for _, _, call in tools.calls()]
    words = [str((call.arguments or {})["command"]).split()[0] for _, _, call in tools.calls()]
    assert words == ["find", "cat", "grep", "sed", "sed", "python", "cd", "echo"]
    for name in found:
        assert {call.name for _, _, call in found[name].calls()} == {"bash"}
        if name.startswith("5262"):
            assert outcomes(found[name]) == {("present", False), ("present", None)}
            assert (found[name].final_output or "").startswith("diff --git")
            assert [call.result.exit_code for _, _, call in found[name].calls()][:-1] == [0] * (
                len(list(found[name].calls())) - 1
            )

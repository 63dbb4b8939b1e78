import pytest
from pydantic import JsonValue

from formats.recorded_runs import is_the_article_run, is_the_parallel_run, outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Result, Trace, Usage


def read(*messages: JsonValue) -> Trace:
    """Detected, not named."""
    (trace,) = read_document({"messages": list(messages), "stop_reason": None})
    assert trace.source_format == "autogen"
    return trace


def told(type: str, content: JsonValue = None, source: str = "bot", **fields: JsonValue) -> JsonValue:
    return {"type": type, "source": source, "content": content, **fields}


def request(*ids: str, source: str = "bot", **fields: JsonValue) -> JsonValue:
    calls: list[JsonValue] = [{"id": id, "name": "look", "arguments": "{}"} for id in ids]
    return told("ToolCallRequestEvent", calls, source, **fields)


def result(content: JsonValue, id: str, **fields: JsonValue) -> JsonValue:
    return {"content": content, "name": "look", "call_id": id, **fields}


def executed(*results: JsonValue) -> JsonValue:
    return told("ToolCallExecutionEvent", list(results))


TASK = told("TextMessage", "fix it", "user")


def test_a_request_is_one_step_with_all_its_calls_its_usage_and_its_time():
    usage: JsonValue = {"prompt_tokens": 9, "completion_tokens": 2}
    trace = read(TASK, request("a", "b", models_usage=usage, created_at="2026-01-01T00:00:00Z"),
                 executed(result("B", "b", is_error=False), result("boom", "a", is_error=True)))  # fmt: skip
    (step,) = trace.steps
    assert (step.agent, step.usage) == ("bot", Usage(prompt_tokens=9, completion_tokens=2))
    assert step.started_at == "2026-01-01T00:00:00Z"
    assert [each.result for each in step.calls] == [
        Result(text="boom", state="present", is_error=True), Result(text="B", state="present", is_error=False)]  # fmt: skip


def test_calls_without_results_are_missing_and_arguments_that_are_no_json_stay_text():
    broken: JsonValue = [{"id": "a", "name": "look", "arguments": '{"q": "unter'}]
    (call,) = read(TASK, told("ToolCallRequestEvent", broken)).steps[0].calls
    assert (call.result.state, call.arguments_state, call.arguments_raw) == ("missing", "unparsed", '{"q": "unter')


def test_a_thought_before_calls_is_what_was_said_and_before_words_it_is_private():
    trace = read(TASK, told("ThoughtEvent", "I look"), request("a"), executed(result("x", "a")),
                 told("ThoughtEvent", "hm"), told("TextMessage", "done"))  # fmt: skip
    assert [(step.message, step.reasoning) for step in trace.steps] == [("I look", ""), ("done", "hm")]


def test_a_thought_that_another_agent_follows_is_a_step_of_its_own():
    trace = read(TASK, told("ThoughtEvent", "hm"), told("TextMessage", "hello", "other"), told("ThoughtEvent", "well"))
    assert [(step.agent, step.message, step.reasoning) for step in trace.steps] == [
        ("bot", "", "hm"), ("other", "hello", ""), ("bot", "", "well")]  # fmt: skip
    assert trace.notes == ("a thought is followed by no message of its agent (2 times)",)


def test_a_summary_of_tool_results_is_no_step_but_the_final_output():
    trace = read(TASK, request("a"), executed(result("x", "a")), told("ToolCallSummaryMessage", "x"))
    assert (shape(trace), trace.final_output, [each.text for each in trace.after]) == ([(1, 1)], "x", ["x"])


def test_a_handoff_is_no_step_and_the_next_agent_is_named():
    trace = read(TASK, request("a"), executed(result("x", "a")), told("HandoffMessage", "to ann", target="ann"),
                 told("TextMessage", "done", "ann"))  # fmt: skip
    assert [(step.agent, [each.text for each in step.before]) for step in trace.steps] == [
        ("bot", []), ("ann", ["to ann"])]  # fmt: skip


def test_people_are_known_by_the_input_that_was_asked_of_them():
    trace = read(TASK, told("TextMessage", "which?"), told("UserInputRequestedEvent", "", "ann"),
                 told("TextMessage", "this", "ann"), told("TextMessage", "done"))  # fmt: skip
    assert [(step.turn, [(each.role, each.name) for each in step.before]) for step in trace.steps] == [
        (1, []), (2, [("user", "ann")])]  # fmt: skip


def test_code_that_was_executed_is_a_call_with_its_exit_code():
    blocks: JsonValue = [{"code": "1/0", "language": "python"}]
    trace = read(TASK, told("CodeGenerationEvent", "I run it", code_blocks=blocks, retry_attempt=0),
                 told("CodeExecutionEvent", result={"exit_code": 1, "output": "ZeroDivisionError"}))  # fmt: skip
    (step,) = trace.steps
    assert (step.message, step.calls[0].name, step.calls[0].arguments) == (
        "I run it", "code_executor", {"code_blocks": blocks})  # fmt: skip
    assert step.calls[0].result == Result(text="ZeroDivisionError", state="present", exit_code=1)


def test_structured_and_multimodal_messages_are_steps_with_what_they_hold():
    trace = read(told("MultiModalMessage", ["see", {"data": "QUJD"}], "user"),
                 told("StructuredMessage[Answer]", {"text": "a", "n": 1}))  # fmt: skip
    assert (trace.task, [each.kind for each in trace.task_attachments]) == ("see", ["image"])
    assert trace.steps[0].message == '{"text":"a","n":1}'


def test_pieces_of_a_stream_are_left_out_and_unknown_types_are_noted():
    trace = read(TASK, told("ModelClientStreamingChunkEvent", "do"), told("TextMessage", "done"), told("Hologram", "x"))
    assert ([step.message for step in trace.steps], [each.text for each in trace.after]) == (["done"], ["x"])
    assert len(trace.notes) == 2


def test_messages_of_autogen_core_are_read():
    trace = read(
        {"type": "SystemMessage", "content": "be kind"},
        told("UserMessage", "fix it", "User"),
        told("AssistantMessage", [{"id": "a", "name": "look", "arguments": "{}"}], thought="I look"),
        {"type": "FunctionExecutionResultMessage", "content": [result("x", "a", is_error=False)]},
        told("AssistantMessage", "done", thought="hm"),
    )
    assert (trace.system, trace.task, outcomes(trace)) == ("be kind", "fix it", {("present", False)})
    assert [(step.message, step.reasoning) for step in trace.steps] == [("I look", ""), ("done", "hm")]


def test_messages_without_a_source_are_a_near_miss():
    with pytest.raises(UnreadableTrace, match="autogen: its messages have no `source`"):
        list(read_document([{"type": "TextMessage", "content": "x"}]))


@pytest.mark.skipif(not files("autogen"), reason=WHY)
def test_the_real_files_are_read():
    found = read_every("autogen")
    assert {trace.source_format for traces in found.values() for trace in traces} == {"autogen"}
    (article,), (parallel,) = found["5262_article_task_result.json"], found["5262_parallel_task_result.json"]
    (history,) = found["history-wile_e_coyote_1.json"]
    assert is_the_article_run(article)
    assert is_the_parallel_run(parallel)
    assert shape(article) == [(1, 1)] * 7 + [(1, 0)]
    assert outcomes(article) == outcomes(parallel) == outcomes(history) == {("present", False)}
    assert shape(history) == [(1, 0), (2, 1), (2, 0)]

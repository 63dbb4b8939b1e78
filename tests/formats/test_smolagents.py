import pytest
from pydantic import JsonValue

from formats.recorded_runs import is_the_article_run, outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Call, Result, Trace, Usage
from stepjudge.value import JsonObject

TASK: JsonObject = {"task": "fix it", "task_images": None}


def read(document: object) -> Trace:
    (trace,) = read_document(document)
    assert trace.source_format == "smolagents"
    return trace


def call(id: str, name: str = "look", arguments: JsonValue = None) -> JsonValue:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments or {"q": id}}}


def step(*made: JsonValue, observations: str | None = "seen", **fields: JsonValue) -> JsonObject:
    shown: JsonValue = [{"role": "system", "content": [{"type": "text", "text": "be kind"}]}]
    return {
        "step_number": 1,
        "timing": {"start_time": 86400},
        "model_input_messages": shown,
        "model_output_message": {"role": "assistant", "content": "think", "tool_calls": list(made)},
        "model_output": "think",
        "tool_calls": list(made),
        "error": None,
        "observations": observations,
        "action_output": None,
        "token_usage": {"input_tokens": 7, "output_tokens": 2},
        **fields,
    }


def failure(kind: str, message: str = "no") -> JsonValue:
    return {"type": kind, "message": message}


def test_the_call_of_a_failed_step_is_taken_from_what_the_model_emitted():
    failed = step(call("a"), tool_calls=[], observations=None, error=failure("AgentToolCallError"))
    (only,) = read([TASK, failed]).steps
    result = Result(text="no", state="present", is_error=True, error_kind="bad_arguments")
    assert only.calls == (Call(name="look", id="a", arguments={"q": "a"}, result=result),)


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("AgentToolExecutionError", "Unknown tool look, should be one of: see.", "unknown_tool"),
        ("AgentToolExecutionError", "Error executing tool 'look'", "tool_error"),
        ("AgentExecutionError", "boom", "tool_error"),
        ("AgentGenerationError", "boom", None),
    ],
)
def test_errors_have_the_kind_that_their_type_tells(kind: str, message: str, expected: str | None):
    (only,) = read([TASK, step(call("a"), observations=None, error=failure(kind, message))]).steps
    assert (only.calls[0].result.is_error, only.calls[0].result.error_kind) == (True, expected)


def test_observations_of_parallel_calls_stand_with_the_step():
    trace = read([TASK, step(call("a"), call("b"), observations="A\nB")])
    (only,) = trace.steps
    assert [each.result.state for each in only.calls] == ["missing", "missing"]
    assert only.observation == Result(text="A\nB", state="present", is_error=False)
    assert trace.notes == ("smolagents joins the observations of parallel calls in one text: it stands with the step",)


def test_an_agent_that_acts_in_code_calls_its_interpreter():
    code = call("a", "python_interpreter", "print(1)")
    (only,) = read([TASK, step(code, code_action="print(1)", model_output_message={"content": "think"})]).steps
    assert [(each.name, each.arguments) for each in only.calls] == [("python_interpreter", {"code": "print(1)"})]


def test_an_answer_without_a_call_is_a_step_with_what_came_back():
    wrong = step(observations=None, error=failure("AgentParsingError", "no code block"))
    (only,) = read([TASK, wrong]).steps
    assert (only.calls, only.observation) == ((), Result(text="no code block", state="present", is_error=True))


def test_tasks_are_turns_and_plans_are_steps():
    plan: JsonObject = {"plan": "first look", "model_output_message": {}, "token_usage": None}
    trace = read([TASK, plan, step(call("a")), {"task": "more"}, step(call("b"), observations="")])
    assert (trace.system, trace.task, shape(trace)) == ("be kind", "fix it", [(1, 0), (1, 1), (2, 1)])
    assert trace.steps[2].calls[0].result.state == "empty"
    assert (trace.steps[1].usage, trace.steps[1].started_at) == (
        Usage(prompt_tokens=7, completion_tokens=2),
        "1970-01-02T00:00:00+00:00",
    )


def test_the_final_answer_is_the_final_output():
    answer = call("a", "final_answer", {"answer": "done"})
    for last in (step(answer, is_final_answer=True), step(answer, is_final_answer=True, action_output="done")):
        assert read([TASK, last]).final_output == "done"
    whole = read(
        {"output": "42", "steps": [TASK, step(call("a"))], "token_usage": {"input_tokens": 9}, "state": "success"}
    )
    assert (whole.final_output, whole.usage, whole.extra) == ("42", Usage(prompt_tokens=9), {"state": "success"})


@pytest.mark.skipif(not files("smolagents"), reason=WHY)
def test_the_real_files_are_read():
    found = read_every("smolagents")
    (article,), (parallel,) = found["5262_article_full_steps.json.gz"], found["5262_parallel_full_steps.json"]
    assert is_the_article_run(article)
    assert (shape(article), outcomes(article)) == ([(1, 1)] * 8, {("present", False)})
    assert [each.name for each in article.steps[7].calls] == ["final_answer"]
    assert shape(parallel) == [(1, 2), (1, 2), (1, 1), (1, 1), (1, 1)]
    assert outcomes(parallel) == {("missing", None), ("present", False)}
    assert [call.name for _, _, call in parallel.calls()] == [
        *("terminal", "terminal", "file_editor", "file_editor", "file_editor", "terminal"),
        "final_answer",
    ]
    assert [step.observation is not None for step in parallel.steps] == [True, True, False, False, False]
    assert (parallel.final_output or "").startswith("`EncodedFile.mode` no longer includes `b`")

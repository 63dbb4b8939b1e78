import pytest
from pydantic import JsonValue

from formats.recorded import PARALLEL, assert_is_the_article, errors, names, only, states
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

RECORDED = files("langsmith_runs")


def run(id: str, kind: str, number: int, parent: str | None = "root", **fields: JsonValue) -> JsonObject:
    order = f"20260101T00000{number}000000Z{id}"
    return {
        "id": id,
        "run_type": kind,
        "name": fields.pop("name", kind),
        "trace_id": "root",
        "parent_run_id": parent,
        "dotted_order": order if parent is None else f"20260101T000000000000Zroot.{order}",
        "error": None,
        **fields,
    }


def generation(content: str, *calls: JsonValue) -> JsonValue:
    usage: JsonValue = {"input_tokens": 3}
    message: JsonValue = {"type": "ai", "content": content, "tool_calls": list(calls), "usage_metadata": usage}
    return {"generations": [[{"message": message}]]}


def call(id: str, name: str = "look", **args: JsonValue) -> JsonValue:
    return {"name": name, "args": args, "id": id}


def asked(*more: JsonValue) -> JsonValue:
    return {"messages": [[{"type": "human", "content": "fix it"}, *more]]}


def read(*runs: JsonValue) -> Trace:
    (trace,) = read_document(list(runs))
    assert trace.source_format == "langsmith"
    return trace


ROOT = run("root", "chain", 0, None, name="agent")


def test_calls_come_from_the_model_and_a_tool_that_does_not_exist_has_no_run():
    refused: JsonValue = {"type": "tool", "content": "no such tool", "tool_call_id": "b", "status": "error"}
    said: JsonValue = {"type": "ai", "content": "", "tool_calls": [call("a"), call("b", "fly")]}
    trace = read(
        ROOT,
        run("1", "llm", 1, inputs=asked(), outputs=generation("", call("a", q=1), call("b", "fly"))),
        run("2", "tool", 2, name="look", inputs={"q": 1}, outputs={"output": "seen"}, extra={"tool_call_id": "a"}),
        run("3", "llm", 3, inputs=asked(said, refused), outputs=generation("done")),
    )
    assert names(trace) == [("look", "fly"), ()]
    assert errors(trace) == [False, True]
    assert [each.result.text for _, _, each in trace.calls()] == ["seen", "no such tool"]
    assert (trace.task, trace.agent, trace.trace_id) == ("fix it", "agent", "root")


def test_runs_are_ordered_by_dotted_order_and_not_by_their_place():
    first = run("1", "llm", 1, inputs=asked(), outputs=generation("one"))
    second = run("2", "llm", 2, inputs=asked(), outputs=generation("two"))
    assert [step.message for step in read(second, ROOT, first).steps] == ["one", "two"]


def test_a_failed_tool_run_is_an_error_with_what_was_raised():
    failed = run("2", "tool", 2, name="look", inputs={}, outputs=None, error="ValueError('no')")
    trace = read(ROOT, run("1", "llm", 1, inputs=asked(), outputs=generation("", call("a"))), failed)
    assert [(each.result.text, each.result.is_error) for _, _, each in trace.calls()] == [("ValueError('no')", True)]


def test_a_failed_model_run_is_no_step_and_is_noted():
    failed = run("1", "llm", 1, inputs=asked(), outputs=None, error="overloaded")
    trace = read(ROOT, failed, run("2", "llm", 2, inputs=asked(), outputs=generation("done")))
    assert len(trace.steps) == 1
    assert trace.notes == ("a model call failed and is no step: overloaded",)


def test_the_run_of_a_sub_agent_nests_below_the_tool_that_started_it():
    trace = read(
        ROOT,
        run("1", "llm", 1, inputs=asked(), outputs=generation("", call("a", "delegate"))),
        run("2", "tool", 2, name="delegate", inputs={}, outputs={"output": "done"}),
        run("3", "llm", 3, "2", inputs=asked(), outputs=generation("inner")),
    )
    (inner,) = trace.steps[0].calls[0].subtraces
    assert [step.message for step in inner.steps] == ["inner"]
    assert len(trace.steps) == 1


def test_a_prompt_that_is_text_is_completed_from_the_outermost_run():
    record: JsonValue = [{"type": "human", "content": "fix it"}, {"type": "ai", "content": "done"}]
    root: JsonValue = {**ROOT, "outputs": {"messages": record}}
    llm = run("1", "llm", 1, inputs={"prompts": ["System: be kind\nHuman: fix it"]}, outputs=generation("done"))
    trace = read(root, llm)
    assert (trace.system, trace.task, trace.final_output) == ("be kind", "fix it", "done")


def test_nested_runs_and_wrapped_clients_are_read():
    message: JsonValue = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": "{"}}],
    }
    llm = run(
        "1",
        "llm",
        1,
        inputs={"messages": [{"role": "user", "content": "fix it"}], "tools": [{"name": "look"}]},
        outputs={"choices": [{"message": message}], "usage": {"prompt_tokens": 7}},
        total_cost="0.5",
    )
    (trace,) = read_document({**ROOT, "child_runs": [llm]})
    assert trace.steps[0].calls[0].arguments_raw == "{"
    assert trace.steps[0].usage == Usage(prompt_tokens=7)
    assert [tool.name for tool in trace.tools] == ["look"]


def test_runs_without_a_model_or_a_tool_are_refused():
    with pytest.raises(UnreadableTrace, match="no span is of a model or of a tool"):
        read(ROOT)


@pytest.mark.skipif(not RECORDED, reason=WHY)
def test_recordings_tell_the_published_run():
    for path in RECORDED:
        trace = only(path, "langsmith")
        if "article" in path.name:
            assert_is_the_article(trace)
            assert [len(step.calls) for step in trace.steps] == [1] * 7 + [0]
        else:
            assert names(trace) == [*PARALLEL, ()]
        assert (set(states(trace)), set(errors(trace))) == ({"present"}, {False})
        assert trace.system == "You are a helpful software engineering agent."
        assert [tool.name for tool in trace.tools] == ["terminal", "file_editor"]

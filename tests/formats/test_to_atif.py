import atif
import pytest

from formats.shared_traces import WHY, files
from stepjudge.formats import read_document, read_file
from stepjudge.formats.to_atif import to_atif
from stepjudge.trace import Attachment, Call, Message, Result, Step, Trace, Usage

CALLS = (
    Call(
        name="look", id="c", arguments={"a": 1}, result=Result(text="x", state="present", is_error=False, exit_code=0)
    ),
    Call(name="look", id="d", arguments_raw='{"a', arguments_state="unparsed", result=Result(state="empty")),
    Call(name="gone", id="e", arguments={}),
    Call(name="hid", id="f", arguments={}, arguments_state="elided"),
    Call(name="none", id="g", arguments_state="missing"),
    Call(
        name="big",
        id="h",
        arguments={},
        result=Result(text="x…", state="truncated", is_error=True, error_kind="timeout"),
    ),
)
CHILD = Trace(trace_id="child", agent="b", steps=(Step(index=1, turn=1, llm_call=1, message="hi"),), final_output="hi")
TRACE = Trace(
    trace_id="t",
    source_format="atif",
    agent="a",
    model="m",
    system="be kind",
    task="fix it",
    task_attachments=(Attachment(kind="image", media_type="image/png", source="a.png"),),
    steps=(
        Step(index=1, turn=1, llm_call=1, calls=CALLS, reasoning="hm", usage=Usage(cost_usd=0.5)),
        Step(
            index=2,
            turn=2,
            llm_call=2,
            before=(Message(role="tool", text="stray"), Message(role="user", text="more")),
            message="ok",
            started_at="2026-01-01T00:00:00Z",
            calls=(
                Call(name="ask", id="c", arguments={}, result=Result(text="hi", state="present"), subtraces=(CHILD,)),
                Call(name="ask", id="i", arguments={}, result=Result(text="hi", state="present"), subtraces=(CHILD,)),
            ),
        ),
    ),
    after=(Message(role="user", text="bye"),),
    final_output="fixed",
    usage=Usage(prompt_tokens=3),
)


def told(trace: Trace) -> list[object]:
    """A trace without the `extra`s, the ids and the notes, which say how it was written down."""
    steps = [
        (step.turn, step.llm_call, step.before, step.message, step.reasoning, step.usage, step.model, step.started_at)
        for step in trace.steps
    ]
    calls = [
        (each.name, each.arguments, each.arguments_raw, each.arguments_state, each.result)
        for _, _, each in trace.calls()
    ]
    nested = [told(child) for _, _, each in trace.calls() for child in each.subtraces]
    return [trace.system, trace.task, trace.task_attachments, trace.tools, trace.after, trace.final_output, trace.model,
            trace.usage, steps, calls, nested]  # fmt: skip


def test_what_is_written_is_valid_and_reads_as_the_same_trace():
    written = to_atif(TRACE)
    atif.Trajectory.model_validate(written)
    (again,) = read_document(written)
    assert told(again) == told(TRACE)


def test_calls_without_ids_or_with_equal_ones_get_ids_of_their_own():
    calls = (Call(name="a", arguments={}), Call(name="b", id="x", arguments={}), Call(name="c", id="x", arguments={}))
    written = to_atif(Trace(trace_id="t", steps=(Step(index=1, turn=1, llm_call=1, calls=calls),)))
    read = atif.Trajectory.model_validate(written)
    assert [each.tool_call_id for each in read.steps[0].tool_calls or []] == ["step_1_call_1", "x", "step_1_call_3"]


@pytest.mark.skipif(not files("atif"), reason=WHY)
def test_every_real_trace_is_written_valid_and_reads_as_the_same():
    for path in files("atif", "openai_chat", "nasty_openai_chat"):
        for trace in read_file(path):
            written = to_atif(trace)
            atif.Trajectory.model_validate(written)
            (again,) = read_document(written)
            assert told(again) == told(trace), path.name


@pytest.mark.skipif(not files("atif"), reason=WHY)
def test_the_extras_of_real_atif_survive_being_written():
    for path in files("atif"):
        for trace in read_file(path):
            (again,) = read_document(to_atif(trace))
            assert [step.extra for step in again.steps] == [step.extra for step in trace.steps], path.name
            assert [each.extra for _, _, each in again.calls()] == [each.extra for _, _, each in trace.calls()], (
                path.name
            )

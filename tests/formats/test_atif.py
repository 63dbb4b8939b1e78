import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document, read_file
from stepjudge.formats.to_atif import to_atif
from stepjudge.trace import Attachment, Message, Result, Trace, Usage
from stepjudge.value import JsonObject


def read(document: object) -> Trace:
    (trace,) = read_document(document)
    return trace


def run(*steps: JsonObject, **fields: JsonValue) -> JsonObject:
    numbered: list[JsonValue] = [
        {"step_id": number, "message": "", **step} for number, step in enumerate(steps, start=1)
    ]
    about: JsonValue = {"name": "a", "version": "1"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": about, "steps": numbered, **fields}


def acts(*calls: JsonObject, results: list[JsonValue] | None = None, **fields: JsonValue) -> JsonObject:
    step: JsonObject = {"source": "agent", "tool_calls": [*calls], **fields}
    return step if results is None else {**step, "observation": {"results": results}}


def call(id: str = "c1", arguments: JsonValue = None, **fields: JsonValue) -> JsonObject:
    given: JsonValue = {"a": 1} if arguments is None else arguments
    return {"tool_call_id": id, "function_name": "look", "arguments": given, **fields}


def result(content: JsonValue, id: str | None = "c1", **fields: JsonValue) -> JsonObject:
    return {"source_call_id": id, "content": content, **fields}


USER: JsonObject = {"source": "user", "message": "fix it"}
SAYS: JsonObject = {"source": "agent", "message": "done"}


@pytest.mark.parametrize("version", [f"ATIF-v1.{minor}" for minor in range(9)])
def test_every_published_version_is_recognised(version: str):
    trace = read(run(USER, SAYS, schema_version=version))
    assert (trace.source_format, trace.task, trace.final_output, trace.notes) == ("atif", "fix it", "done", ())


def test_a_later_version_is_read_and_noted():
    assert "schema_version is 'ATIF-v3.0'" in read(run(USER, SAYS, schema_version="ATIF-v3.0")).notes[0]


def test_calls_and_results_pair_by_id_and_a_result_without_content_is_empty():
    step = acts(call("a"), call("b"), call("c"), results=[result("B", "b"), {"source_call_id": "a"}])
    states = [(each.result.state, each.result.text) for each in read(run(USER, step)).steps[0].calls]
    assert states == [("empty", ""), ("present", "B"), ("missing", "")]


def test_unknown_fields_are_kept():
    step = acts(call(extra={"t": 1}), results=[result("x", extra={"score": 2})], reasoning_effort="low", novel=True)
    trace = read(run(USER, step, extra={"k": 1}, novelty=[1]))
    assert trace.extra["extra"] == {"k": 1}
    assert trace.extra["novelty"] == [1]
    assert trace.steps[0].extra == {"reasoning_effort": "low", "novel": True}
    assert trace.steps[0].calls[0].extra == {"extra": {"t": 1}, "result": {"extra": {"score": 2}}}


def test_copied_context_stands_as_messages_and_is_not_scored():
    copied = acts(call(), results=[result("seen")], message="I look", is_copied_context=True)
    trace = read(run({**USER, "is_copied_context": True}, copied, SAYS))
    assert trace.task == "fix it"
    assert trace.steps[0].before == (
        Message(role="assistant", text='I look\nlook({"a":1})'),
        Message(role="tool", text="seen"),
    )
    assert len(trace.steps) == 1
    assert "copied from an earlier run" in trace.notes[0]


def test_empty_arguments_without_an_observation_mean_unknown():
    steps = read(run(USER, acts(call(arguments={})), acts(call(arguments={}), results=[result("x")]))).steps
    assert [step.calls[0].arguments_state for step in steps] == ["elided", "ok"]


def test_error_signals_of_producers_are_read_and_silence_is_null():
    def of(*, extra: JsonObject | None = None, **fields: JsonValue) -> tuple[bool | None, int | None]:
        found = read(run(USER, acts(call(), results=[result("x", extra=extra)], **fields))).steps[0].calls[0].result
        return found.is_error, found.exit_code

    assert of() == (None, None)
    assert of(extra={"is_error": True, "exit_code": 2}) == (True, 2)
    assert of(extra={"is_error": False}) == (False, None)
    assert of(extra={"exit_code": 1}) == (None, 1)


@pytest.mark.parametrize(
    "errors", [[{"tool_call_id": "c1"}], {"c1": "boom"}, ["c1"], [{"tool_name": "look", "error": "boom"}]]
)
def test_tool_errors_of_the_nemo_agent_toolkit_mark_their_call(errors: JsonValue):
    other = {**call("c2"), "function_name": "go"}
    step = acts(call(), other, results=[result("x"), result("y", "c2")], extra={"tool_errors": errors})
    assert [each.result.is_error for each in read(run(USER, step)).steps[0].calls] == [True, None]


def test_an_observation_without_calls_is_the_steps_own():
    step: JsonObject = {"source": "agent", "message": "ls", "observation": {"results": [{"content": "a.py"}]}}
    trace = read(run(USER, acts(call()), step, SAYS))
    assert trace.steps[0].calls[0].result.state == "missing"
    assert trace.steps[1].observation == Result(text="a.py", state="present")
    assert to_atif(trace) == to_atif(read(to_atif(trace)))


def test_user_and_system_steps_between_agent_steps_are_messages_and_users_open_turns():
    system: JsonObject = {"source": "system", "message": "hurry", "observation": {"results": [{"content": "10 s"}]}}
    trace = read(run(USER, SAYS, system, USER, SAYS))
    assert [step.turn for step in trace.steps] == [1, 2]
    assert [(message.role, message.text) for message in trace.steps[1].before] == [
        ("system", "hurry"),
        ("tool", "10 s"),
        ("user", "fix it"),
    ]


def test_usage_totals_times_models_and_emissions_are_carried():
    step = acts(
        call(),
        metrics={"prompt_tokens": 9, "cached_tokens": 4, "completion_tokens": 2, "cost_usd": 0.1, "logprobs": [0.0]},
        timestamp="2026-01-01T00:00:00Z",
        model_name="m",
        reasoning_content="hm",
        llm_call_count=3,
    )
    trace = read(run(USER, step, SAYS, final_metrics={"total_cost_usd": 0.1}))
    first = trace.steps[0]
    assert first.usage == Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2, cost_usd=0.1)
    assert (first.started_at, first.model, first.reasoning) == ("2026-01-01T00:00:00Z", "m", "hm")
    assert [step.llm_call for step in trace.steps] == [3, 4]
    assert trace.usage == Usage(cost_usd=0.1)
    assert trace.notes == ("token ids and log-probabilities were left out",)


def test_multimodal_parts_become_attachments():
    parts: JsonValue = [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}},
    ]
    trace = read(run({"source": "user", "message": parts}, acts(call(), results=[result(parts)])))
    image = Attachment(kind="image", media_type="image/png", source="images/a.png")
    assert (trace.task, trace.task_attachments) == ("see", (image,))
    assert trace.steps[0].calls[0].result.attachments == (image,)


def delegates(**reference: JsonValue) -> JsonObject:
    return acts(call(), results=[result("delegated", subagent_trajectory_ref=[reference])])


def test_the_run_of_a_sub_agent_is_nested_under_its_call():
    child = run(USER, SAYS, trajectory_id="child")
    trace = read(run(USER, delegates(trajectory_id="child"), SAYS, subagent_trajectories=[child]))
    (subtrace,) = trace.steps[0].calls[0].subtraces
    assert (len(trace.steps), subtrace.trace_id, len(subtrace.steps)) == (2, "child", 1)


PARENT = run(USER, delegates(session_id="child"), session_id="parent")
CHILD = run(USER, SAYS, session_id="child")


@pytest.mark.parametrize("bundle", [[PARENT, CHILD], [CHILD, PARENT], {"child": CHILD, "parent": PARENT}])
def test_a_bundle_yields_its_roots_with_the_others_nested(bundle: JsonValue):
    trace = read(bundle)
    assert [each.trace_id for each in trace.steps[0].calls[0].subtraces] == ["child"]


def test_a_bundle_of_strangers_yields_them_all():
    found = read_document([run(USER, SAYS, session_id="a"), run(USER, SAYS, session_id="b")])
    assert [trace.trace_id for trace in found] == ["a", "b"]


def test_sub_agents_that_are_absent_or_belong_to_no_call_are_noted():
    child = run(USER, SAYS, trajectory_id="idle")
    notes = read(run(USER, delegates(trajectory_id="gone"), subagent_trajectories=[child])).notes
    assert any("'gone' was not at hand" in note for note in notes)
    assert any("'idle' belongs to no call" in note for note in notes)


@pytest.mark.parametrize("id", ["c1", None])
@pytest.mark.parametrize("children", [[], [run(USER, SAYS, trajectory_id="child")]])
def test_a_result_that_is_only_a_reference_is_missing_and_not_empty(id: str | None, children: list[JsonValue]):
    refers: JsonValue = {"source_call_id": id, "subagent_trajectory_ref": [{"trajectory_id": "child"}]}
    trace = read(run(USER, acts(call(), results=[refers]), subagent_trajectories=children))
    (made,) = trace.steps[0].calls
    assert (made.result, len(made.subtraces)) == (Result(), len(children) if id else 0)


def test_a_reference_takes_no_result_from_another_call():
    refers: JsonValue = {"source_call_id": "c1", "subagent_trajectory_ref": [{"trajectory_id": "gone"}]}
    trace = read(run(USER, acts(call(), call("c2"), call("c3"), results=[refers, result("b", "c2"), result("", "c3")])))
    assert [made.result.state for made in trace.steps[0].calls] == ["missing", "present", "empty"]


def test_a_reference_that_answers_no_call_is_no_empty_observation():
    refers: JsonValue = {"subagent_trajectory_ref": [{"trajectory_id": "gone"}]}
    trace = read(run(USER, {**SAYS, "observation": {"results": [refers]}}))
    assert trace.steps[0].observation is None


def test_sub_agents_that_refer_to_each_other_do_not_run_in_a_circle():
    one = run(USER, delegates(trajectory_id="2"), trajectory_id="1")
    two = run(USER, delegates(trajectory_id="1"), trajectory_id="2")
    assert all(any("leads back" in note for note in _notes(trace)) for trace in read_document([one, two]))


def test_a_run_that_many_calls_refer_to_is_told_once():
    def level(number: int) -> JsonObject:
        refers: list[JsonValue] = [{"trajectory_id": str(number + 1)}] * 50
        step = acts(call(), results=[{"source_call_id": "c1", "subagent_trajectory_ref": refers}])
        return run(USER, step, trajectory_id=str(number))

    (trace,) = read_document([level(number) for number in range(6)])
    assert len(trace.model_dump_json()) < 100_000
    assert any("stands under another call already" in note for note in trace.notes)


def _notes(trace: Trace) -> list[str]:
    return [*trace.notes, *(note for _, _, each in trace.calls() for child in each.subtraces for note in _notes(child))]


def write(path: Path, document: JsonValue) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_continuation_beside_the_file_is_followed(tmp_path: Path):
    copied: JsonObject = {**USER, "is_copied_context": True}
    first = write(tmp_path / "a.json", run(USER, SAYS, continued_trajectory_ref="b.json"))
    write(tmp_path / "b.json", run(copied, SAYS, final_metrics={"total_cost_usd": 2}))
    (trace,) = read_file(first)
    assert [step.turn for step in trace.steps] == [1, 1]
    assert trace.usage == Usage(cost_usd=2)


@pytest.mark.parametrize("reference", ["../b.json", "gone.json", "link.json", "https://x/b.json", "a\0b"])
def test_a_continuation_elsewhere_is_noted_and_not_read(tmp_path: Path, reference: str):
    write(tmp_path / "b.json", run(USER, SAYS))
    first = write(tmp_path / "runs" / "a.json", run(USER, SAYS, continued_trajectory_ref=reference))
    (tmp_path / "runs" / "link.json").symlink_to(tmp_path / "b.json")
    (trace,) = read_file(first)
    assert len(trace.steps) == 1
    assert "was not at hand" in trace.notes[0]


def test_a_run_that_continues_in_itself_ends(tmp_path: Path):
    (trace,) = read_file(write(tmp_path / "a.json", run(USER, SAYS, continued_trajectory_ref="a.json")))
    assert len(trace.steps) == 2


def test_a_sub_agent_in_a_file_beside_is_nested(tmp_path: Path):
    write(tmp_path / "subagents" / "child.json", run(USER, SAYS, session_id="child"))
    parent = write(tmp_path / "a.json", run(USER, delegates(trajectory_path="subagents/child.json")))
    (trace,) = read_file(parent)
    assert [each.trace_id for each in trace.steps[0].calls[0].subtraces] == ["child"]


def test_a_run_without_agent_steps_is_refused():
    with pytest.raises(UnreadableTrace, match="read as atif: the trace has no steps"):
        read(run(USER))


def test_a_missing_schema_version_is_the_nearest_miss():
    document = run(USER, SAYS)
    del document["schema_version"]
    with pytest.raises(UnreadableTrace, match="nearest miss: atif: its steps have a `source`"):
        read(document)

"""Faults: what they break, that they break nothing else, and what a judge makes of them."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepjudge.client import JudgeClient
from stepjudge.fault_injection.fault import Fault, Injected
from stepjudge.fault_injection.inject import FAULTS, MOST_STEPS, injected
from stepjudge.formats import read_file
from stepjudge.trace import Result, Step, Tool, Trace

from commands import Commands, written
from fakes.provider import Provider, Request
from scripted import Scripted, asked_step
from traces import call, step, trace, traces

KINDS: dict[str, Fault] = {fault.kind: fault for fault in FAULTS}
HOTPOTQA = Path("../shared/data/agentprocessbench/hotpotqa.jsonl")

ORDER = trace(
    step(1, call("find_user", '{"user_id": "U4471", "name": "Ann Lee"}', email="ann@example.org"), message="Looking."),
    step(
        2,
        call("list_orders", '[{"id": "W8812", "item": "lamp"}, {"id": "W3390", "item": "chair"}]', user_id="U4471"),
        message="Now the orders.",
    ),
    step(3, call("cancel_order", "ok", order_id="W8812"), message="Cancelling the lamp."),
    step(4, message="The order W8812 of Ann Lee is cancelled."),
    task="Cancel the lamp of ann@example.org.",
    tools=[Tool(name=name) for name in ("find_user", "list_orders", "cancel_order")],
    final_output="The order W8812 of Ann Lee is cancelled.",
)


def broken(kind: str, parent: Trace = ORDER, seed: int = 0, each: int = 50) -> list[Injected]:
    return injected(parent, [KINDS[kind]], seed=seed, each=each)


def texts(each: Step) -> str:
    return json.dumps(each.model_dump(exclude={"index", "llm_call"}))


def test_a_wrong_argument_is_one_that_nobody_mentioned_and_results_stay() -> None:
    found = broken("wrong_argument")

    assert {each.step for each in found} == {1, 2, 3}
    for each in found:
        before, after = ORDER.steps[each.step - 1].calls[0], each.broken.steps[each.step - 1].calls[0]
        assert before.arguments != after.arguments
        assert [*(before.arguments or {})] == [*(after.arguments or {})]
        assert before.result == after.result
        said = {*re.findall(r"\w+", str(after.arguments))} - {*re.findall(r"\w+", str(before.arguments))}
        assert len(said) == 1
        assert not any(word in ORDER.model_dump_json() for word in said)


def test_a_skipped_precondition_leaves_out_the_step_that_brought_a_value() -> None:
    found = {each.step: each for each in broken("skipped_precondition")}

    # step 1 brought U4471 for step 2; step 2 brought W8812 for step 3
    assert sorted(found) == [1, 2]
    assert [texts(each) for each in found[2].broken.steps] == [texts(ORDER.steps[n]) for n in (0, 2, 3)]
    assert (found[2].parent_step, "W8812" in found[2].what) == (3, True)


def test_acting_against_an_observation_takes_another_value_of_the_same_result() -> None:
    (found,) = broken("against_observation")

    assert (found.step, found.broken.steps[2].calls[0].arguments) == (3, {"order_id": "W3390"})


def test_a_needless_repeat_is_inserted_after_a_look_up_only() -> None:
    found = broken("needless_repeat")

    assert {each.parent_step for each in found} == {1, 2}
    for each in found:
        assert each.step == each.parent_step + 1
        assert texts(each.broken.steps[each.step - 1]) == texts(ORDER.steps[each.parent_step - 1])
        assert [one.index for one in each.broken.steps] == [1, 2, 3, 4, 5]


def test_an_unknown_tool_is_refused_as_this_trace_shows_errors() -> None:
    (plain, *_) = broken("unknown_tool")
    result = plain.broken.steps[plain.step - 1].calls[0].result
    assert (result.is_error, result.error_kind) == (None, None)
    assert "unknown tool" in result.text

    first = ORDER.steps[0].calls[0]
    fine = first.model_copy(update={"result": first.result.model_copy(update={"is_error": False})})
    steps = (ORDER.steps[0].model_copy(update={"calls": (fine,)}), *ORDER.steps[1:])
    (flagged, *_) = broken("unknown_tool", ORDER.model_copy(update={"steps": steps}))
    result = flagged.broken.steps[flagged.step - 1].calls[0].result
    assert (result.is_error, result.error_kind) == (True, "unknown_tool")


def test_without_declared_tools_none_is_unknown() -> None:
    assert broken("unknown_tool", ORDER.model_copy(update={"tools": ()})) == []


def test_a_false_claim_changes_what_was_observed_in_the_last_message_and_in_the_output() -> None:
    found = broken("false_claim")

    assert {each.what.split("'")[1] for each in found} == {"W8812", "Ann", "Lee"}
    for each in found:
        assert each.step == 4
        assert each.broken.steps[:3] == ORDER.steps[:3]
        assert each.broken.final_output == each.broken.steps[3].message != ORDER.final_output


def test_the_claim_that_is_changed_is_the_marked_answer_where_there_is_one() -> None:
    last = step(4, message="Ann Lee has it cancelled. <answer>W8812</answer>")
    found = broken("false_claim", ORDER.model_copy(update={"steps": (*ORDER.steps[:3], last)}))
    assert [each.what.split("'")[1] for each in found] == ["W8812"]


def test_a_swallowed_error_is_the_next_step_s_fault_not_that_of_the_failing_one() -> None:
    found = {each.step: each for each in broken("swallowed_error")}

    assert sorted(found) == [2, 3]
    assert found[3].touched == (2,)
    assert found[3].broken.steps[1].calls[0].result.text.startswith("Error")
    assert found[3].broken.steps[2] == ORDER.steps[2]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_breaks_in_the_same_way_and_another_elsewhere(kind: str) -> None:
    assert broken(kind, each=1) == broken(kind, each=1)
    if kind not in ("against_observation", "needless_repeat"):
        ways = [broken(kind, seed=seed, each=1)[0] for seed in range(8)]
        assert any(way != ways[0] for way in ways)


@given(traces(max_steps=4), st.integers(0, 9))
def test_any_trace_can_be_broken_or_left_and_exactly_one_step_is_at_fault(parent: Trace, seed: int) -> None:
    for each in injected(parent, FAULTS, seed=seed, each=2):
        assert 1 <= each.step <= len(each.broken.steps)
        assert 1 <= each.parent_step <= len(parent.steps)
        Trace.model_validate(each.broken.model_dump())
        if each.kind not in ("needless_repeat", "skipped_precondition"):
            changed = [b.index for a, b in zip(parent.steps, each.broken.steps, strict=True) if a != b]
            assert changed == ([*each.touched] or [each.step])


def test_a_very_long_trace_is_broken_in_its_first_steps() -> None:
    long = trace(*(step(n, call("view", f"W{n:04}", id=f"W{n - 1:04}")) for n in range(1, 2_001)))
    found = injected(long, FAULTS, seed=0)
    assert found
    assert all(each.step <= MOST_STEPS + 1 for each in found)


def test_a_hostile_trace_takes_no_longer_than_a_long_one() -> None:
    words = " ".join("Aa" * 40 for _ in range(2_000))
    parent = trace(
        step(1, call("view", words, path=words)), step(2, call("view", words, path=words)), step(3, message=words)
    )
    injected(parent, FAULTS, seed=0)


# What a judge makes of it


def attentive(request: Request) -> dict[str, Any]:
    """Finds every fault by comparing with the clean trace: it says no to all of a step that is not in it."""
    clean = {json.dumps(one.calls[0].arguments) for one in ORDER.steps if one.calls}

    def words(number: int, _unit: str, name: str) -> str:
        shown = re.findall(rf"^⟦\w+ s{number}\.c1\.arguments[^\n]*⟧\n([^\n]+)$", request.user, re.MULTILINE)
        known = not shown or json.dumps(json.loads(shown[-1])) in clean
        return "not_applicable" if name == "recovery" else "yes" if known else "no"

    return Scripted(words)(request)


def judged(tmp_path: Path, script: Callable[[Request], Any], *options: object) -> dict[str, Any]:
    sample = written(tmp_path / "sample.jsonl", ORDER)
    with Provider(script) as provider:
        flags = ("--judge", "openai/fake", "--api-base", provider.base_url)
        return Commands(tmp_path / "data").json("audit", "faults", sample, *flags, *options)


def kinds(report: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """found, located, flagged, false alarms of each kind, as numerator/denominator."""
    return {
        each["kind"]: tuple(
            f"{each[name]['numerator']}/{each[name]['denominator']}"
            for name in ("found", "located", "flagged", "false_alarms")
        )
        for each in report["kinds"]
    }


def test_a_judge_that_sees_wrong_arguments_is_credited_with_those_and_not_with_others(tmp_path: Path) -> None:
    found = kinds(judged(tmp_path, attentive, "--per-trace", "3"))

    assert found["wrong_argument"] == ("3/3", "3/3", "3/3", "0/3")
    assert found["against_observation"] == ("1/1", "1/1", "1/1", "0/1")
    assert found["false_claim"] == ("0/3", "0/3", "0/3", "0/3")
    # the environment refuses an unknown tool, which facts settle without the judge
    assert found["unknown_tool"][0] == "3/3"


def test_a_judge_that_says_no_to_everything_has_found_nothing(tmp_path: Path) -> None:
    grumpy = Scripted(lambda _step, _unit, name: "not_applicable" if name == "recovery" else "no")
    report = judged(tmp_path, grumpy, "--kind", "wrong_argument", "--per-trace", "3")

    assert kinds(report)["wrong_argument"] == ("0/3", "0/3", "3/3", "3/3")


def test_a_fault_is_not_located_where_an_earlier_step_is_flagged_too(tmp_path: Path) -> None:
    def nervous(request: Request) -> dict[str, Any]:
        if asked_step(request) == 1:
            return Scripted(lambda _s, _u, name: "not_applicable" if name == "recovery" else "no")(request)
        return attentive(request)

    found = kinds(judged(tmp_path, nervous, "--kind", "against_observation"))
    assert found["against_observation"][:2] == ("1/1", "0/1")


def test_what_the_broken_and_the_clean_trace_share_is_paid_once(tmp_path: Path) -> None:
    sample = written(tmp_path / "sample.jsonl", ORDER)
    with Provider(attentive) as provider:
        flags = ("--judge", "openai/fake", "--api-base", provider.base_url, "--kind", "against_observation")
        command = Commands(tmp_path / "data")
        price = command.json("audit", "faults", sample, *flags, "--dry-run")
        assert provider.count == 0
        command.json("audit", "faults", sample, *flags)
        assert provider.count == 4, "two steps before, and the third in both forms"
        again = command.json("audit", "faults", sample, *flags, "--dry-run")
    # a dry run cannot know that two scorings share their first steps
    assert (price["requests"], again["requests"]) == (6, 0)


def test_the_offline_rules_find_what_facts_settle_and_nothing_else(tmp_path: Path) -> None:
    sample = written(tmp_path / "sample.jsonl", ORDER)
    report = Commands(tmp_path / "data").json("audit", "faults", sample, "--judge", "rules", "--per-trace", "5")
    found = {kind: each[0] for kind, each in kinds(report).items()}

    # of the two repeats, one looks up what may have changed by itself
    assert (found["unknown_tool"], found["needless_repeat"]) == ("3/3", "1/2")
    assert (found["false_claim"], found["against_observation"]) == ("0/3", "0/1")
    undetermined = {each["kind"]: each["found"]["undetermined"] for each in report["kinds"]}
    assert undetermined["false_claim"] == 3


def test_the_page_names_every_kind_with_its_numbers(tmp_path: Path) -> None:
    sample = written(tmp_path / "sample.jsonl", ORDER)
    page = Commands(tmp_path / "data").run("audit", "faults", sample, "--judge", "rules", "--alone")
    for kind in KINDS:
        assert kind in page
    assert "100% (1/1)" in page
    assert "they\nare no estimate" in page


@pytest.mark.skipif(not HOTPOTQA.exists(), reason="needs the shared data")
def test_real_traces_have_places_for_nearly_every_kind() -> None:
    found = {
        each.kind for parent in itertools.islice(read_file(HOTPOTQA), 12) for each in injected(parent, FAULTS, seed=0)
    }
    assert found == {*KINDS} - {"skipped_precondition"}


def test_an_error_that_is_there_already_is_not_swallowed_again() -> None:
    failed = call("find_user", "U4471").model_copy(
        update={"result": Result(text="U4471", state="present", is_error=True)}
    )
    parent = trace(step(1, failed), step(2, call("list_orders", "x", user_id="U4471")))
    assert KINDS["swallowed_error"].places(parent) == []


def test_broken_traces_are_never_drawn_for_labelling(tmp_path: Path) -> None:
    sample = written(tmp_path / "sample.jsonl", ORDER)
    Commands(tmp_path / "data").json("audit", "faults", sample, "--judge", "rules")
    with JudgeClient.embedded(data_dir=tmp_path / "data") as client:
        judged = [each for page in client.all_verdicts() for each in page.verdicts]
        queue = client.queue(rubric="step", judge="rules", count=50)
    assert len({each.step_digest for each in judged}) > 4
    assert queue.population == 4, "the steps of the trace as it was"

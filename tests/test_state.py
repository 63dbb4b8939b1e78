"""The state digest of a step depends on everything a judge can read of what came before, and on nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from judge_service.shown import Shown
from judge_service.state import content, opening, restored, states
from stepjudge.digest import canonical
from stepjudge.trace import Attachment, Message, Result, Tool, Trace, Usage

from traces import PUMP, changed, traces


def prefix(trace: Trace, count: int) -> Trace:
    return trace.model_copy(update={"steps": trace.steps[:count]})


def blocks(trace: Trace) -> tuple[str, ...]:
    return Shown(trace, "mark", reasoning=True).blocks(len(trace.steps))


@given(traces(min_steps=1, max_steps=3))
def test_a_growing_trace_keeps_the_digests_of_its_prefix(trace: Trace) -> None:
    before, steps = states(trace)
    assert (len(before), len(steps)) == (len(trace.steps) + 1, len(trace.steps))
    for count in range(len(trace.steps)):
        assert states(prefix(trace, count)) == (before[: count + 1], steps[:count])


@given(traces())
def test_nothing_that_a_harness_draws_at_random_is_in_a_digest(trace: Trace) -> None:
    renamed = trace.model_copy(
        update={
            "trace_id": "another",
            "agent": "other",
            "model": "other",
            "source_format": "other",
            "notes": ("other",),
            "usage": Usage(cost_usd=1),
            "extra": {"x": 1},
            "after": (Message(role="user", text="later"),),
            "final_output": "other",
            "steps": tuple(
                step.model_copy(
                    update={
                        "calls": tuple(c.model_copy(update={"id": "new", "extra": {"x": 1}}) for c in step.calls),
                        "extra": {"x": 1},
                        "usage": Usage(prompt_tokens=7),
                        "started_at": "now",
                        "agent": "other",
                        "model": "other",
                    }
                )
                for step in trace.steps
            ),
        }
    )
    assert states(renamed) == states(trace)


@pytest.mark.parametrize(
    "change",
    [
        {"system": "other"},
        {"task": "other"},
        {"task_attachments": (Attachment(kind="image"),)},
        {"tools": (Tool(name="find"),)},
        {"tools": tuple(tool.model_copy(update={"description": "other"}) for tool in PUMP.tools)},
        {"tools": tuple(tool.model_copy(update={"parameters": {}}) for tool in PUMP.tools)},
    ],
)
def test_any_change_of_the_opening_changes_every_state(change: dict[str, Any]) -> None:
    other = PUMP.model_copy(update=change)
    assert not set(states(other)[0]) & set(states(PUMP)[0])
    assert states(other)[1] == states(PUMP)[1]


FIRST = PUMP.steps[1].calls[0]


@pytest.mark.parametrize(
    "change",
    [
        {"message": "other"},
        {"reasoning": "other"},
        {"turn": 2},
        {"attachments": (Attachment(kind="image"),)},
        {"before": (Message(role="user", text="other"),)},
        {"before": (Message(role="tool", text="other"),)},
        {"calls": ()},
        {"observation": Result()},
        {"observation": Result(text="other", state="present")},
        {"calls": (FIRST, FIRST)},
        *(
            {"calls": (FIRST.model_copy(update=fields),)}
            for fields in (
                {"name": "other"},
                {"arguments": {"path": "/other"}},
                {"arguments": None},
                {"arguments_raw": "{"},
                {"arguments_state": "elided"},
            )
        ),
        *(
            {"calls": (FIRST.model_copy(update={"result": result}),)}
            for result in (
                Result(),
                Result(state="empty"),
                Result(text="a very long file", state="truncated"),
                Result(text="other", state="present"),
                FIRST.result.model_copy(update={"is_error": False}),
                FIRST.result.model_copy(update={"is_error": True}),
                FIRST.result.model_copy(update={"error_kind": "timeout"}),
                FIRST.result.model_copy(update={"exit_code": 0}),
                FIRST.result.model_copy(update={"attachments": (Attachment(kind="image"),)}),
            )
        ),
    ],
)
def test_any_change_of_what_a_step_says_or_does_changes_its_digest_and_all_later_states(change: dict[str, Any]) -> None:
    other = changed(PUMP, 2, **change)
    before, steps = states(other)
    assert before[:2] == states(PUMP)[0][:2]
    assert not set(before[2:]) & set(states(PUMP)[0])
    assert [index for index, pair in enumerate(zip(steps, states(PUMP)[1], strict=True)) if pair[0] != pair[1]] == [1]


@given(traces())
@settings(max_examples=60)
def test_a_trace_restored_from_its_stored_contents_has_the_same_states_and_reads_the_same(trace: Trace) -> None:
    stored = canonical([opening(trace), [content(step) for step in trace.steps]])
    opened, contents = json.loads(stored)
    again = restored(opened, contents)
    assert states(again) == states(trace)
    assert blocks(again) == blocks(trace)


@given(traces(), traces())
@settings(max_examples=60)
def test_equal_states_are_shown_alike(one: Trace, other: Trace) -> None:
    mixed = other.model_copy(update={"steps": one.steps, "system": one.system, "task": one.task, "tools": one.tools})
    mixed = mixed.model_copy(update={"task_attachments": one.task_attachments})
    assert states(mixed) == states(one)
    assert blocks(mixed) == blocks(one)

"""The leak check: the answer key in an observation, before the agent came up with it."""

from typing import Any

import pytest

from checks.checking import ROOT, checked, outcome, reference
from stepjudge.formats import read_file
from stepjudge.trace import Call, Message, Result, Step, Trace

KEY = "The Treaty of Tordesillas, 1494"


def step(index: int, said: str = "", seen: str = "", **fields: Any) -> Step:
    call = Call(name="look", arguments={"query": said}, result=Result(text=seen, state="present" if seen else "empty"))
    return Step(index=index, turn=1, llm_call=index, calls=(call,), **fields)


def trace(*steps: Step, **fields: Any) -> Trace:
    return Trace(trace_id="t", steps=steps, **fields)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (trace(step(1, "treaties", "nothing"), step(2, KEY, KEY)), "pass"),
        (trace(step(1, "treaties", f"Answer key: {KEY}!")), "fail"),
        (trace(step(1, "treaties", "answer:\nthe  TREATY of\u200b tordesillas (1494)")), "fail"),
        (trace(step(1, "treaties", "the treaty of Paris, 1494")), "pass"),
        (trace(step(1, message=KEY), step(2, "check", KEY)), "pass"),
        (trace(step(1, reasoning=KEY, seen=KEY)), "pass"),
        (trace(step(1), step(2, before=(Message(role="tool", text=KEY),))), "fail"),
        (trace(Step(index=1, turn=1, llm_call=1, observation=Result(text=KEY, state="present"))), "fail"),
        (trace(step(1, seen=KEY), task=f"Is it {KEY}?"), "error"),
        (trace(step(1), step(2, seen=KEY, before=(Message(role="user", text=KEY),))), "error"),
        (trace(), "pass"),
    ],
)
async def test_the_answer_is_seen_before_it_is_said_or_not(made: Trace, expected: str) -> None:
    result = await checked({"kind": "leak"}, trace=made, reference=reference(answer=KEY))
    assert result.outcome == expected, result


async def test_the_place_where_it_was_seen_is_told() -> None:
    made = trace(step(1), step(2, "search", f"dump {KEY} dump"))
    result = await checked({"kind": "leak"}, trace=made, reference=reference(answer=KEY))
    assert result.reason.startswith('s2.c1.result shows "the treaty of tordesillas 1494" of the answer key')


async def test_a_sub_agent_can_see_it_too() -> None:
    below = trace(step(1, "search", KEY))
    call = Call(name="delegate", arguments={}, subtraces=(below,))
    made = trace(Step(index=1, turn=1, llm_call=1, calls=(call,)))
    result = await checked({"kind": "leak"}, trace=made, reference=reference(answer=KEY))
    assert result.outcome == "fail"
    assert result.reason.startswith("s1.c1.s1.c1.result shows")


async def test_ten_words_in_a_row_give_a_long_text_away_and_its_single_words_do_not() -> None:
    essay = " ".join(f"word{number}" for number in range(200))
    part = " ".join(f"word{number}" for number in range(50, 60))
    shuffled = " ".join(f"word{number}" for number in range(199, -1, -1))
    assert await outcome({"kind": "leak"}, trace=trace(step(1, seen=part)), reference=reference(essay=essay)) == "fail"
    for seen in (shuffled, part.rpartition(" ")[0]):
        assert (
            await outcome({"kind": "leak"}, trace=trace(step(1, seen=seen)), reference=reference(essay=essay)) == "pass"
        )


async def test_what_is_not_distinctive_is_not_looked_for() -> None:
    seen = trace(step(1, seen="yes, it is Paris, 42"))
    document = {"kind": "leak"}
    assert (
        await outcome(document, trace=seen, reference=reference(answer="yes", city="Paris", n=42, ok=True)) == "error"
    )
    assert await outcome(document, trace=seen, reference={}) == "error"
    assert await outcome(document, reference=reference(answer=KEY)) == "error"
    assert await outcome({**document, "characters": 4}, trace=seen, reference=reference(city="Paris")) == "fail"


async def test_a_number_a_canary_and_text_without_spaces_are_recognised() -> None:
    for secret, seen in (
        (123456789012, "id 123456789012."),
        ("トルデシリャス条約は1494年に結ばれた", "答え：トルデシリャス条約は1494年に結ばれた。"),
    ):
        made = trace(step(1, seen=seen))
        assert await outcome({"kind": "leak"}, trace=made, reference=reference(answer=secret)) == "fail"
    document = {"kind": "leak", "parts": "$.absent", "canaries": ["canary-0b1c2d3e-4f50"]}
    assert await outcome(document, trace=trace(step(1, seen="… canary-0b1c2d3e-4f50 …"))) == "fail"


async def test_of_a_patch_only_the_lines_that_it_adds_are_secret() -> None:
    """The agent of the example reads the file that it then changes: the patch's context is no leak."""
    example = ROOT / "examples" / "pytest-5262"
    (made,) = read_file(example / "trace.json")
    patch = (example / "agent.patch").read_text(encoding="utf-8")
    assert await outcome({"kind": "leak"}, trace=made, reference=reference(patch=patch)) == "pass"
    plain = patch.replace("@@ ", "")  # no longer a diff, so that its context counts
    assert await outcome({"kind": "leak"}, trace=made, reference=reference(patch=plain)) == "fail"

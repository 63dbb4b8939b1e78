"""The short-answer check: the same words pass, no common word fails, anything between cannot be told."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.checking import ROOT, checked, outcome, reference
from stepjudge.checks import BadCheck, read_check
from stepjudge.checks.short_answer import answers_alike
from stepjudge.formats import agent_process_bench
from stepjudge.formats.reading.format import Origin
from stepjudge.short_answer import short_answer

BENCH = ROOT.parent / "shared" / "data" / "agentprocessbench" / "hotpotqa.jsonl"


@pytest.mark.parametrize(
    ("output", "expected", "told"),
    [
        ("Long reasoning. <answer>The Hague</answer>", "hague", "pass"),
        ("so\n**Answer:** Marion, South Australia.", "Marion (South Australia)", "pass"),
        ("<answer>1,838</answer>", 1838, "pass"),
        ("<answer>Lyon</answer>", ["Paris", "Lyon"], "pass"),
        ("<answer>Adelaide</answer>", "Marion, South Australia", "fail"),
        ("", "Paris", "fail"),
        ("<answer>yes</answer>", "no", "fail"),
        ("<answer>Marion</answer>", "Marion, South Australia", "error"),
        ("<answer>-5</answer>", "5", "error"),
        ("I think it is Paris, though it may be Lyon.", "Paris", "error"),
    ],
)
async def test_words_decide_or_nobody_does(output: str, expected: Any, told: str) -> None:
    assert await outcome({"kind": "short-answer", "expected": expected}, final_output=output) == told


async def test_the_expected_answer_may_stand_in_the_reference() -> None:
    document = {"kind": "short-answer", "reference": "$.target[*]"}
    found = await checked(document, final_output="<answer>B</answer>", reference=reference(target=["A", "B"]))
    assert (found.outcome, found.evidence[0].text) == ("pass", "B")
    assert await outcome(document, final_output="B", reference=reference(other=1)) == "error"


@pytest.mark.parametrize("document", [{}, {"expected": "x", "reference": "$.a"}, {"expected": "…"}, {"expected": True}])
def test_an_expected_answer_without_a_word_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(BadCheck):
        read_check({"kind": "short-answer", **document})


@given(st.text(max_size=40))
def test_every_answer_with_a_word_is_like_itself(text: str) -> None:
    assert answers_alike(text, [text])


@pytest.mark.skipif(not BENCH.exists(), reason="the public data are not here")
def test_people_agree_with_every_pass_and_with_five_of_six_fails() -> None:
    found: Counter[tuple[bool | None, int]] = Counter()
    for line in BENCH.read_text().splitlines():
        row = json.loads(line)
        (trace,) = agent_process_bench.read(row, Origin())
        said = trace.final_output or ""
        found[answers_alike(short_answer(said) or said, row["ground_truth"]["target"]), row["final_label"]] += 1
    assert found == {(True, 1): 100, (False, -1): 74, (False, 1): 13, (None, 1): 50, (None, -1): 13}

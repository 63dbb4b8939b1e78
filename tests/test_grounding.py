"""An answer is grounded when its quotes stand where it says."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.grounding import complaints, grounded
from judge_service.shown import HEAD, Piece, Shown
from stepjudge.trace import Trace
from stepjudge.verdict import Answer, Evidence

from traces import call, of_calls, traces

TEXT = "def start():\n    return  motor\r\n\tdone"
PIECES = Shown(of_calls([call("cat", TEXT, path="/pump.py"), call("cat", "other")]), "mark", reasoning=False).pieces(2)


def answer(*quotes: tuple[str, str], word: Literal["yes", "no"] = "yes") -> Answer:
    evidence = tuple(Evidence(place=place, quote=quote) for place, quote in quotes)
    return Answer(criterion="valid", call=1, answer=word, evidence=evidence)


def is_grounded(given: Answer, pieces: tuple[Piece, ...] = PIECES) -> bool:
    find = {piece.place: piece for piece in pieces}.get
    (result,) = grounded([given], find)
    assert result == given.model_copy(update={"ungrounded": result.ungrounded})
    assert bool(complaints([given], find)) == result.ungrounded
    return not result.ungrounded


@pytest.mark.parametrize(
    ("place", "quote", "stands"),
    [
        ("s1.c1.result", "return motor", True),
        ("s1.c1.result", "start(): return\n\n motor   done", True),
        ("s1.c1.result", TEXT, True),
        ("s1.c1.result", "returnmotor", False),
        ("s1.c1.result", "RETURN motor", False),
        ("s2.c1.result", "return motor", False),
        ("s2.c1.result", "other", True),
        ("s1.c1.arguments", "/pump.py", True),
        ("s1.c1.arguments", "", False),
        ("s1.c1.result", " \n", False),
        ("s9.c1.result", "other", False),
        ("", "other", False),
        ("task", "Mend the pump", True),
    ],
)
def test_a_quote_stands_at_its_place_whatever_the_white_space(place: str, quote: str, stands: bool) -> None:
    assert is_grounded(answer((place, quote))) == stands


def test_one_false_quote_among_true_ones_is_enough() -> None:
    assert not is_grounded(answer(("task", "pump"), ("s2.c1.result", "motor")))


@pytest.mark.parametrize("word", ["yes", "no"])
def test_an_answer_without_evidence_is_not_grounded(word: Literal["yes", "no"]) -> None:
    assert not is_grounded(answer(word=word))
    assert complaints([answer(word=word)], dict[str, Piece]().get) == ("`valid` of call 1: no evidence is quoted",)


@pytest.mark.parametrize(
    "given",
    [
        Answer(criterion="valid", answer="undetermined", cause="judge_unsure"),
        Answer(criterion="valid", answer="not_applicable"),
        Answer(criterion="valid", answer="no", settled_by="facts"),
        Answer(criterion="valid", answer="undetermined", evidence=(Evidence(place="x", quote="y"),)),
    ],
)
def test_what_is_no_judged_yes_or_no_needs_no_evidence(given: Answer) -> None:
    assert is_grounded(given)


def test_a_quote_across_a_cut_does_not_stand_but_both_sides_do() -> None:
    text = " ".join(f"w{number}" for number in range(10_000))
    pieces = Shown(of_calls([call("cat", text)]), "mark", reasoning=False).pieces(1)
    assert pieces[-1].cut is not None
    assert is_grounded(answer(("s1.c1.result", text[HEAD - 90 : HEAD - 2]), ("s1.c1.result", text[-90:])), pieces)
    assert not is_grounded(answer(("s1.c1.result", text[HEAD - 40 : HEAD + 40])), pieces)
    assert not is_grounded(answer(("s1.c1.result", text[25_000:25_040])), pieces)


def test_a_quote_may_hold_the_invisible_character_or_its_spelling() -> None:
    pieces = Shown(of_calls([call("cat", "I \u2764\ufe0f pumps")]), "mark", reasoning=False).pieces(1)
    assert is_grounded(answer(("s1.c1.result", "\u2764\ufe0f pumps")), pieces)
    assert is_grounded(answer(("s1.c1.result", "\u2764⟨U+FE0F⟩ pumps")), pieces)


@given(traces(), st.data())
def test_whatever_is_shown_can_be_quoted(trace: Trace, data: st.DataObject) -> None:
    pieces = Shown(trace, "mark", reasoning=True).pieces(len(trace.steps))
    piece = data.draw(st.sampled_from(pieces))
    start = data.draw(st.integers(0, len(piece.text)))
    end = data.draw(st.integers(start, len(piece.text)))
    quote = piece.text[start:end]
    assert is_grounded(answer((piece.place, quote)), pieces) == bool(quote.split())


def test_arguments_may_be_quoted_as_json_or_as_the_text_that_they_mean() -> None:
    edit = of_calls([call("edit", "done", new='def f():\n    return "x"')])
    pieces = Shown(edit, "mark", reasoning=False).pieces(1)
    for quote in ('def f():\n    return "x"', r"def f():\n    return \"x\"", 'return "x"'):
        assert is_grounded(answer(("s1.c1.arguments", quote)), pieces)
    assert not is_grounded(answer(("s1.c1.arguments", 'return "y"')), pieces)

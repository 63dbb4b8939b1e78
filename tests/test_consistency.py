"""Answers that exclude each other are found, and given up on both sides."""

from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.consistency import abstained, contradictions
from judge_service.question import things_to_ask
from stepjudge.rubric import AnswerWord, Criterion, Rubric, Scoring
from stepjudge.verdict import Answer

from rubrics_for_tests import SMALL
from traces import call, step

Key = tuple[str, int | None]


def said(words: dict[Key, AnswerWord], fixes: tuple[int, ...] = (1,)) -> tuple[Answer, ...]:
    return tuple(
        Answer(
            criterion=name,
            call=number,
            answer=word,
            fixes=fixes if (name, word) == ("recovery", "yes") else (),
            confidence=0.9,
        )
        for (name, number), word in words.items()
    )


def words(answers: tuple[Answer, ...]) -> dict[Key, AnswerWord]:
    return {(answer.criterion, answer.call): answer.answer for answer in answers}


@pytest.mark.parametrize("yes", list(product([True, False], repeat=4)))
def test_every_combination_of_answers_to_a_step_of_one_call(yes: tuple[bool, bool, bool, bool]) -> None:
    valid, relevant, useful, recovery = yes
    names: list[Key] = [("valid", 1), ("relevant", 1), ("useful", 1), ("recovery", None)]
    answers = said({name: "yes" if each else "no" for name, each in zip(names, yes, strict=True)})
    denied = not (valid and relevant)
    found = contradictions(SMALL, answers)
    assert set(found) == {place for place in (2, 3) if yes[place] and denied}

    expected = words(answers)
    if useful and denied:
        expected |= {("useful", 1): "undetermined"}
        expected |= {name: "undetermined" for name, each in zip(names[:2], yes[:2], strict=True) if not each}
    if recovery and denied:
        expected |= {("recovery", None): "undetermined"}
    given_up = abstained(SMALL, answers)
    assert words(given_up) == expected
    for before, after in zip(answers, given_up, strict=True):
        if before.answer == after.answer:
            assert after == before
        else:
            assert (after.cause, after.confidence, after.fixes) == ("contradiction", None, ())
            assert "that cannot be" in after.reason


def test_a_message_is_held_to_the_same_as_a_call() -> None:
    answers = said({("valid", None): "no", ("relevant", None): "yes", ("useful", None): "yes"})
    assert contradictions(SMALL, answers) == {2: "`useful` is yes although valid is no; that cannot be"}
    assert words(abstained(SMALL, answers)) == {
        ("valid", None): "undetermined",
        ("relevant", None): "yes",
        ("useful", None): "undetermined",
    }


def test_a_recovery_gives_way_to_what_was_said_of_the_message_and_does_not_undo_it() -> None:
    answers = said({("valid", None): "no", ("relevant", None): "yes", ("recovery", None): "yes"})
    assert words(abstained(SMALL, answers)) == {**words(answers), ("recovery", None): "undetermined"}


def test_a_call_is_not_contradicted_by_another_call() -> None:
    answers = said(
        {
            ("valid", 1): "no",
            ("valid", 2): "yes",
            ("relevant", 1): "yes",
            ("relevant", 2): "no",
            ("useful", 1): "no",
            ("useful", 2): "yes",
        }
    )
    assert contradictions(SMALL, answers) == {5: "`useful` of call 2 is yes although relevant is no; that cannot be"}
    given_up = abstained(SMALL, answers)
    changed = {(a.criterion, a.call) for a in given_up if a.answer == "undetermined"}
    assert changed == {("useful", 2), ("relevant", 2)}


def test_each_call_is_told_of_its_own_contradiction() -> None:
    answers = said({("valid", 1): "no", ("valid", 2): "no", ("useful", 1): "yes", ("useful", 2): "yes"})
    reasons = [answer.reason for answer in abstained(SMALL, answers)]
    assert ["call 1" in reason for reason in reasons] == [True, False, True, False]
    assert ["call 2" in reason for reason in reasons] == [False, True, False, True]


def test_a_recovery_is_held_to_the_whole_step() -> None:
    one_relevant: dict[Key, AnswerWord] = {
        ("valid", 1): "yes",
        ("valid", 2): "yes",
        ("relevant", 1): "no",
        ("relevant", 2): "yes",
    }
    answers = said({**one_relevant, ("recovery", None): "yes"})
    assert contradictions(SMALL, answers) == {}
    one_invalid = said({("valid", 1): "no", ("valid", 2): "yes", ("recovery", None): "yes"})
    assert contradictions(SMALL, one_invalid) == {2: "`recovery` is yes although valid is no; that cannot be"}
    assert words(abstained(SMALL, one_invalid)) == {
        ("valid", 1): "no",
        ("valid", 2): "yes",
        ("recovery", None): "undetermined",
    }


def test_a_recovery_that_fixes_nothing_is_none() -> None:
    answers = said({("valid", 1): "yes", ("relevant", 1): "yes", ("recovery", None): "yes"}, fixes=())
    assert contradictions(SMALL, answers) == {2: "`recovery` is yes but `fixes` names no earlier step"}
    assert words(abstained(SMALL, answers)) == {**words(answers), ("recovery", None): "undetermined"}


@pytest.mark.parametrize("word", ["undetermined", "not_applicable", "yes"])
def test_only_a_no_denies(word: AnswerWord) -> None:
    answers = said({("valid", 1): word, ("useful", 1): "yes", ("recovery", None): "yes"})
    assert contradictions(SMALL, answers) == {}
    assert abstained(SMALL, answers) == answers


def test_what_facts_settled_stays() -> None:
    settled = Answer(criterion="valid", call=1, answer="no", settled_by="facts", rule="rejected")
    answers = (settled, *said({("relevant", 1): "yes", ("useful", 1): "yes"}))
    assert abstained(SMALL, answers)[0] == settled
    assert words(abstained(SMALL, answers))["useful", 1] == "undetermined"


def test_a_call_can_imply_something_of_its_step() -> None:
    rubric = Rubric(
        name="small",
        version="1.0.0",
        instructions="Judge.",
        criteria=(
            Criterion(name="seen", unit="step", question="?"),
            Criterion(name="done", unit="call", step_takes="all", question="?", implies=("seen",)),
        ),
        scoring=Scoring(passes=("done",)),
    )
    answers = said({("seen", None): "no", ("done", 1): "no", ("done", 2): "yes"})
    assert contradictions(rubric, answers) == {2: "`done` of call 2 is yes although seen is no; that cannot be"}
    assert words(abstained(rubric, answers)) == {**words(answers), ("done", 2): "undetermined"}


@given(st.data(), st.integers(0, 3))
def test_nothing_contradicts_once_the_contradictions_are_given_up(data: st.DataObject, count: int) -> None:
    asked = things_to_ask(SMALL, step(5, *[call()] * count))
    any_word = st.sampled_from(get_args(AnswerWord))
    answers = said({(one.criterion.name, one.call): data.draw(any_word) for one in asked})
    given_up = abstained(SMALL, answers)
    assert contradictions(SMALL, given_up) == {}
    assert abstained(SMALL, given_up) == given_up
    assert all(
        after == before or after.answer == "undetermined" for before, after in zip(answers, given_up, strict=True)
    )
    assert (given_up == answers) == (contradictions(SMALL, answers) == {})

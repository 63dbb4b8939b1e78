"""Answers roll up in three-valued logic, and every rate counts each of its units exactly once."""

from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepjudge.metric import (
    Answers,
    Rate,
    argument_accuracy,
    bad,
    combine,
    passes,
    rate,
    recovery_rate,
    rolled_up,
    score,
)
from stepjudge.rubric import AnswerWord, Rubric, Scoring
from stepjudge.verdict import Answer

from rubrics_for_tests import SMALL

WORDS: tuple[AnswerWord, ...] = get_args(AnswerWord)
any_word = st.sampled_from(WORDS)
NAMES_OF_SCORE = SMALL.scoring.passes
NAMES = tuple(criterion.name for criterion in SMALL.criteria)
answers_of_a_unit = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, any_word))


def words(text: str) -> list[AnswerWord]:
    """`y n u -` as answer words."""
    spelled: dict[str, AnswerWord] = {"y": "yes", "n": "no", "u": "undetermined", "-": "not_applicable"}
    return [spelled[letter] for letter in text]


@pytest.mark.parametrize(
    ("given_words", "to_all", "to_any"),
    [
        ("", "-", "-"),
        ("-", "-", "-"),
        ("y", "y", "y"),
        ("n", "n", "n"),
        ("u", "u", "u"),
        ("yy", "y", "y"),
        ("yn", "n", "y"),
        ("yu", "u", "y"),
        ("nn", "n", "n"),
        ("nu", "n", "u"),
        ("uu", "u", "u"),
        ("y-", "y", "y"),
        ("n-", "n", "n"),
        ("u-", "u", "u"),
        ("ynu-", "n", "y"),
    ],
)
def test_answers_combine_as_kleene_says(given_words: str, to_all: str, to_any: str) -> None:
    for order in (words(given_words), words(given_words)[::-1]):
        assert [combine(order, "all")] == words(to_all)
        assert [combine(order, "any")] == words(to_any)


@given(st.lists(any_word), st.sampled_from(["all", "any"]), st.data())
def test_an_undetermined_answer_means_either_of_the_two(
    given_words: list[AnswerWord], takes: Literal["all", "any"], data: st.DataObject
) -> None:
    rolled = combine(given_words, takes)
    known: list[AnswerWord] = [
        data.draw(st.sampled_from(words("yn"))) if word == "undetermined" else word for word in given_words
    ]
    if rolled != "undetermined":
        assert combine(known, takes) == rolled
    else:
        assert {combine([w if w != "undetermined" else end for w in given_words], takes) for end in words("yn")} == {
            "yes",
            "no",
        }


def test_calls_roll_up_to_the_step_as_each_criterion_says() -> None:
    said: list[tuple[str, int | None, AnswerWord]] = [
        ("valid", 1, "yes"),
        ("valid", 2, "no"),
        ("relevant", 1, "no"),
        ("relevant", 2, "yes"),
        ("useful", 1, "undetermined"),
        ("useful", 2, "no"),
        ("recovery", None, "not_applicable"),
    ]
    answers = [Answer(criterion=name, call=call, answer=word) for name, call, word in said]
    assert rolled_up(SMALL, answers) == {
        "valid": "no",
        "relevant": "yes",
        "useful": "undetermined",
        "recovery": "not_applicable",
    }


@pytest.mark.parametrize(
    ("valid_relevant_useful", "does_pass", "is_bad", "ordinal"),
    [
        ("yyy", True, False, 1),
        ("yyn", False, False, 0),
        ("yny", False, True, -1),
        ("nyy", False, True, -1),
        ("nnn", False, True, -1),
        ("yyu", None, False, None),
        ("uyy", None, None, None),
        ("uyn", False, None, None),
        ("unu", False, True, -1),
        ("uuu", None, None, None),
        ("nuu", False, True, -1),
        ("---", None, None, None),
        ("y-y", True, False, 1),
    ],
)
def test_the_three_readings_of_a_step(
    valid_relevant_useful: str, does_pass: bool | None, is_bad: bool | None, ordinal: int | None
) -> None:
    for recovery in WORDS:
        unit: Answers = dict(zip(NAMES_OF_SCORE, words(valid_relevant_useful), strict=True))
        unit["recovery"] = recovery
        assert (passes(SMALL, unit), bad(SMALL, unit), score(SMALL, unit)) == (does_pass, is_bad, ordinal)


def test_an_answer_that_is_not_there_is_undetermined() -> None:
    assert (passes(SMALL, {}), bad(SMALL, {}), score(SMALL, {})) == (None, None, None)


def test_a_rubric_without_bad_criteria_knows_no_bad_step() -> None:
    rubric = SMALL.model_copy(update={"scoring": Scoring(passes=("useful",))})
    assert [(bad(rubric, {"useful": word}), score(rubric, {"useful": word})) for word in words("ynu")] == [
        (None, 1),
        (None, 0),
        (None, None),
    ]


@given(answers_of_a_unit)
def test_the_score_follows_from_passing_and_bad(unit: Answers) -> None:
    ordinal, does_pass, is_bad = score(SMALL, unit), passes(SMALL, unit), bad(SMALL, unit)
    assert (ordinal == 1) == (does_pass is True)
    assert (ordinal == -1) == (is_bad is True)
    assert not (does_pass and is_bad)
    assert (ordinal is None) == (None in (does_pass, is_bad) and is_bad is not True and does_pass is not True)


@given(st.lists(st.sampled_from([True, False, None])))
def test_a_rate_counts_every_unit_once(outcomes: list[bool | None]) -> None:
    counted = rate(outcomes)
    assert counted.numerator == outcomes.count(True)
    assert counted.denominator - counted.numerator == outcomes.count(False)
    assert counted.denominator + counted.undetermined == len(outcomes)
    assert (counted.value is None) == (counted.denominator == 0)
    assert counted.value is None or 0 <= counted.value <= 1


@given(st.lists(st.tuples(answers_of_a_unit, st.booleans())))
def test_argument_accuracy_counts_calls_with_the_right_tool_only(calls: list[tuple[Answers, bool]]) -> None:
    counted = argument_accuracy(SMALL, calls)
    right = [a for a, exists in calls if exists and a.get("relevant") == "yes"]
    judged = [a["arguments"] for a in right if a.get("arguments") in ("yes", "no")]
    assert (counted.numerator, counted.denominator) == (judged.count("yes"), len(judged))
    open_calls = [
        a for a, exists in calls if exists and a.get("relevant") != "no" and a.get("arguments") != "not_applicable"
    ]
    assert counted.denominator + counted.undetermined == len(open_calls)


@pytest.mark.parametrize(
    ("relevant_arguments", "exists", "expected"),
    [
        ("yy", True, (1, 1, 0)),
        ("yn", True, (0, 1, 0)),
        ("yu", True, (0, 0, 1)),
        ("ny", True, (0, 0, 0)),
        ("uy", True, (0, 0, 1)),
        ("un", True, (0, 0, 1)),
        ("yy", False, (0, 0, 0)),
        ("uu", False, (0, 0, 0)),
        ("y-", True, (0, 0, 0)),
        ("-y", True, (0, 0, 1)),
    ],
)
def test_argument_accuracy_of_one_call(relevant_arguments: str, exists: bool, expected: tuple[int, int, int]) -> None:
    relevant, arguments = words(relevant_arguments)
    counted = argument_accuracy(SMALL, [({"relevant": relevant, "arguments": arguments}, exists)])
    assert (counted.numerator, counted.denominator, counted.undetermined) == expected


@given(st.lists(answers_of_a_unit))
def test_recoveries_are_counted_where_recovery_applied(units: list[Answers]) -> None:
    found = [unit.get("recovery", "undetermined") for unit in units]
    assert recovery_rate(SMALL, units) == Rate(
        numerator=found.count("yes"),
        denominator=found.count("yes") + found.count("no"),
        undetermined=found.count("undetermined"),
    )


def without(*fields: str) -> Rubric:
    return SMALL.model_copy(update={"scoring": SMALL.scoring.model_copy(update=dict.fromkeys(fields))})


def test_a_rubric_that_asks_for_no_arguments_or_recovery_rates_none() -> None:
    unit: Answers = dict.fromkeys(NAMES, "yes")
    nothing = Rate(numerator=0, denominator=0)
    assert argument_accuracy(without("arguments"), [(unit, True)]) == nothing
    assert recovery_rate(without("recovery"), [unit]) == nothing


def test_a_rubric_without_right_tool_criteria_takes_every_tool_that_exists_for_right() -> None:
    rubric = SMALL.model_copy(update={"scoring": SMALL.scoring.model_copy(update={"right_tool": ()})})
    calls: list[tuple[Answers, bool]] = [({"arguments": "yes", "relevant": "no"}, exists) for exists in (True, False)]
    assert argument_accuracy(rubric, calls) == Rate(numerator=1, denominator=1)

"""In a single-answer task the outcome decides the final step; where it is not known, the judge does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepjudge.metric import Rate
from stepjudge.outcome_aware import outcome_aware, outcome_aware_bad
from stepjudge.propagated import propagated
from stepjudge.view import Signal, View, signals_of, view_faults, view_values

from trial_scores import card, check, step

words = st.text("+0-?", min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("steps", "outcome", "passing", "bad"),
    [
        ("+0+", 0.0, Rate(numerator=1, denominator=3), Rate(numerator=1, denominator=3)),
        ("+0-", 1.0, Rate(numerator=2, denominator=3), Rate(numerator=0, denominator=3)),
        ("+-?", 1.0, Rate(numerator=2, denominator=3), Rate(numerator=1, denominator=3)),
        ("+-?", 0.0, Rate(numerator=1, denominator=3), Rate(numerator=2, denominator=3)),
        (
            "+-?",
            None,
            Rate(numerator=1, denominator=2, undetermined=1),
            Rate(numerator=1, denominator=3),
        ),
        ("?", 0.0, Rate(numerator=0, denominator=1), Rate(numerator=1, denominator=1)),
    ],
)
def test_the_final_step_passes_or_fails_with_the_outcome(
    steps: str, outcome: float | None, passing: Rate, bad: Rate
) -> None:
    assert outcome_aware(card(steps), outcome) == passing
    assert outcome_aware_bad(card(steps), outcome) == bad


@given(words)
def test_an_unknown_outcome_leaves_every_reading_to_the_judge(steps: str) -> None:
    scored = card(steps)
    assert outcome_aware(scored, None) == scored.scores.step_level
    assert (
        signals_of([check("c", "error")], scored, single_answer=True)["score.outcome_aware"]
        == scored.scores.step_level.value
    )


@given(words, st.sampled_from([0.0, 1.0]))
def test_only_the_final_step_is_decided(steps: str, outcome: float) -> None:
    aware = outcome_aware(card(steps), outcome)
    assert aware == outcome_aware(card(steps[:-1] + "0"), outcome)
    assert aware is not None
    assert aware.denominator + aware.undetermined == len(steps)


def test_a_scored_range_that_ends_before_the_final_step_is_the_judges_alone() -> None:
    part = card("++").model_copy(update={"total_steps": 3})
    assert outcome_aware(part, 0.0) == part.scores.step_level
    assert outcome_aware_bad(part, 0.0) == Rate(numerator=0, denominator=2)


def test_a_final_step_that_a_grouping_merged_has_no_outcome_of_its_own() -> None:
    merged = card("+++").model_copy(update={"groups": ((1,), (2, 3)), "grouping": "consecutive-reads"})
    assert outcome_aware(merged, 1.0) is None
    assert signals_of([check("c")], merged, single_answer=True)["score.outcome_aware"] is None


def test_a_view_reads_it_and_is_provisional_like_all_that_a_judge_said() -> None:
    views = {"v": View(reducer="single", signals=(Signal(source="score.outcome_aware"),))}
    found = view_values(views, signals_of([check("c", "fail")], card("++"), single_answer=True))["v"]
    assert (found.value, found.judged) == (0.5, True)


def test_a_task_that_does_not_say_it_has_a_single_answer_may_not_read_it() -> None:
    views = {"v": View(reducer="single", signals=(Signal(source="score.outcome_aware"),))}
    (fault,) = view_faults(views, ["c"])
    assert "single_answer: true" in fault
    assert view_faults(views, ["c"], single_answer=True) == []
    assert "no checks" in view_faults(views, [], single_answer=True)[0]
    assert "score.outcome_aware" not in signals_of([check("c")], card("++"))


def test_a_step_that_inherits_an_error_does_not_pass_in_the_propagated_reading() -> None:
    steps = [step(1, "-"), step(2, "+").model_copy(update={"inherits_from": (1,)}), step(3, "+")]
    assert propagated(card(steps=steps)) == Rate(numerator=1, denominator=3)
    assert signals_of([], card(steps=steps))["score.propagated"] == pytest.approx(1 / 3)

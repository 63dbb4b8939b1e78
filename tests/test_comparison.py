"""Two runs are compared task by task: differences with intervals, in pairs, and every step whose answers changed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from stepjudge.comparison import (
    Comparison,
    compare,
)
from stepjudge.difference import HeadlineDifference
from stepjudge.headline import Pair
from stepjudge.mcnemar import McNemar
from stepjudge.metric import Rate
from stepjudge.step_change import AnswerChange, StepChange
from stepjudge.trial import TrialScore
from stepjudge.view import ViewValue

from trial_scores import card, judged_runs, run, step, trial

FULL = compare([trial("a", card=card("+-")), trial("b", card=card("+"))], [trial("a", card=card("++"))])
PAIRS: tuple[Pair, ...] = (FULL.success, FULL.precision, FULL.steps)


def figures(change: HeadlineDifference) -> tuple[float | None, float | None, float | None, int]:
    return change.first, change.second, change.difference, change.tasks


def test_runs_are_paired_by_task_and_tasks_of_one_run_are_listed() -> None:
    first = [trial("a"), trial("b", success=False), trial("c", success=False)]
    second = [trial("b"), trial("c", success=False), trial("d"), trial("e")]
    made = compare(first, second)
    assert (made.tasks, made.first_only, made.second_only) == (("b", "c"), ("a",), ("d", "e"))
    assert figures(made.success.success) == (0.0, 0.5, 0.5, 2)


def test_the_difference_has_an_interval_over_tasks() -> None:
    first, second = run("111 000 110 010 011 000 100 111"), run("111 110 111 110 011 100 101 111")
    made = compare(first, second).success.success
    assert made.interval is not None
    assert made.difference is not None
    assert 0 < made.interval.low < made.difference < made.interval.high < 0.5
    assert compare(first, second) == compare([*reversed(first)], [*reversed(second)])


def test_a_task_that_was_tried_more_often_does_not_weigh_more() -> None:
    """The second run does as well on each task, but tried the hard one more often."""
    made = compare(run("11 00"), run("1 0000"))
    assert figures(made.success.success) == (0.5, 0.5, 0.0, 2)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("1 0 1", "1 0 1", "every task differs alike, so resampling them shows no spread"),
        ("0 0", "1 1", "every task differs alike, so resampling them shows no spread"),
        ("1", "0", "one task in both: how far tasks differ cannot be seen"),
        ("u f", "1 0", "not measured in both"),
    ],
)
def test_a_difference_without_spread_has_no_interval_and_says_why(first: str, second: str, why: str) -> None:
    made = compare(run(first), run(second)).success.success
    assert (made.interval, made.why_no_interval) == (None, why)


def test_the_test_of_mcnemar_counts_tasks_that_differ() -> None:
    made = compare(run("1 " + "0 " * 9 + "1 1 0 f u"), run("0 " + "1 " * 9 + "1 1 0 1 1")).success.test
    assert made == McNemar(first_only=1, second_only=9, alike=3, p_value=22 / 1024)
    assert compare(run("1 0"), run("1 0")).success.test == McNemar(first_only=0, second_only=0, alike=2, p_value=1.0)


def test_the_test_of_mcnemar_needs_one_trial_per_task() -> None:
    assert compare(run("11 0"), run("1 0")).success.test is None
    assert compare(run("1f 0"), run("1 0")).success.test is not None
    assert compare([], []).success.test is None


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
def test_a_headline_difference_is_printed_with_its_partner_only(pair: Pair) -> None:
    halves = [half for half in vars(pair).values() if isinstance(half, HeadlineDifference)]
    assert halves
    for half in halves:
        with pytest.raises(TypeError, match="not printed alone"):
            str(half)
    assert len(str(pair).splitlines()) >= 2
    for name, field in type(pair).model_fields.items():
        if field.is_required():
            with pytest.raises(ValidationError, match="Field required"):
                type(pair).model_validate(pair.model_dump(exclude={name}))


def test_the_pairs_print_success_with_consistency_precision_with_arguments_and_steps_with_cost() -> None:
    made = compare(run("111 101"), run("011 111"))
    assert str(made.success).splitlines() == [
        "success rate: 0.8333 → 0.8333, +0 (95% interval -0.3333 to +0.3333, cluster bootstrap by task, paired, "
        "2 tasks in both)",
        "consistency: 50.0–100.0% over 3 passes → 50.0–100.0% over 3 passes",
    ]
    first = [trial("a", card=card("+-", arguments=Rate(numerator=1, denominator=2)), steps=4, cost=1.0)]
    second = [trial("a", card=card("++", arguments=Rate(numerator=2, denominator=2)), steps=2, cost=0.5)]
    made = compare(first, second)
    assert str(made.precision).splitlines() == [
        "tool-call precision: 0.5 → 1, +0.5 (no interval, 1 task in both); provisional",
        "argument accuracy: 0.5 → 1, +0.5 (no interval, 1 task in both); provisional",
    ]
    assert str(made.steps).splitlines()[:2] == [
        "steps per success, all trials: 4 → 2, -2 (no interval, 1 task in both)",
        "cost per success in USD, all trials: 1 → 0.5, -0.5 (no interval, 1 task in both)",
    ]
    assert str(made.step_level) == "0.5 → 1, +0.5 (no interval, 1 task in both); provisional"
    assert str(made.recovery_rate) == "not comparable (0 tasks in both); provisional"


def test_steps_whose_answers_changed_are_listed_by_index() -> None:
    first = [trial("a", card=card(steps=[step(1), step(2, "0"), step(3, "?"), step(4)]))]
    second = [trial("a", card=card(steps=[step(1), step(2), step(3, "0", command="pwd"), step(5)]))]
    made = compare(first, second).step_changes
    assert (made.trials, made.compared, made.first_only, made.second_only) == (1, 3, 1, 1)
    assert made.changed == (
        StepChange(
            task_id="a",
            first_trial="a-1",
            second_trial="a-1",
            step=2,
            changes=(AnswerChange(criterion="useful", first="no", second="yes"),),
            passes=(False, True),
            same_calls=True,
        ),
        StepChange(
            task_id="a",
            first_trial="a-1",
            second_trial="a-1",
            step=3,
            changes=(AnswerChange(criterion="useful", first="undetermined", second="no"),),
            passes=(None, False),
            same_calls=False,
        ),
    )


def test_a_criterion_that_one_rubric_does_not_ask_is_a_change_from_nothing() -> None:
    more = step(1).model_copy(update={"answers": {**step(1).answers, "recovery": "no"}})
    made = compare([trial("a", card=card("+"))], [trial("a", card=card(steps=[more]))]).step_changes.changed
    assert [each.changes for each in made] == [(AnswerChange(criterion="recovery", first=None, second="no"),)]


def test_trials_meet_by_id_or_else_by_task_and_pass() -> None:
    def named(trial_id: str, number: int, words: str) -> TrialScore:
        return trial("a", number, card=card(words), trial_id=trial_id)

    first = [named("x", 1, "+"), named("y", 2, "0"), named("p", 3, "+")]
    second = [named("y", 1, "0"), named("x", 2, "+"), named("q", 3, "0")]
    made = compare(first, second).step_changes
    assert (made.trials, [(each.first_trial, each.second_trial) for each in made.changed]) == (3, [("p", "q")])


def test_trials_that_cannot_be_told_apart_are_not_compared() -> None:
    first = [trial("a", 1, card=card("+"), trial_id="p"), trial("a", 1, card=card("0"), trial_id="q")]
    assert compare(first, [trial("a", 1, card=card("0"), trial_id="r")]).step_changes.trials == 0


def test_a_failed_trial_is_in_no_difference_whatever_it_carries() -> None:
    good = [trial("a", card=card("++"), steps=2), trial("b", card=card("++"), steps=2)]
    broken = [trial("a", 2, success=False, status="failed", card=card(words), steps=90) for words in ("--", "-+")]
    assert compare([*good, broken[0]], [*good, broken[1]]) == compare(good, good)


def test_views_and_what_else_differs_are_compared() -> None:
    def viewed(task: str, value: float | None, rubric: str) -> TrialScore:
        return trial(
            task, card=card(rubric=rubric), views={"v": ViewValue(value=value, judged=True), rubric: ViewValue(value=0)}
        )

    made = compare(
        [viewed("a", 0.25, "one"), viewed("b", 0.5, "one"), viewed("c", None, "one")],
        [viewed("a", 0.75, "two"), viewed("b", 0.5, "two"), viewed("c", 1.0, "two")],
    )
    assert list(made.views) == ["v"]
    assert (made.views["v"].first, made.views["v"].second, made.views["v"].tasks) == (0.375, 0.625, 2)
    assert made.views["v"].provisional
    assert made.notes == (
        "the rubrics differ: one@1.0.0 (sha256:one) in the first run, two@1.0.0 (sha256:two) in the second",
    )


@settings(max_examples=15)
@given(judged_runs, judged_runs)
def test_the_other_way_round_the_difference_is_the_opposite(first: list[TrialScore], second: list[TrialScore]) -> None:
    there, back = compare(first, second), compare(second, first)
    assert Comparison.model_validate_json(there.model_dump_json()) == there
    assert (there.first_only, there.tasks) == (back.second_only, back.tasks)
    for one, other in ((there.success.success, back.success.success), (there.step_level, back.step_level)):
        assert (one.first, one.second) == (other.second, other.first)
        if one.difference is not None and one.interval is not None:
            assert -1 <= one.interval.low <= one.difference <= one.interval.high <= 1


@settings(max_examples=15)
@given(judged_runs, st.integers(0, 5))
def test_a_run_does_not_differ_from_itself(trials: list[TrialScore], seed: int) -> None:
    made = compare(trials, trials, seed)
    assert made.step_changes.changed == ()
    assert made.notes == ()
    for change in (made.success.success, made.precision.precision, made.steps.steps, made.step_level):
        assert change.difference in (0, None)

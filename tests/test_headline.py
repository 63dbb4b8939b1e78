"""A run is summed up in headline pairs that cannot be had alone, and nothing that failed to be measured counts as 0."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from stepjudge.consistency import AtK, PassRate, pass_at_k, pass_hat_k
from stepjudge.first_step import FirstStep, FirstSteps, first_bad_step, first_failing_step
from stepjudge.headline import Half, Pair, printed
from stepjudge.metric import Rate
from stepjudge.per_success import PerSuccess, StepsAndCost
from stepjudge.precision import PrecisionAndArguments
from stepjudge.success import SuccessAndConsistency
from stepjudge.summary import Summary, TaskSummary, TaskView, TrialCounts, summary
from stepjudge.trial import TrialScore
from stepjudge.view import ViewValue

from trial_scores import card, judged_runs, run, runs, trial

FULL = summary([trial("a", card=card("+-")), trial("b", success=False, card=card("0")), trial("c", card=card("+"))])
PAIRS = (FULL.success, FULL.precision, FULL.steps)
HALVES: dict[str, Half] = {
    "success": FULL.success.success,
    "consistency": FULL.success.consistency,
    "precision": FULL.precision.precision,
    "arguments": FULL.precision.arguments,
    "steps": FULL.steps.steps,
    "cost": FULL.steps.cost,
}


def share(pair: SuccessAndConsistency) -> tuple[float, int, int, int]:
    rate = pair.success
    return rate.numerator, rate.denominator, rate.undetermined, rate.excluded


def quotients(per: PerSuccess) -> list[tuple[float, int, float | None]]:
    return [(each.amount, each.successes, each.value) for each in (per.of_successes, per.of_all)]


@pytest.mark.parametrize("pair", [SuccessAndConsistency, PrecisionAndArguments, StepsAndCost])
def test_half_a_pair_cannot_be_built(pair: type[Pair]) -> None:
    whole = next(each for each in PAIRS if isinstance(each, pair))
    halves = whole.model_dump()
    assert len(halves) == 2
    for half in halves:
        with pytest.raises(ValidationError, match="Field required"):
            pair.model_validate({half: halves[half]})


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("show", [str, format, "{}".format, "%s".__mod__], ids=["str", "format", "braces", "percent"])
def test_half_a_pair_cannot_be_printed(half: str, show: Callable[[object], str]) -> None:
    with pytest.raises(TypeError, match="not printed alone: print the pair"):
        show(HALVES[half])


def test_a_pair_prints_both_halves() -> None:
    labels = [[reading.label for reading in pair.readings()[:2]] for pair in PAIRS]
    assert labels == [
        ["success rate", "consistency"],
        ["tool-call precision", "argument accuracy"],
        ["steps per success", "cost per success"],
    ]
    assert printed(PAIRS).splitlines()[:4] == [
        "success rate: 66.7% (2/3, 95% interval 20.8–93.9%, Wilson); 0 undetermined",
        "consistency: 66.7–66.7% over 1 pass (fewer than 3: too few to tell)",
        "pass@1, pass^1: 66.7%, 66.7% (3 tasks)",
        "tool-call precision: 50.0% (2/4, 95% interval 0.0–100.0%, cluster bootstrap by task); 0 undetermined, provisional",
    ]


def test_trials_of_a_failed_harness_are_excluded_and_counted_and_those_that_cannot_be_told_are_undetermined() -> None:
    made = summary(run("11f 0u 10"))
    assert share(made.success) == (3, 5, 1, 1)
    assert (made.counts.failed, made.counts.undecided) == (1, 1)
    assert made.tasks == {
        "t1": TaskSummary(trials=3, failed=1, successes=2, told=2),
        "t2": TaskSummary(trials=2, failed=0, successes=0, told=1),
        "t3": TaskSummary(trials=2, failed=0, successes=1, told=2),
    }


def test_what_a_judge_could_not_say_is_in_no_step_metric() -> None:
    made = summary(
        [
            trial("a", card=card("++")),
            trial("b", judge_error="the judge gave no answer"),
            trial("c"),
            trial("d", status="failed", success=None, card=card("----")),
            trial("e", status="partial", card=card("-?")),
        ]
    )
    level = made.step_level
    assert (level.numerator, level.denominator, level.undetermined, level.excluded) == (2, 3, 1, 3)
    assert made.counts == TrialCounts(
        total=5, completed=3, partial=1, failed=1, undecided=0, judged=2, judge_failed=1, unjudged=1
    )
    assert share(made.success) == (4, 4, 0, 1)


def test_consistency_is_the_range_of_the_passes() -> None:
    made = summary(run("101 111 00f 1u0")).success.consistency
    assert made.passes == (
        PassRate(trial=1, numerator=3, denominator=4, value=0.75),
        PassRate(trial=2, numerator=1, denominator=3, value=1 / 3),
        PassRate(trial=3, numerator=2, denominator=3, value=2 / 3),
    )
    assert (made.low, made.high, made.n, made.range) == (1 / 3, 0.75, 3, 0.75 - 1 / 3)


def test_a_single_pass_has_no_range() -> None:
    assert summary(run("1 0")).success.consistency.range is None
    assert summary([]).success.consistency.n == 0


def test_pass_at_k_and_pass_hat_k_say_which_tasks_have_k_trials() -> None:
    assert summary(run("110 1u 000 ff")).success.consistency.at_k == (
        AtK(k=1, pass_at_k=(2 / 3 + 1) / 3, pass_hat_k=(2 / 3 + 1) / 3, tasks=3, left_out=1),
        AtK(k=2, pass_at_k=0.5, pass_hat_k=(1 / 3) / 2, tasks=2, left_out=2),
        AtK(k=3, pass_at_k=0.5, pass_hat_k=0.0, tasks=2, left_out=2),
    )


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_more_tries_help_one_success_and_hurt_all_successes(trials: tuple[int, int]) -> None:
    n, c = trials
    at = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    hat = [pass_hat_k(n, c, k) for k in range(1, n + 1)]
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)
    assert all(0 <= low <= high <= 1 for low, high in zip(hat, at, strict=True))
    assert abs(at[0] - c / n) < 1e-12
    assert abs(hat[0] - c / n) < 1e-12


@given(st.integers(2, 5), st.integers(1, 4), st.integers(1, 8))
def test_pass_at_k_and_pass_hat_k_are_unbiased(n: int, k: int, tenths: int) -> None:
    """Over every outcome of n trials, weighed by its chance, they average 1 − (1−p)^k and p^k."""
    k, p = min(k, n), tenths / 10
    at = hat = 0.0
    for won in product((0, 1), repeat=n):
        chance = p ** sum(won) * (1 - p) ** (n - sum(won))
        at += chance * pass_at_k(n, sum(won), k)
        hat += chance * pass_hat_k(n, sum(won), k)
    assert abs(at - (1 - (1 - p) ** k)) < 1e-12
    assert abs(hat - p**k) < 1e-12


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_pass_at_1_is_the_success_rate_when_tasks_have_equally_many_trials(
    trials: int, tasks: int, data: st.DataObject
) -> None:
    outcomes = " ".join(data.draw(st.text("10", min_size=trials, max_size=trials)) for _ in range(tasks))
    made = summary(run(outcomes)).success
    assert made.success.value is not None
    assert abs(made.consistency.at_k[0].pass_at_k - made.success.value) < 1e-12
    assert abs(made.consistency.at_k[0].pass_hat_k - made.success.value) < 1e-12


@settings(max_examples=20)
@given(runs)
def test_success_lies_between_its_worst_and_its_best_pass(trials: list[TrialScore]) -> None:
    made = summary(trials).success
    if made.success.value is not None:
        assert made.consistency.low is not None
        assert made.consistency.high is not None
        assert made.consistency.low - 1e-12 <= made.success.value <= made.consistency.high + 1e-12
    assert sum(each.denominator for each in made.consistency.passes) == made.success.denominator


def test_steps_and_cost_per_success_name_both_denominators() -> None:
    made = summary(
        [
            trial("a", steps=4, cost=1.0, card=card(cost=0.5), tokens=(10, 5, None)),
            trial("b", steps=6, cost=2.0, card=card(cost=0.25), tokens=(None, None, 30)),
            trial("c", success=False, steps=20, cost=6.0, card=card(cost=0.25), tokens=(None, 7, None)),
            trial("d", success=None, steps=99, cost=99.0),
            trial("e", success=None, status="failed", steps=99, cost=99.0),
        ]
    ).steps
    assert quotients(made.steps.steps) == [(10, 2, 5.0), (30, 2, 15.0)]
    assert quotients(made.cost.agent_usd) == [(3.0, 2, 1.5), (9.0, 2, 4.5)]
    assert quotients(made.cost.with_judge_usd) == [(3.75, 2, 1.875), (10.0, 2, 5.0)]
    assert quotients(made.cost.tokens) == [(45, 2, 22.5), (45, 2, 22.5)]
    assert (made.cost.tokens.trials, made.cost.tokens.unknown) == (2, 1)


def test_without_a_success_nothing_can_be_said_per_success() -> None:
    made = summary([trial("a", success=False, steps=3), trial("b", success=False, steps=4)]).steps
    assert quotients(made.steps.steps) == [(0, 0, None), (7, 0, None)]
    assert made.steps.steps.of_all.why_no_interval == "no success"


def test_a_cost_that_nobody_knows_is_no_zero() -> None:
    made = summary([trial("a", cost=None), trial("b", cost=1.0), trial("c", cost=3.0, card=card(cost=None))]).steps
    assert (quotients(made.cost.agent_usd)[1], made.cost.agent_usd.unknown) == ((4.0, 2, 2.0), 1)
    assert (quotients(made.cost.with_judge_usd)[1], made.cost.with_judge_usd.unknown) == ((1.0, 1, 1.0), 2)
    broken = summary([trial("a", cost=1.0, judge_error="no answer")]).steps.cost
    assert (broken.agent_usd.unknown, broken.with_judge_usd.unknown) == (0, 1)
    assert "unknown for 1 trial" in summary([trial("a", cost=None), trial("b")]).steps.readings()[1].text


@pytest.mark.parametrize(
    ("words", "failing", "bad"),
    [
        ("+++", (None, True), (None, True)),
        ("+0-", (2, True), (3, True)),
        ("+?-", (3, False), (3, True)),
        ("?++", (None, False), (None, True)),
        ("-?", (1, True), (1, True)),
    ],
)
def test_the_first_failing_step_is_uncertain_behind_an_undetermined_one(
    words: str, failing: tuple[int | None, bool], bad: tuple[int | None, bool]
) -> None:
    made = card(words)
    assert first_failing_step(made) == FirstStep(step=failing[0], certain=failing[1])
    assert first_bad_step(made) == FirstStep(step=bad[0], certain=bad[1])


def test_first_failing_steps_are_counted_over_trials() -> None:
    cards = ["+0", "+-+", "++", "?0", "0"]
    made = summary([trial("a", number, card=card(words)) for number, words in enumerate(cards, start=1)])
    assert made.first_failing == FirstSteps(trials=5, none=1, uncertain=1, steps={1: 1, 2: 2}, median=2)


def test_views_have_a_value_per_task_and_run_and_count_gaps() -> None:
    def valued(task: str, value: float | None, *, judged: bool = True, skipped: int = 0) -> TrialScore:
        viewed = ViewValue(value=value, judged=judged, skipped=skipped)
        return trial(task, card=card(), views={"v": viewed, "plain": ViewValue(value=1.0)})

    failed = trial("a", status="failed", success=None)
    made = summary([valued("a", 1.0), valued("a", None), valued("b", 0.5, skipped=2), failed, trial("c")]).views
    assert list(made) == ["plain", "v"]
    assert (made["v"].run.value, made["v"].run.denominator, made["v"].run.undetermined) == (0.75, 2, 1)
    assert (made["v"].run.excluded, made["v"].skipped) == (1, 2)
    assert made["v"].tasks == {
        "a": TaskView(value=1.0, measured=1, unmeasured=1),
        "b": TaskView(value=0.5, measured=1, unmeasured=0),
    }
    assert (made["v"].run.provisional, made["plain"].run.provisional) == (True, False)


def test_a_run_is_provisional_until_every_judge_was_validated() -> None:
    valid, not_yet = card(provisional=False), card(provisional=True)
    assert not summary([trial("a", card=valid), trial("b", card=valid)]).provisional
    mixed = summary([trial("a", card=valid), trial("b", card=not_yet)])
    assert mixed.provisional
    assert mixed.step_level.provisional
    assert not mixed.success.success.provisional
    assert summary([trial("a", card=not_yet)], success_is_judged=True).success.success.provisional


@settings(max_examples=20)
@given(judged_runs, st.integers(0, 3))
def test_every_rate_is_a_share_and_every_trial_is_accounted_for(trials: Sequence[TrialScore], seed: int) -> None:
    made = summary(trials, seed)
    halves = (made.success.success, made.precision.precision, made.precision.arguments)
    for estimate in (
        *halves,
        made.step_level,
        made.bad_rate,
        made.recovery_rate,
        *(v.run for v in made.views.values()),
    ):
        assert estimate.value is None or 0 <= estimate.value <= 1
        if estimate.value is not None and estimate.interval is not None:
            assert estimate.interval.low <= estimate.value <= estimate.interval.high
    counts = made.counts
    assert counts.completed + counts.partial + counts.failed == counts.total == len(trials)
    assert counts.judged + counts.judge_failed + counts.unjudged + counts.failed == counts.total
    success = made.success.success
    assert success.denominator + success.undetermined + success.excluded == counts.total


@settings(max_examples=20)
@given(judged_runs, st.integers(0, 3))
def test_a_summary_depends_on_trials_and_seed_only_and_survives_json(trials: list[TrialScore], seed: int) -> None:
    made = summary(trials, seed)
    assert summary(trials, seed) == made
    assert Summary.model_validate_json(made.model_dump_json()) == made


def test_a_run_says_what_was_judged_by_whom() -> None:
    part = card("++").model_copy(update={"total_steps": 9})
    made = summary(
        [trial("a", card=part), trial("b", card=card(rubric="strict", recovery=Rate(numerator=1, denominator=2)))]
    )
    assert (made.rubrics, made.judges, made.groupings) == (("step@1.0.0", "strict@1.0.0"), ("scripted",), ("none",))
    assert made.partly_scored == 1
    assert (made.recovery_rate.numerator, made.recovery_rate.denominator) == (1, 2)

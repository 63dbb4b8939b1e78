"""Every estimate carries an interval by a method that its units allow, and says what was left out."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from stepjudge.interval import (
    BOOTSTRAP,
    WILSON,
    WILSON_OF_TASKS,
    Cluster,
    Interval,
    bootstrap,
    paired_bootstrap,
    wilson,
)
from stepjudge.metric import Rate, rate
from stepjudge.stats import RateWithInterval, mean_with_interval, quotient_interval, rate_with_interval


def rates(*tasks: Sequence[tuple[int, int]]) -> dict[str, list[Rate]]:
    """One list per task of numerator and denominator per trial."""
    return {
        f"t{number}": [Rate(numerator=above, denominator=below) for above, below in task]
        for number, task in enumerate(tasks)
    }


def bounds(estimate: RateWithInterval) -> tuple[str, float, float, int] | None:
    found = estimate.interval
    return (found.method, round(found.low, 4), round(found.high, 4), found.units) if found else None


any_rates = st.dictionaries(
    st.sampled_from("abcdef"),
    st.lists(
        st.lists(st.none() | st.booleans(), max_size=6).map(rate),
        max_size=4,
    ),
    max_size=6,
)


def test_one_unit_per_task_gets_the_score_interval_of_wilson() -> None:
    estimate = rate_with_interval(rates(*([[(1, 1)]] + [[(0, 1)]] * 9)), 0)
    assert bounds(estimate) == (WILSON, 0.0179, 0.4042, 10)


def test_trials_of_a_single_task_are_independent_but_the_steps_of_one_are_not() -> None:
    assert bounds(rate_with_interval(rates([(1, 1), (0, 1), (1, 1)]), 0)) == (WILSON, 0.2077, 0.9385, 3)
    steps = rate_with_interval(rates([(4, 5), (3, 5)]), 0)
    assert steps.interval is None
    assert steps.why_no_interval == "one task: how far tasks differ cannot be seen"


def test_units_of_several_tasks_are_resampled_by_task() -> None:
    alike_within = rates(*([[(5, 5)]] * 4 + [[(0, 5)]] * 4))
    estimate = rate_with_interval(alike_within, 0)
    assert estimate.interval is not None
    assert (estimate.interval.method, estimate.interval.units) == (BOOTSTRAP, 8)
    pooled = wilson(20, 40)
    assert estimate.interval.high - estimate.interval.low > 1.8 * (pooled.high - pooled.low)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([[(5, 5)], [(3, 3)], [(4, 4)]], (WILSON_OF_TASKS, 0.4385, 1.0, 3)),
        ([[(0, 5)], [(0, 3)]], (WILSON_OF_TASKS, 0.0, 0.6576, 2)),
        ([[(1, 2)], [(2, 4)], [(0, 0)]], (WILSON_OF_TASKS, 0.0945, 0.9055, 2)),
    ],
)
def test_tasks_that_are_all_alike_do_not_make_a_certainty(
    tasks: list[list[tuple[int, int]]], expected: tuple[str, float, float, int]
) -> None:
    assert bounds(rate_with_interval(rates(*tasks), 0)) == expected


def test_values_that_are_alike_but_for_rounding_do_not_make_a_certainty() -> None:
    found = mean_with_interval({"a": [0.1, 0.1, 0.1], "b": [0.1]}, 0).interval
    assert found is not None
    assert (found.method, found.units) == (WILSON_OF_TASKS, 2)


def test_an_interval_is_widened_to_hold_its_estimate() -> None:
    found = Interval(low=0.2, high=0.4, method=BOOTSTRAP, units=9)
    assert (found.holding(0.3), found.holding(0.1).low, found.holding(0.5).high) == (found, 0.1, 0.5)


def test_resampling_single_values_agrees_with_the_t_interval() -> None:
    """Without the widening for few clusters it would be 5% narrower than Student's."""
    values = np.arange(1, 20, 2) / 20
    width = 2 * 2.262157 * float(np.std(values, ddof=1)) / 10**0.5  # t of 9 degrees of freedom, 97.5%
    found = [bootstrap([Cluster(float(value), 1) for value in values], seed) for seed in range(5)]
    ratio = sum(each.high - each.low for each in found if each) / 5 / width
    assert 0.955 < ratio < 1.03


def test_nothing_scored_is_no_zero() -> None:
    estimate = rate_with_interval({"a": [Rate(numerator=0, denominator=0, undetermined=3)]}, 0, excluded=2)
    assert estimate == RateWithInterval(
        numerator=0,
        denominator=0,
        undetermined=3,
        excluded=2,
        value=None,
        why_no_interval="nothing was measured",
    )
    assert str(estimate) == "not measured (0/0, no interval); 3 undetermined, 2 trials excluded"


def test_a_rate_is_printed_with_all_it_rests_on() -> None:
    estimate = rate_with_interval(rates(*([[(1, 1)]] + [[(0, 1)]] * 9)), 0, excluded=1, provisional=True)
    assert (
        str(estimate) == "10.0% (1/10, 95% interval 1.8–40.4%, Wilson); 0 undetermined, 1 trial excluded, provisional"
    )


def test_an_estimate_that_does_not_add_up_or_hides_why_it_has_no_interval_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"3/4 is not 0\.8"):
        RateWithInterval(numerator=3, denominator=4, value=0.8, why_no_interval="one task")
    with pytest.raises(ValidationError, match="says why"):
        RateWithInterval(numerator=3, denominator=4, value=0.75)


@given(any_rates, st.integers(0, 9))
@example({"a": [Rate(numerator=1, denominator=5)], "b": [Rate(numerator=1, denominator=1)]}, 0)
def test_an_interval_holds_its_estimate_and_both_are_shares(by_task: Mapping[str, Sequence[Rate]], seed: int) -> None:
    estimate = rate_with_interval(by_task, seed)
    assert estimate == RateWithInterval.model_validate_json(estimate.model_dump_json())
    assert estimate.undetermined == sum(one.undetermined for each in by_task.values() for one in each)
    if estimate.value is not None and estimate.interval is not None:
        assert 0 <= estimate.interval.low <= estimate.value <= estimate.interval.high <= 1
        assert estimate.interval.low < estimate.interval.high


@given(any_rates)
def test_what_is_undetermined_moves_neither_rate_nor_interval(by_task: Mapping[str, Sequence[Rate]]) -> None:
    told = {
        task: [one.model_copy(update={"undetermined": 0}) for one in each if one.denominator]
        for task, each in by_task.items()
    }
    full, bare = rate_with_interval(by_task, 0), rate_with_interval(told, 0)
    assert (full.value, full.interval) == (bare.value, bare.interval)


@given(any_rates, st.integers(0, 9))
def test_the_seed_alone_decides_whatever_the_order_of_tasks(by_task: Mapping[str, Sequence[Rate]], seed: int) -> None:
    turned = {task: [*reversed(by_task[task])] for task in reversed([*by_task])}
    assert rate_with_interval(by_task, seed) == rate_with_interval(turned, seed)


def test_another_seed_gives_another_interval_of_about_the_same_width() -> None:
    by_task = rates(*([[(n % 4, 3 + n % 5)] for n in range(12)]))
    one, other = (rate_with_interval(by_task, seed).interval for seed in (1, 2))
    assert one is not None
    assert other is not None
    assert one != other
    assert abs(one.low - other.low) + abs(one.high - other.high) < 0.05


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.none() | st.floats(0, 1), max_size=4), max_size=4))
def test_a_mean_lies_in_its_interval_and_counts_what_was_unmeasured(values: dict[str, list[float | None]]) -> None:
    estimate = mean_with_interval(values, 0)
    everything = [value for each in values.values() for value in each]
    assert estimate.undetermined == everything.count(None)
    assert estimate.denominator == len(everything) - everything.count(None)
    if estimate.value is not None and estimate.interval is not None:
        assert estimate.interval.low <= estimate.value <= estimate.interval.high


def test_a_quotient_has_no_interval_where_a_resample_may_hold_no_success() -> None:
    rare = {"a": Cluster(10, 1), "b": Cluster(20, 0), "c": Cluster(30, 0)}
    assert quotient_interval(rare, 0)[0] is None
    assert quotient_interval(rare, 0)[1].startswith("too few successes")
    assert quotient_interval({"a": Cluster(1, 1), "b": Cluster(1, 1)}, 0)[0] is None
    assert quotient_interval({"a": Cluster(1, 1)}, 0)[0] is None
    found, why = quotient_interval({f"t{n}": Cluster(10 + n, 1) for n in range(8)}, 0)
    assert why == ""
    assert found is not None
    assert found.low < 13.5 < found.high


def test_resampling_in_pairs_lets_the_difficulty_of_tasks_cancel_out() -> None:
    """Tasks differ a lot, the runs by the same on each: paired, the difference is nearly certain."""
    pairs = [(Cluster(n, 20), Cluster(n + 2 + n % 2, 20)) for n in range(0, 18, 3)]
    found = paired_bootstrap(pairs, 0)
    alone = bootstrap([first for first, _ in pairs], 0)
    assert found is not None
    assert alone is not None
    assert 0.099 < found.low < 0.125 < found.high < 0.151
    assert alone.high - alone.low > 5 * (found.high - found.low)


def test_the_cluster_bootstrap_covers_where_an_interval_over_units_does_not() -> None:
    """120 runs of 15 tasks with 5 trials each, whose chances differ from task to task (beta(1.4, 0.6), mean 0.7)."""
    random = np.random.default_rng(20)
    by_task = naive = 0
    for _ in range(120):
        won = random.binomial(5, random.beta(1.4, 0.6, size=15))
        clustered = rate_with_interval(rates(*([(int(n), 5)] for n in won)), 0).interval
        over_units = wilson(int(won.sum()), 75)
        assert clustered is not None
        by_task += clustered.low <= 0.7 <= clustered.high
        naive += over_units.low <= 0.7 <= over_units.high
    assert by_task / 120 >= 0.9
    assert naive / 120 <= 0.85


@pytest.mark.parametrize("tasks", [3, 5])
def test_tasks_that_are_all_at_one_half_have_a_symmetric_interval(tasks: int) -> None:
    found = rate_with_interval(rates(*[[(1, 2)]] * tasks), 0)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(1 - found.interval.high)

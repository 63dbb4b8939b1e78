# pyright: basic
"""Agreement beyond chance: published examples, laws, and scikit-learn's own figures."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score

from stepjudge.agreement import TERNARY, YES_NO, Agreement, Rated, agreement
from stepjudge.chance_corrected import alpha, coincidences, kappa
from stepjudge.first_error import TraceRated, first_error
from stepjudge.floors import Positioned, always_plus, position_alone
from stepjudge.resampling import Draws
from stepjudge.trust import TrustRule, trust

pairs = st.lists(st.tuples(st.sampled_from(TERNARY), st.sampled_from((*TERNARY, None))), min_size=1, max_size=40)


def rated(said: Sequence[tuple[object, object]], *, per_task: int = 1) -> list[Rated]:
    return [
        Rated(f"t{number // per_task}", human, judge)  # pyright: ignore[reportArgumentType]
        for number, (human, judge) in enumerate(said)
    ]


def of(said: Sequence[tuple[object, object]]) -> Agreement:
    return agreement(rated(said), TERNARY, scale="ordinal")


def yes_no(both_yes: int, both_no: int, missed: int, false: int, left: int = 0) -> Agreement:
    said = [("yes", "yes")] * both_yes + [("no", "no")] * both_no + [("no", "yes")] * missed + [("yes", "no")] * false
    return agreement(rated([*said, *[("yes", None)] * left]), YES_NO[:2], scale="nominal")


def test_krippendorffs_own_example_with_four_raters_and_gaps() -> None:
    """K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section E."""
    raters = (
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    )
    columns = zip(*(line.split() for line in raters), strict=True)
    table = coincidences([[int(cell) - 1 for cell in unit if cell != "."] for unit in columns], 5)

    assert round(float(alpha(table, "nominal")), 3) == 0.743
    assert round(float(alpha(table, "ordinal")), 3) == 0.815


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=12))
def test_alpha_is_one_minus_observed_over_expected_disagreement_pair_by_pair(units: list[list[int]]) -> None:
    paired = [unit for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    assume(len(set(values)) > 1)
    observed = sum(
        sum(a != b for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j) / (len(unit) - 1)
        for unit in paired
    ) / len(values)
    every = [(a, b) for i, a in enumerate(values) for j, b in enumerate(values) if i != j]
    expected = sum(a != b for a, b in every) / len(every)

    assert float(alpha(coincidences(units, 4), "nominal")) == pytest.approx(1 - observed / expected)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@given(said=pairs)
def test_kappa_of_counts_is_scikit_learns(weights: str, said: list[tuple[int, int | None]]) -> None:
    both = [(human, judge) for human, judge in said if judge is not None]
    table = [[sum(each == (human, judge) for each in both) for judge in TERNARY] for human in TERNARY]
    ours = float(kappa(np.array(table), weights))  # pyright: ignore[reportArgumentType]
    assume(both)
    with warnings.catch_warnings(action="ignore"):
        theirs = cohen_kappa_score(*zip(*both, strict=True), weights=None if weights == "none" else weights)

    assert ours == pytest.approx(float(theirs), nan_ok=True)


@given(pairs)
def test_every_figure_lies_in_its_interval_and_adds_up(said: list[tuple[int, int | None]]) -> None:
    found = of(said)
    answered = [(human, judge) for human, judge in said if judge is not None]
    assert (found.labelled, found.answered) == (len(said), len(answered))
    assert found.raw.value == found.matches / len(said)
    assert sum(map(sum, found.confusion)) == len(answered)
    for figure in (found.raw, found.kappa, found.kappa_quadratic, found.alpha_ordinal, found.balanced_accuracy):
        if figure is not None and figure.interval is not None and figure.value is not None:
            assert figure.interval.low <= figure.value <= figure.interval.high
    for each in found.classes:
        right = sum(human == judge == each.answer for human, judge in answered)
        assert each.precision == (right / each.judge if each.judge else None)
        assert each.recall == (right / each.human if each.human else None)


def test_what_the_judge_left_open_is_wrong_in_raw_and_in_no_other_figure() -> None:
    said = [(1, 1), (1, 1), (-1, -1), (0, 1)]
    whole, with_gaps = of(said), of([*said, (1, None), (-1, None)])
    assert (with_gaps.raw.value, with_gaps.raw_answered.value) == (3 / 6, 3 / 4)
    assert with_gaps.coverage == 4 / 6
    assert (with_gaps.kappa.value, with_gaps.confusion) == (whole.kappa.value, whole.confusion)


def test_balanced_accuracy_is_scikit_learns() -> None:
    said = [(1, 1), (1, 0), (1, 1), (-1, -1), (-1, 1), (0, 0)]
    theirs = balanced_accuracy_score([human for human, _ in said], [judge for _, judge in said])
    assert of(said).balanced_accuracy.value == pytest.approx(float(theirs))


def test_where_only_one_answer_occurs_agreement_beyond_chance_is_undefined() -> None:
    found = of([(1, 1)] * 20)
    assert (found.raw.value, found.kappa.value, found.alpha_nominal.value) == (1.0, None, None)


def test_intervals_draw_tasks_so_repeating_each_step_within_its_task_tightens_nothing() -> None:
    said = [(1, 1), (1, 0), (-1, -1), (0, 1), (1, 1), (-1, 1), (1, 1), (-1, -1)]
    once = agreement(rated(said), TERNARY, scale="ordinal")
    often = agreement(rated([each for each in said for _ in range(5)], per_task=5), TERNARY, scale="ordinal")
    assert once.kappa == often.kappa


def test_the_seed_and_not_the_order_decides_the_interval() -> None:
    steps = rated([(1, 1), (1, 0), (-1, -1), (0, 1), (1, 1)] * 6)
    found = agreement(steps, TERNARY, scale="ordinal", seed=3)
    assert agreement(steps[::-1], TERNARY, scale="ordinal", seed=3).kappa == found.kappa
    assert agreement(steps, TERNARY, scale="ordinal", seed=4).kappa.interval != found.kappa.interval


def test_one_task_has_figures_but_no_interval() -> None:
    found = agreement([Rated("one", 1, 1), Rated("one", -1, 1)], TERNARY, scale="ordinal")
    assert (found.raw.value, found.raw.interval) == (0.5, None)


def test_a_cluster_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    hits = 0
    for run in range(150):
        rates = generator.beta(2, 2, size=25)
        counts = {str(task): [float(generator.binomial(8, rate)), 8.0] for task, rate in enumerate(rates)}
        interval = Draws(counts, run).interval(_share)
        assert interval is not None
        hits += interval.low <= 0.5 <= interval.high
    assert hits >= 135, "a 95% interval that holds the truth in less than 90% of runs is none"


def _share(sums: Any) -> Any:
    return sums[..., 0] / sums[..., 1]


def test_the_first_error_counts_where_it_is_named_exactly_or_rightly_not_at_all() -> None:
    found = first_error(
        [
            TraceRated("a", (1, -1, -1), (1, -1, 1)),  # named
            TraceRated("a", (1, 1, -1), (1, -1, -1)),  # too early
            TraceRated("b", (1, 0), (1, 1)),  # clean, no alarm
            TraceRated("b", (1, 1), (1, -1)),  # false alarm
            TraceRated("c", (-1,), (None,)),  # no answer is no error found
        ]
    )
    assert (found.erroneous, found.exact, found.clean, found.unalarmed, found.matches) == (3, 1, 2, 1, 2)
    assert found.accuracy.value == 2 / 5
    assert found.f1.value == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))


def test_a_judge_that_answers_nothing_gets_the_clean_traces_for_free_but_no_f1() -> None:
    found = first_error([TraceRated("a", (1, 1), (None, None)), TraceRated("b", (-1,), (None,))])
    assert (found.accuracy.value, found.f1.value) == (0.5, 0.0)
    assert first_error([]).f1.value is None


def test_the_floors_are_the_share_of_plus_and_what_position_tells() -> None:
    traces = [[1, 1, -1]] * 12
    plus = always_plus(traces)
    assert (plus.accuracy, plus.first_error_matches, plus.traces) == (24 / 36, 0, 12)
    steps = [
        Positioned(f"t{task}", place, score) for task, each in enumerate(traces) for place, score in enumerate(each)
    ]
    alone = position_alone(steps)
    assert alone.accuracy == 1.0, "here the position gives the score away"
    assert position_alone(steps[::-1]) == alone


def test_the_floor_of_position_says_when_there_are_too_few_tasks() -> None:
    floor = position_alone([Positioned("a", 0, 1), Positioned("b", 0, -1)])
    assert floor.accuracy is None
    assert "2 tasks are too few" in floor.why_none


@pytest.mark.parametrize(
    ("found", "word", "says"),
    [
        (yes_no(40, 20, 1, 1), "trust it", "60 of 62 equal"),
        (yes_no(35, 12, 6, 7), "use with care", "kappa is under 0.6"),
        (yes_no(40, 20, 1, 1, left=30), "use with care", "under 80% answered"),
        (yes_no(30, 5, 15, 15), "do not rely on it", "kappa -0"),
        (yes_no(60, 0, 10, 0), "do not rely on it", "kappa 0.00"),
        (yes_no(30, 15, 1, 1), "too few examples to say", "47 of 50"),
        (yes_no(70, 3, 0, 1), "too few examples to say", "people said 'yes' in 71 of 74"),
        (agreement([], YES_NO, scale="nominal"), "too few examples to say", "0 of 50"),
    ],
)
def test_each_criterion_gets_one_plain_line_with_its_numbers(found: Agreement, word: str, says: str) -> None:
    line = trust(found, TrustRule())
    assert line.word == word
    assert says in line.because


def test_the_rule_can_be_set_and_says_itself() -> None:
    found = yes_no(35, 12, 6, 7)
    lenient = TrustRule(trusted_kappa=0.4, trusted_low=0.1, min_labels=10)
    assert trust(found, lenient).word == "trust it"
    assert "kappa at least 0.4" in str(lenient)
    assert "under 10 blind labels" in str(lenient)

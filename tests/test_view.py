"""A view rolls signals up to one value, by an explicit rule for what is missing."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stepjudge.metric import Rate
from stepjudge.view import Missing, Reducer, Signal, View, ViewValue, signals_of, view_faults, view_values

from trial_scores import card, check

UNMEASURED = ViewValue(value=None)
shares = st.floats(0, 1)
REDUCERS: tuple[Reducer, ...] = ("mean", "weighted_mean", "min", "max", "all", "any", "gate")


def view(reducer: Reducer, *sources: str, missing: Missing = "unmeasured", weights: Sequence[float] = ()) -> View:
    weighed = weights or (1.0,) * len(sources)
    signals = tuple(Signal(source=source, weight=weight) for source, weight in zip(sources, weighed, strict=True))
    return View(reducer=reducer, signals=signals, missing=missing)


def value(
    reducer: Reducer, *values: float | None, missing: Missing = "unmeasured", weights: Sequence[float] = ()
) -> ViewValue:
    signals = {f"check.c{number}": each for number, each in enumerate(values)}
    return view_values({"v": view(reducer, *signals, missing=missing, weights=weights)}, signals)["v"]


@pytest.mark.parametrize(
    ("reducer", "values", "weights", "nemo_gave"),
    [
        ("single", (0.3,), (), 0.3),
        ("all", (1, 0, 1), (), 0.0),
        ("all", (1, 1), (), 1.0),
        ("all", (0.75, 0.5), (), 0.5),
        ("any", (0, 0, 1), (), 1.0),
        ("any", (0.25, 0.5), (), 0.5),
        ("mean", (1, 0, 1, 1), (), 0.75),
        ("mean", (0.25, 0.5), (), 0.375),
        ("weighted_mean", (1, 0), (3, 1), 0.75),
        ("weighted_mean", (0.5, 1, 0), (2, 0, 2), 0.25),
        ("mean", (1, None), (), None),
        ("mean", (math.nan, 1), (), None),
        ("any", (1, None), (), None),
        ("all", (0, None), (), None),
        ("weighted_mean", (1, None), (1, 0), None),
        ("single", (None,), (), None),
        ("mean", (math.inf, 1), (), None),
    ],
)
def test_a_view_gives_what_nemo_evaluator_gives(
    reducer: Reducer, values: tuple[float | None, ...], weights: tuple[float, ...], nemo_gave: float | None
) -> None:
    assert value(reducer, *values, weights=weights).value == nemo_gave


def test_a_missing_signal_leaves_the_view_unmeasured_and_named() -> None:
    made = value("mean", 1, None, 0, None)
    assert made == ViewValue(value=None, why="missing: check.c1, check.c3")


def test_only_a_view_that_says_skip_is_made_without_missing_signals_and_says_of_how_many() -> None:
    assert value("mean", 1, None, 0, None, missing="skip") == ViewValue(value=0.5, skipped=2)
    assert value("mean", None, None, missing="skip") == ViewValue(value=None, why="missing: check.c0, check.c1")
    assert value("weighted_mean", None, 1, weights=(1, 0), missing="skip").value is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [((1, 0.5, 1), 0.75), ((0, 1, 1), 0.0), ((0.99, 1), 0.0), ((None, 1), None), ((1, None), None), ((0, None), None)],
)
def test_a_gate_opens_to_the_mean_of_what_is_behind_it(
    values: tuple[float | None, ...], expected: float | None
) -> None:
    assert value("gate", *values).value == expected


def test_a_gate_cannot_be_made_without_what_opens_it() -> None:
    assert value("gate", None, 1, 1, missing="skip").value is None
    assert value("gate", 1, None, missing="skip").value is None
    assert value("gate", 1, None, 0.5, missing="skip") == ViewValue(value=0.5, skipped=1)


@given(st.sampled_from(REDUCERS), st.lists(shares, min_size=2, max_size=6))
def test_a_value_stays_within_the_range_of_its_signals(reducer: Reducer, values: list[float]) -> None:
    made = value(reducer, *values).value
    assert made is not None
    assert (min(values) if reducer != "gate" else 0) <= made <= max(values)


@given(st.sampled_from(REDUCERS), st.lists(st.tuples(shares, st.floats(0, 1e9)), min_size=2, max_size=6))
def test_the_order_of_signals_does_not_matter_behind_a_gate_or_without_one(
    reducer: Reducer, pairs: list[tuple[float, float]]
) -> None:
    fixed = 1 if reducer == "gate" else 0
    weights = [weight if reducer == "weighted_mean" else 1 for _, weight in pairs]
    if not any(weights):
        return
    turned = [*range(fixed), *reversed(range(fixed, len(pairs)))]
    one = value(reducer, *(each for each, _ in pairs), weights=weights)
    other = value(reducer, *(pairs[n][0] for n in turned), weights=[weights[n] for n in turned])
    assert one == other


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_over_passes_and_fails_all_and_any_are_the_logical_ones(outcomes: list[bool]) -> None:
    assert value("all", *map(float, outcomes)).value == float(all(outcomes))
    assert value("any", *map(float, outcomes)).value == float(any(outcomes))
    inverted = value("any", *(1.0 - outcome for outcome in outcomes)).value
    assert inverted is not None
    assert value("all", *map(float, outcomes)).value == 1 - inverted


@given(st.lists(shares, min_size=1, max_size=6), st.integers(1, 9))
def test_equal_weights_are_no_weights(values: list[float], weight: int) -> None:
    weighted = value("weighted_mean", *values, weights=[float(weight)] * len(values)).value
    plain = value("mean", *values).value
    assert weighted is not None
    assert plain is not None
    assert math.isclose(weighted, plain, rel_tol=1e-12)


@given(st.sampled_from(REDUCERS), st.lists(st.none() | shares, min_size=2, max_size=6))
def test_no_gap_is_ever_a_zero(reducer: Reducer, values: list[float | None]) -> None:
    """What is skipped might as well not have been asked for."""
    known = [each for each in values if each is not None]
    made = value(reducer, *values, missing="skip")
    if made.value is not None:
        assert made == value(reducer, *known).model_copy(update={"skipped": len(values) - len(known)})
    assert (value(reducer, *values).value is None) or len(known) == len(values)


def test_checks_stands_for_every_check_and_outcome_for_all_of_them_at_once() -> None:
    signals = signals_of([check("tests"), check("diff", "fail"), check("lint")], None)
    assert signals == {"check.tests": 1.0, "check.diff": 0.0, "check.lint": 1.0, "outcome": 0.0}
    views = {"share": view("mean", "checks"), "all": view("all", "checks"), "outcome": view("single", "outcome")}
    assert [each.value for each in view_values(views, signals).values()] == [2 / 3, 0.0, 0.0]


def test_a_check_that_could_not_run_leaves_the_outcome_open() -> None:
    signals = signals_of([check("tests", "error"), check("diff")], None)
    assert signals == {"check.tests": None, "check.diff": 1.0, "outcome": None}


def test_a_check_that_fails_decides_the_outcome_whatever_another_could_not_tell() -> None:
    signals = signals_of([check("tests", "error"), check("diff", "fail")], None)
    assert signals == {"check.tests": None, "check.diff": 0.0, "outcome": 0.0}
    assert view_values({"v": view("mean", "checks")}, signals)["v"].why == "missing: check.tests"
    assert view_values({"v": view("mean", "checks", missing="skip")}, signals)["v"] == ViewValue(value=0.0, skipped=1)


def test_without_checks_there_is_no_outcome() -> None:
    assert signals_of([], None) == {"outcome": None}
    assert view_values({"v": view("mean", "checks", missing="skip")}, {})["v"].why == "missing: checks"


def test_two_checks_of_one_name_pass_only_together() -> None:
    assert signals_of([check("c"), check("c", "fail")], None)["check.c"] == 0.0
    assert signals_of([check("c", "error"), check("c")], None)["check.c"] is None


def test_the_scores_are_signals_and_what_was_not_scored_is_missing() -> None:
    signals = signals_of([], card("+0-?", arguments=Rate(numerator=1, denominator=4)))
    assert signals == {
        "outcome": None,
        "score.step_level": 1 / 3,
        "score.tool_call_precision": 1 / 3,
        "score.argument_accuracy": 0.25,
        "score.recovery_rate": None,
        "score.bad_rate": 0.25,
        "score.propagated": 1 / 3,
    }


def test_a_view_may_read_views_and_knows_whether_a_judge_spoke_in_them() -> None:
    views = {
        "top": view("mean", "view.middle", "check.c"),
        "middle": view("single", "score.step_level"),
        "plain": view("single", "check.c"),
    }
    made = view_values(views, {"check.c": 1.0, "score.step_level": 0.5})
    assert made == {
        "top": ViewValue(value=0.75, judged=True),
        "middle": ViewValue(value=0.5, judged=True),
        "plain": ViewValue(value=1.0),
    }
    assert list(made) == list(views)


def test_an_unmeasured_view_is_a_missing_signal_of_the_next() -> None:
    views = {"a": view("single", "check.gone"), "b": view("mean", "view.a", "check.c")}
    assert view_values(views, {"check.c": 1.0})["b"] == ViewValue(value=None, why="missing: view.a")


def test_views_that_read_each_other_in_a_circle_are_refused() -> None:
    views = {name: view("single", f"view.{other}") for name, other in (("a", "b"), ("b", "c"), ("c", "a"))}
    with pytest.raises(ValueError, match=r"views read each other in a circle: \w → \w → \w → \w"):
        view_values(views, {})
    assert len(view_faults(views, [])) == 1
    assert view_faults({"a": view("single", "view.a")}, []) == ["views read each other in a circle: a → a"]


def test_a_long_chain_of_views_is_no_trouble() -> None:
    chain = {"v0": view("single", "check.c")} | {f"v{n}": view("single", f"view.v{n - 1}") for n in range(1, 3_000)}
    assert view_values(chain, {"check.c": 1.0})["v2999"].value == 1.0


def test_sources_that_do_not_exist_are_faults() -> None:
    views = {"v": view("mean", "check.tests", "check.tets", "view.w", "outcome"), "w": view("mean", "checks")}
    assert view_faults(views, ["tests"]) == ["view 'v' reads 'check.tets', which does not exist"]
    assert view_faults(views, []) == [
        "view 'v' reads 'check.tests', which does not exist",
        "view 'v' reads 'check.tets', which does not exist",
        "view 'v' reads 'outcome', and the task has no checks",
        "view 'w' reads 'checks', and the task has no checks",
    ]


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"reducer": "mean", "signals": []}, "at least 1 item"),
        ({"reducer": "median", "signals": [{"source": "checks"}]}, "Input should be 'single'"),
        ({"reducer": "mean", "signals": [{"source": "score.steps"}]}, "no source 'score.steps'"),
        ({"reducer": "mean", "signals": [{"source": "check."}]}, "no source 'check.'"),
        ({"reducer": "mean", "signals": [{"source": "step_level."}]}, "no source"),
        ({"reducer": "weighted_mean", "signals": [{"source": "checks", "weight": -1}]}, "greater than or equal to 0"),
        ({"reducer": "weighted_mean", "signals": [{"source": "checks", "weight": math.nan}]}, "finite number"),
        ({"reducer": "weighted_mean", "signals": [{"source": "checks", "weight": 0}]}, "needs a weight above 0"),
        ({"reducer": "mean", "signals": [{"source": "checks", "weight": 2}]}, "'mean' reads no weights"),
        ({"reducer": "single", "signals": [{"source": "check.a"}, {"source": "check.b"}]}, "'single' takes one signal"),
        ({"reducer": "single", "signals": [{"source": "checks"}]}, "'single' takes one signal"),
        ({"reducer": "gate", "signals": [{"source": "outcome"}]}, "'gate' takes a first signal"),
        ({"reducer": "gate", "signals": [{"source": "checks"}, {"source": "outcome"}]}, "'gate' takes a first signal"),
    ],
)
def test_a_view_that_cannot_mean_anything_is_refused(document: object, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        View.model_validate(document)

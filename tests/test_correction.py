"""A corrected rate is right on average, ignores a judge that says nothing, and never claims more than the labels hold."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepjudge.correction import BadSample, Correction, CorrectionRule, SampledStep, corrected
from stepjudge.correction_interval import score_interval

Pair = tuple[float, float]


def run(
    pairs: Sequence[Pair], n: int, seed: int = 0, *, per_task: int = 3, chance: float | None = None
) -> list[SampledStep]:
    """Steps with (judge's, people's) values, n of them labelled by lot; tasks of three steps."""
    labelled = set(random.Random(seed).sample(range(len(pairs)), n))
    probability = n / len(pairs) if chance is None else chance
    return [
        SampledStep(
            f"task{place // per_task}", f"trace{place // per_task}", judged,
            human if place in labelled else None, probability if place in labelled else None,
        )
        for place, (judged, human) in enumerate(pairs)
    ]  # fmt: skip


def pairs(count: int, right: float, seed: int = 0) -> list[Pair]:
    """A quarter of the steps is bad; the judge says so of each with the chance `right`, and the contrary otherwise."""
    lot = random.Random(seed)
    truth = [float(lot.random() < 0.25) for _ in range(count)]
    return [(human if lot.random() < right else 1 - human, human) for human in truth]


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0]))
def test_a_judge_that_always_says_the_same_leaves_the_labels_alone(seed: int, word: float) -> None:
    found = corrected(run([(word, human) for _, human in pairs(300, 1, seed)], 100, seed))
    assert found.lam == 0
    assert found.estimate == pytest.approx(found.labels_only)
    assert found.worth == 1


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_a_judge_that_never_erred_in_the_sample_gives_its_own_rate_and_counts_as_four_times_the_labels(
    seed: int,
) -> None:
    steps = run(pairs(300, 1, seed), 100, seed)
    found = corrected(steps)
    assert found.lam == pytest.approx(1)
    assert found.estimate == pytest.approx(found.judge_only)
    assert found.worth == 4
    assert found.interval is not None
    assert found.interval.high - found.interval.low > 0.01


def test_a_mean_score_of_a_judge_that_never_erred_has_no_width() -> None:
    lot = random.Random(1)
    scores = [float(lot.choice([-1, 0, 1, 1])) for _ in range(300)]
    found = corrected(run([(score, score) for score in scores], 100), quantity="mean")
    assert found.interval is not None
    assert found.interval.high - found.interval.low < 1e-9
    assert found.estimate == pytest.approx(sum(scores) / 300)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.floats(0.5, 1))
def test_every_share_and_its_interval_lie_in_0_to_1_and_the_interval_holds_the_estimate(
    seed: int, right: float
) -> None:
    for target in ("this run", "new tasks"):
        found = corrected(run(pairs(240, right, seed), 80, seed), target=target)
        assert found.interval is not None
        assert 0 <= found.interval.low <= found.estimate + 1e-9
        assert found.estimate - 1e-9 <= found.interval.high <= 1
        assert 0 <= found.lam <= 1
        assert 1 - 0.05 <= found.worth <= 4


@settings(max_examples=15)
@given(st.integers(0, 1_000))
def test_the_order_of_the_steps_does_not_matter(seed: int) -> None:
    steps = run(pairs(240, 0.8, seed), 80, seed)
    mixed = random.Random(seed).sample(steps, len(steps))
    for target in ("this run", "new tasks"):
        one, other = corrected(steps, target=target), corrected(mixed, target=target)
        assert one.estimate == pytest.approx(other.estimate)
        assert one.interval is not None
        assert other.interval is not None
        assert one.interval.low == pytest.approx(other.interval.low)


def test_the_formulas_give_what_pencil_and_paper_give() -> None:
    """20 steps, 8 labelled; judged and human of the labelled: 11 11 10 01 00 00 00 00; the judge says 1 of 7 others."""
    labelled: list[Pair] = [(1, 1), (1, 1), (1, 0), (0, 1), (0, 0), (0, 0), (0, 0), (0, 0)]
    steps = [SampledStep(str(k), str(k), f, y, 0.4) for k, (f, y) in enumerate(labelled)]
    steps += [SampledStep(str(k), str(k), float(k < 15)) for k in range(8, 20)]
    found = corrected(steps, rule=CorrectionRule(labels=8, each=3))
    lam = (2 / 8 - 9 / 64) / (3 / 8 - 9 / 64)  # Cov(y, f) / Var(f)
    theta = lam * 10 / 20 + 3 / 8 - lam * 3 / 8
    rest = [y - lam * f for f, y in labelled]
    mean = sum(rest) / 8
    spread = sum((each - mean) ** 2 for each in rest) / 6
    n_eff = 8 / (1 - 8 / 20) * (sum((y - 3 / 8) ** 2 for _, y in labelled) / 7) / spread
    low, high = score_interval(theta, n_eff, 1.959963984540054)
    assert found.lam == pytest.approx(lam)
    assert found.estimate == pytest.approx(theta)
    assert found.n_eff == pytest.approx(n_eff)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    ("n", "bad", "why"), [(49, 10, "49 labels are fewer"), (60, 4, "yes 4 and no 56"), (60, 57, "yes 57 and no 3")]
)
def test_with_few_labels_or_few_of_a_kind_the_labels_stand_alone(n: int, bad: int, why: str) -> None:
    steps = [SampledStep(f"t{k}", f"t{k}", float(k % 2), float(k < bad), 0.5) for k in range(n)]
    steps += [SampledStep(f"u{k}", f"u{k}", float(k % 2)) for k in range(n)]
    found = corrected(steps)
    assert found.method == "labels only"
    assert why in found.why
    assert found.lam == 0
    assert found.estimate == pytest.approx(bad / n)
    assert found.interval is not None
    low, high = score_interval(bad / n, n / (1 - n / len(steps)), 1.959963984540054)
    assert (found.interval.low, found.interval.high) == (pytest.approx(low), pytest.approx(high))
    assert why in str(found)


def test_labels_without_a_sampling_probability_are_refused_with_the_remedy() -> None:
    steps = run(pairs(100, 0.8), 60)
    broken = [step._replace(probability=None) if step.human is not None else step for step in steps]
    with pytest.raises(BadSample, match="draw the steps at random"):
        corrected(broken)


def test_a_share_takes_only_yes_and_no_and_a_mean_no_infinity() -> None:
    steps = run(pairs(100, 0.8), 60)
    with pytest.raises(BadSample, match=r"0\.5"):
        corrected([steps[0]._replace(judged=0.5), *steps[1:]])
    with pytest.raises(BadSample, match="inf"):
        corrected([steps[0]._replace(judged=math.inf), *steps[1:]], quantity="mean")
    with pytest.raises(BadSample, match="0 of 100"):
        corrected([step._replace(human=None) for step in steps])


def test_when_every_step_is_labelled_nothing_is_left_to_estimate() -> None:
    every = pairs(120, 0.8)
    found = corrected(run(every, 120))
    assert found.estimate == pytest.approx(sum(human for _, human in every) / 120)
    assert found.n_eff is None
    assert found.interval is not None
    assert found.interval.low == pytest.approx(found.interval.high)


def test_abstentions_count_as_0_and_are_told() -> None:
    steps = run(pairs(200, 0.9), 80)
    some = [step._replace(judged=None) if place % 10 == 0 else step for place, step in enumerate(steps)]
    found = corrected(some)
    assert found.abstained == 20
    assert found.judge_only == pytest.approx(sum(step.judged or 0 for step in some) / 200)


def of_traces(count: int, labelled: int, seed: int = 0) -> list[SampledStep]:
    """Traces of four steps, in which one bad step makes the next ones bad; the first traces are labelled whole."""
    lot = random.Random(seed)
    steps: list[SampledStep] = []
    for trace in range(count):
        broken = lot.randrange(8)
        for place in range(4):
            human = float(place >= broken)
            known = trace < labelled
            steps.append(
                SampledStep(f"q{trace // 5}", f"t{trace}", human, human if known else None, 0.2 if known else None)
            )
    return steps


def test_labels_that_came_as_whole_traces_are_told_apart_and_get_an_interval_over_traces() -> None:
    steps = of_traces(200, 40)
    found = corrected(steps)
    as_if = corrected([step._replace(trace=f"{place}") for place, step in enumerate(steps)])
    assert (found.drawing, as_if.drawing) == ("whole traces", "steps")
    assert found.interval is not None
    assert as_if.interval is not None
    assert found.interval.method.endswith("labelled traces")
    assert found.interval.units == 40
    assert "1/4 of the information" in found.notes[0]


@settings(max_examples=15)
@given(st.integers(0, 1_000))
def test_steps_drawn_one_by_one_are_not_taken_for_whole_traces(seed: int) -> None:
    assert corrected(run(pairs(600, 0.8, seed), 120, seed)).drawing == "steps"


def test_steps_drawn_with_different_chances_are_weighted_back() -> None:
    """Steps that the judge calls bad are drawn four times as often: the plain mean is far off, the weighted one is not."""
    lot = random.Random(77)
    every = pairs(2_000, 0.75, seed=3)
    truth = sum(human for _, human in every) / len(every)
    errors: list[float] = []
    plain_errors: list[float] = []
    inside = 0
    for _ in range(60):
        steps: list[SampledStep] = []
        for place, (judged, human) in enumerate(every):
            chance = 0.16 if judged else 0.04
            drawn = lot.random() < chance
            steps.append(
                SampledStep(f"t{place}", f"t{place}", judged, human if drawn else None, chance if drawn else None)
            )
        found = corrected(steps)
        plain = [step.human for step in steps if step.human is not None]
        assert found.interval is not None
        inside += found.interval.low <= truth <= found.interval.high
        errors.append(found.estimate - truth)
        plain_errors.append(sum(plain) / len(plain) - truth)
    assert abs(sum(errors) / len(errors)) < 0.01
    assert sum(plain_errors) / len(plain_errors) > 0.05
    assert inside >= 52


def test_new_tasks_need_tasks_that_differ_and_more_than_one_with_a_label() -> None:
    one = [step._replace(task="only") for step in run(pairs(200, 0.8), 80)]
    found = corrected(one, target="new tasks")
    assert found.interval is None
    assert found.why_no_interval


def test_an_interval_for_new_tasks_is_wider_than_for_this_run_when_steps_of_a_task_are_alike() -> None:
    lot = random.Random(5)
    every: list[Pair] = []
    for _ in range(40):
        human = float(lot.random() < 0.3)
        every += [(human if lot.random() < 0.8 else 1 - human, human) for _ in range(10)]
    steps = run(every, 120, per_task=10)
    steps = [step._replace(trace=f"{place}") for place, step in enumerate(steps)]
    here, new = (_width(corrected(steps, target=target)) for target in ("this run", "new tasks"))
    assert new > 1.5 * here


def _width(found: Correction) -> float:
    assert found.interval is not None
    return found.interval.high - found.interval.low


def test_the_line_says_what_the_judge_is_worth_in_labels() -> None:
    told = str(corrected(run(pairs(600, 0.9), 100)))
    assert "PPI++: 100 labels of 600 steps, 200 tasks" in told
    assert "the judge is worth" in told
    assert "for this run" in told


def test_a_step_that_occurs_often_counts_as_often_and_is_drawn_once() -> None:
    """A good step that every run shares, and 100 bad ones: half of what the runs did was bad."""
    shared = SampledStep("t", "run0", 0.0, 0.0, 1.0, 100)
    bad = [SampledStep("t", f"run{place}", 1.0, 1.0, 1.0) for place in range(100)]
    found = corrected([shared, *bad])
    assert (found.estimate, found.labels_only, found.judge_only) == pytest.approx((0.5, 0.5, 0.5))
    assert (found.n, found.distinct, found.steps) == (101, 101, 200)


def test_the_rate_of_steps_that_occur_unequally_often_is_right_on_average_and_its_interval_holds_it() -> None:
    lot = random.Random(12)
    units = [(float(lot.random() < 0.5), lot.choice([1, 1, 2, 8])) for _ in range(400)]
    units = [(0.0 if times == 8 else human, times) for human, times in units]  # what occurs often is good
    truth = sum(human * times for human, times in units) / sum(times for _, times in units)
    errors: list[float] = []
    inside = 0
    for _ in range(80):
        drawn = set(lot.sample(range(400), 150))
        steps = [
            SampledStep(f"t{place}", f"t{place}", human if lot.random() < 0.8 else 1 - human,
                        human if place in drawn else None, 150 / 400 if place in drawn else None, times)
            for place, (human, times) in enumerate(units)
        ]  # fmt: skip
        found = corrected(steps)
        assert found.interval is not None
        errors.append(found.estimate - truth)
        inside += found.interval.low <= truth <= found.interval.high
    assert abs(sum(errors) / len(errors)) < 0.01
    assert inside >= 70

"""A label meets the step that it is about, wherever that comes again, and stands for no step that it was not drawn from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stepjudge.cli.label_session import Session, questions
from stepjudge.cli.label_sittings import from_ledger
from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.correction import corrected
from stepjudge.formats import read_file
from stepjudge.label import Label, Sampling
from stepjudge.labelled_draw import beyond
from stepjudge.labelled_sample import BadSample
from stepjudge.labelled_steps import CannotJoin, joined, met, sample
from stepjudge.rubric_file import read_rubric_file, shipped

from labelling import key, label
from trial_scores import card, step

STEP = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
ALL = Sampling(design="whole_traces", probability=1.0)


def run(name: str, contents: Sequence[int | None], words: str = "") -> Scorecard:
    """A scorecard whose steps have these contents; null is one of an older service, which names none."""
    steps = [
        step(index, word).model_copy(
            update={} if content is None else dict(zip(("state_digest", "step_digest"), key(content), strict=True))
        )
        for index, (content, word) in enumerate(zip(contents, words or "+" * len(contents), strict=True), start=1)
    ]
    rubric = card().rubric.model_copy(update={"name": STEP.name, "version": STEP.version, "digest": STEP.digest})
    return card(steps=steps).model_copy(update={"trace_id": name, "rubric": rubric})


def said(score: int, content: int, trace: str = "elsewhere", number: int = 1, **fields: Any) -> Label:
    return label(
        score, step=content, rubric=STEP, trace_id=trace, sampling=fields.pop("sampling", ALL), **fields
    ).model_copy(update={"step": number})


def uniform(probability: float, population: int, seed: int = 0) -> Sampling:
    return Sampling(design="uniform", probability=probability, population=population, seed=seed)


def test_a_label_meets_every_step_of_its_content_under_whatever_trace() -> None:
    steps = joined(STEP, [run("a", [1, 2]), run("b", [1, 3])], [said(-1, 1)])
    assert [each.people is not None and each.people.bad for each in steps] == [True, False, True, False]


def test_another_run_of_the_same_name_does_not_take_the_labels_of_the_old_one() -> None:
    labels = [said(-1, 7, "a", 1), said(1, 2, "a", 2)]
    steps = joined(STEP, [run("a", [1, 2])], labels)
    assert [each.people is not None for each in steps] == [False, True]
    assert met(STEP, steps, labels).unmet == 1


def test_scorecards_without_digests_are_joined_by_place_unless_labels_differ_in_what_stood_there() -> None:
    old = [run("a", [None, None])]
    steps = joined(STEP, old, [said(-1, 1, "a", 2)])
    assert [each.people is not None for each in steps] == [False, True]
    with pytest.raises(CannotJoin, match=r"step 2 of trace .a.: labels of several runs"):
        joined(STEP, old, [said(-1, 1, "a", 2), said(1, 8, "a", 2)])


def test_labels_of_another_version_and_of_another_rubric_are_counted() -> None:
    labels = [said(1, 1), said(1, 2).model_copy(update={"rubric_digest": "sha256:" + "0" * 64}), label("yes", step=3)]
    found = met(STEP, joined(STEP, [run("a", [1, 2])], labels), labels)
    assert (found.unmet, found.other_wording, found.other_rubric) == (0, 1, 1)


def test_runs_that_share_a_step_are_corrected_to_the_rate_over_the_runs() -> None:
    """Each of 100 runs has a shared good step and a bad one of its own; all 101 steps are labelled."""
    cards = [run(f"r{k}", [0, k]) for k in range(1, 101)]
    labels = [said(1, 0, task=0), *(said(-1, k, task=0) for k in range(1, 101))]
    made, whole, left_out = sample(joined(STEP, cards, labels), "bad")
    found = corrected(made, drawing="whole traces" if whole else "steps")
    assert (found.estimate, found.n, found.steps, left_out) == (pytest.approx(0.5), 101, 200, 0)


def test_traces_picked_by_hand_do_not_pass_for_a_random_sample() -> None:
    cards = [run(f"t{k}", [2 * k, 2 * k + 1]) for k in range(50)]
    picked = joined(STEP, cards, [said(-1, content) for content in range(20)])
    with pytest.raises(BadSample, match=r"20 labelled steps .* 80 of the 100 scored steps have no label"):
        sample(picked, "bad")
    made, whole, _ = sample(picked, "bad", traces_by_lot=True)
    assert whole
    assert {each.probability for each in made} == {0.2, None}
    alone, _, _ = sample(joined(STEP, cards[:10], [said(-1, content) for content in range(20)]), "bad")
    assert corrected(alone).estimate == 1


def test_a_draw_over_fewer_steps_than_were_scored_is_refused_and_one_over_more_is_told() -> None:
    cards = [run("a", list(range(40)))]
    few = [said(1, content, sampling=uniform(0.5, 20)) for content in range(10)]
    with pytest.raises(BadSample, match="drawn from 20 steps, and the scorecards have 40"):
        sample(joined(STEP, cards, few), "bad")
    two = [*few, *(said(1, content, sampling=uniform(0.5, 60)) for content in range(20, 30))]
    with pytest.raises(BadSample, match="draws from 20 and 60 steps"):
        sample(joined(STEP, cards, two), "bad")
    assert beyond([uniform(0.5, 60)], 40) == 60
    assert beyond([uniform(0.5, 40)], 40) is None


def test_unequal_chances_that_labels_name_are_kept_also_when_every_draw_was_uniform() -> None:
    """A stratum of 20 bad steps was drawn four times as densely as one of 80 good ones: the plain rate would be 0.5."""
    cards = [run("a", list(range(100)))]
    own = {True: Sampling(design="uniform", probability=0.8), False: Sampling(design="uniform", probability=0.2)}
    labels = [said(-1 if k < 20 else 1, k, sampling=own[k < 20]) for k in (*range(16), *range(20, 36))]
    made, _, _ = sample(joined(STEP, cards, labels), "bad")
    assert corrected(made).labels_only == pytest.approx(0.2)


def test_a_larger_draw_with_the_same_lots_takes_the_smaller_one_in() -> None:
    cards = [run("a", list(range(100)))]
    labels = [said(1, k, sampling=uniform(0.1 if k < 10 else 0.3, 100)) for k in range(30)]
    made, _, _ = sample(joined(STEP, cards, labels), "bad")
    assert {each.probability for each in made} == {0.3, None}


def test_a_label_that_judges_differed_on_neither_counts_nor_takes_its_step_out_of_a_random_sample() -> None:
    cards = [run("a", list(range(4)))]
    lot = [said(1, content, sampling=uniform(0.5, 4)) for content in (0, 1)]
    other = said(-1, 0, sampling=Sampling(design="disagreement", population=4), annotator="bob")
    made, _, left_out = sample(joined(STEP, cards, [*lot, other]), "bad")
    assert [each.human for each in made] == [0, 0, None, None]
    assert left_out == 0


def test_labels_given_from_the_ledger_meet_the_scorecards_of_the_service(tmp_path: Path) -> None:
    with JudgeClient.embedded(data_dir=tmp_path) as service:
        rubric = service.rubric("step")
        cards = [service.score(trace, rubric="step") for trace in read_file(Path("examples/museum/trace.json"))]
        sittings = from_ledger(service, rubric, judge=None, design="uniform", count=60, seed=0)
        asked = questions(rubric, sittings, criteria=(), what="score")
        session = Session(rubric, "ann", asked, lambda each: service.label([each]).labels[0])
        for _ in asked:
            session.answer("-")
        labels = service.all_labels()
    steps = joined(rubric, cards, labels)
    assert len(labels) == len(steps) > 1
    assert all(each.people is not None and each.people.bad for each in steps)
    assert met(rubric, steps, labels).unmet == 0
    assert {each.task for each in steps} == {labels[0].task_digest}

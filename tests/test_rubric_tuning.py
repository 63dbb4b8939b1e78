"""`stepjudge rubric test` and `rubric compare`: a judge that follows its rubric's words, on steps that people labelled."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.provider import Provider
from tuning_desk import DESK, RULE, Desk, judging, refunds, worded

STEPS = 24


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Provider(judging) as provider:
        desk = Desk(tmp_path, provider)
        desk.labelled(STEPS)
        yield desk


def asked(desk: Desk, command: str, *arguments: object) -> tuple[object, ...]:
    return "rubric", command, *arguments, "--judge", "desk", "--labels", desk.folder / "labels.jsonl"


def test_a_rubric_test_judges_exactly_the_labelled_steps(desk: Desk) -> None:
    found = desk.json(*asked(desk, "test", desk.rubric(DESK)))

    assert desk.provider.count == STEPS
    by_name = {each["reading"]: each["agreement"] for each in found["labelled"]["readings"]}
    assert (by_name["allowed"]["labelled"], by_name["allowed"]["raw"]["value"]) == (STEPS, 0.5)
    assert by_name["polite"]["raw"]["value"] == 1.0
    expense = {name: found["expense"][name] for name in ("steps", "answers", "undetermined", "ungrounded", "requests")}
    assert expense == {"steps": STEPS, "answers": 2 * STEPS, "undetermined": 0, "ungrounded": 0, "requests": STEPS}

    shown = desk.run(*asked(desk, "test", desk.rubric(DESK)))
    assert f"allowed     too few examples to say: {STEPS} of 50 blind labels" in shown
    assert f"{STEPS} labelled steps judged, {STEPS} of them remembered: 0 model requests, $0.0000" in shown
    assert f"0 of {2 * STEPS} answers undetermined" in shown
    assert desk.provider.count == STEPS, "nothing is paid for twice"


def test_a_range_narrows_the_labelled_steps_and_traces_may_be_given(desk: Desk, tmp_path: Path) -> None:
    traces = tmp_path / "some.jsonl"
    traces.write_text("".join(json.dumps(each) + "\n" for each in refunds(2)), encoding="utf-8")
    labels = ("--labels", desk.folder / "labels.jsonl", "--judge", "desk")
    elsewhere = Desk(tmp_path / "elsewhere", desk.provider)
    judged = ("rubric", "test", desk.rubric(DESK), "--traces", traces, *labels)

    found = elsewhere.json(*judged)
    assert (found["expense"]["steps"], found["expense"]["not_found"], desk.provider.count) == (2, STEPS - 2, 2)
    assert "no labelled step is in the range '2-'" in elsewhere.refused(*judged, "--steps", "2-")


def test_a_dry_run_pays_nothing(desk: Desk) -> None:
    assert f"{STEPS} model requests" in desk.run(*asked(desk, "test", desk.rubric(DESK), "--dry-run"))
    both = (desk.rubric(DESK), desk.rubric(worded(RULE)))
    assert f"{2 * STEPS} model requests" in desk.run(*asked(desk, "compare", *both, "--dry-run"))
    assert desk.provider.count == 0


def test_a_better_rubric_is_supported_and_every_flip_is_listed_with_both_reasons(desk: Desk) -> None:
    strict = worded(f"Refunds are allowed if they are {RULE}.")
    found = desk.json(*asked(desk, "compare", desk.rubric(DESK), desk.rubric(strict)))

    assert found["conclusion"].startswith(
        "supported: under desk@1.1.0 the judge answers more often as people do: 36 → 48 of 48"
    )
    assert [(each["reading"], each["supported"]) for each in found["readings"]] == [
        ("allowed", True),
        ("polite", False),
        ("passes", True),
        ("bad", True),
    ]
    flips = found["flips"]
    assert len(flips) == STEPS // 2
    assert {(each["criterion"], each["label"], each["effect"]) for each in flips} == {("allowed", "no", "gained")}
    assert {(each["first"]["reason"], each["second"]["reason"]) for each in flips} == {
        ("nothing speaks against it", "30 is more than 20")
    }
    shown = desk.run(*asked(desk, "compare", desk.rubric(DESK), desk.rubric(strict)))
    assert shown.count("allowed: yes → no; people say no, now as people say") == STEPS // 2


def test_the_other_way_round_the_first_rubric_is_the_better_one(desk: Desk) -> None:
    found = desk.json(*asked(desk, "compare", desk.rubric(worded(RULE)), desk.rubric(DESK)))
    assert found["conclusion"].startswith(
        "supported: under desk@1.1.0 the judge answers more often as people do: 48 → 36"
    )
    assert {each["effect"] for each in found["flips"]} == {"lost"}


def test_words_that_change_nothing_support_nothing(desk: Desk) -> None:
    found = desk.json(*asked(desk, "compare", desk.rubric(DESK), desk.rubric(worded("Think hard about the policy."))))
    assert found["conclusion"].startswith("no difference is supported by these labels: 36 → 36 of 48 answers")
    assert (found["whole"]["supported"], found["flips"]) == (False, [])


def test_one_flip_is_no_support(desk: Desk) -> None:
    desk.labelled(2)
    found = desk.json(*asked(desk, "compare", desk.rubric(DESK), desk.rubric(worded(RULE))))
    assert (len(found["flips"]), found["whole"]["supported"]) == (1, False)


def test_rubrics_of_different_names_have_no_labels_in_common(desk: Desk) -> None:
    other = DESK.model_copy(update={"name": "counter"})
    assert "have no labels in common" in desk.refused(*asked(desk, "compare", desk.rubric(DESK), desk.rubric(other)))


def test_a_spent_budget_is_told_and_not_taken_for_disagreement(desk: Desk) -> None:
    said = desk.refused(*asked(desk, "test", desk.rubric(DESK), "--max-cost", "0.000001"))
    assert "the budget did not allow all answers ($0.0000 spent): raise --max-cost" in said
    assert desk.provider.count == 0


def test_without_a_label_that_counts_it_is_said_what_to_do(desk: Desk) -> None:
    other = DESK.model_copy(update={"name": "counter"})
    assert "there are no labels of 'counter'" in desk.refused(*asked(desk, "test", desk.rubric(other)))

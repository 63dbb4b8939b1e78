"""What a rubric refuses, and what its digest depends on."""

import pytest
from pydantic import ValidationError

from stepjudge.rubric import Criterion, Example, Rubric, Scoring, split_reference, version_order

SEEN = Criterion(name="seen", unit="step", question="Was it seen?")
DONE = Criterion(name="done", unit="call", step_takes="all", question="Was it done?", implies=("seen",))


def rubric(*criteria: Criterion, scoring: Scoring | None = None) -> Rubric:
    return Rubric(
        name="small",
        version="1.0.0",
        instructions="Judge.",
        criteria=criteria or (SEEN, DONE),
        scoring=scoring or Scoring(passes=("seen",)),
    )


def changed(criterion: Criterion, **changes: object) -> Criterion:
    return Criterion.model_validate({**criterion.model_dump(), **changes})


@pytest.mark.parametrize(
    ("criteria", "complaint"),
    [
        ((SEEN, SEEN), "criterion 'seen' stands twice"),
        ((changed(SEEN, step_takes="all"),), "'step_takes' is unreachable"),
        ((changed(SEEN, needs_call=True),), "'needs_call' is unreachable"),
        ((SEEN, changed(DONE, step_takes=None)), "needs 'step_takes: all' or 'step_takes: any'"),
        ((SEEN, changed(DONE, implies=("unseen",))), "implies 'unseen', which does not exist"),
        ((SEEN, changed(DONE, implies=("done",))), "implies itself"),
        (
            (changed(SEEN, no_by_fact=("repeat",), not_applicable_by_fact=("repeat",)),),
            "lets the fact 'repeat' settle two different answers",
        ),
        (
            (changed(SEEN, examples=(Example(given="x", answer="not_applicable", because="y"),)),),
            "needs 'not_applicable_when'",
        ),
    ],
)
def test_a_rubric_whose_settings_exclude_each_other_is_refused(criteria: tuple[Criterion, ...], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        rubric(*criteria)


@pytest.mark.parametrize("field", ["passes", "bad", "right_tool", "arguments", "recovery"])
def test_a_scoring_that_names_no_criterion_is_refused(field: str) -> None:
    value = "unseen" if field in ("arguments", "recovery") else ("unseen",)
    scoring = Scoring.model_validate({"passes": ("seen",), field: value})
    with pytest.raises(ValidationError, match="scoring names the criterion 'unseen', which does not exist"):
        rubric(scoring=scoring)


def test_a_field_spelled_out_at_its_default_does_not_change_the_digest() -> None:
    spelled_out = Rubric.model_validate(rubric().model_dump())
    assert spelled_out.digest == rubric().digest
    assert changed(SEEN).digest == SEEN.digest


def test_every_word_of_a_criterion_changes_its_digest_and_the_rubrics() -> None:
    other = changed(SEEN, edge_cases=("A glimpse counts.",))
    assert other.digest != SEEN.digest
    assert rubric(other, DONE).digest != rubric().digest


def test_the_order_of_criteria_changes_the_digest_because_the_judge_reads_them_in_it() -> None:
    assert rubric(DONE, SEEN).digest != rubric(SEEN, DONE).digest


def test_a_criterion_is_found_by_name() -> None:
    assert rubric().criterion("done") == DONE
    with pytest.raises(KeyError, match="unseen"):
        rubric().criterion("unseen")


@pytest.mark.parametrize(
    ("reference", "parts"), [("step@1.0.0", ("step", "1.0.0")), ("step", ("step", None)), ("step@", ("step", None))]
)
def test_a_reference_is_a_name_and_perhaps_a_version(reference: str, parts: tuple[str, str | None]) -> None:
    assert split_reference(reference) == parts


def test_versions_are_ordered_by_number_not_by_letter() -> None:
    assert max("1.9.0", "1.10.0", "0.99.99", key=version_order) == "1.10.0"

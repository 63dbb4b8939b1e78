"""The difference of two rubrics is empty exactly when their digests are equal, and names each field once."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stepjudge.rubric import Criterion, Rubric, Scoring
from stepjudge.rubric_diff import Change, diff

QUESTIONS = ("Was it seen?", "Was it done?")


def criterion(name: str, question: str = QUESTIONS[0], cases: Sequence[str] = ()) -> Criterion:
    return Criterion(name=name, unit="step", question=question, edge_cases=tuple(cases))


def rubric(*criteria: Criterion, version: str = "1.0.0", bad: Sequence[str] = ()) -> Rubric:
    scoring = Scoring(passes=(criteria[0].name,), bad=tuple(bad))
    return Rubric(name="small", version=version, instructions="Judge.", criteria=criteria, scoring=scoring)


def test_each_changed_field_is_told_with_both_texts() -> None:
    a = rubric(criterion("seen"), criterion("done", cases=["Half is not done."]))
    b = rubric(criterion("seen", QUESTIONS[1]), criterion("done"), version="1.1.0", bad=["done"])
    assert diff(a, b) == (
        Change(kind="changed", field="version", before="1.0.0", after="1.1.0"),
        Change(kind="changed", field="scoring.bad", before=[], after=["done"]),
        Change(kind="changed", criterion="seen", field="question", before=QUESTIONS[0], after=QUESTIONS[1]),
        Change(kind="changed", criterion="done", field="edge_cases", before=["Half is not done."], after=[]),
    )


def test_criteria_that_come_and_go_are_told_whole() -> None:
    old, new = criterion("old"), criterion("new")
    kept = criterion("kept")
    assert diff(rubric(kept, old), rubric(kept, new)) == (
        Change(kind="removed", criterion="old", before=old.model_dump(mode="json")),
        Change(kind="added", criterion="new", after=new.model_dump(mode="json")),
    )


def test_another_order_of_criteria_is_a_difference() -> None:
    seen, done = criterion("seen"), criterion("done")
    a = Rubric(name="s", version="1.0.0", instructions="J", criteria=(seen, done), scoring=Scoring(passes=("seen",)))
    b = a.model_copy(update={"criteria": (done, seen)})
    assert diff(a, b) == (
        Change(kind="changed", field="order of criteria", before=["seen", "done"], after=["done", "seen"]),
    )


def small_rubric(criteria: list[Criterion], version: str) -> Rubric:
    return rubric(*criteria, version=version)


few = st.builds(
    criterion,
    st.sampled_from(["seen", "done", "known"]),
    st.sampled_from(QUESTIONS),
    st.lists(st.sampled_from(["a", "b"]), max_size=2),
)
small = st.builds(
    small_rubric,
    st.lists(few, min_size=1, max_size=3, unique_by=lambda each: each.name),
    st.sampled_from(["1.0.0", "1.1.0"]),
)


@given(small, small)
def test_two_rubrics_differ_exactly_when_their_digests_do(a: Rubric, b: Rubric) -> None:
    assert (diff(a, b) == ()) == (a.digest == b.digest)


@given(small, small)
def test_the_difference_read_backwards_swaps_the_sides(a: Rubric, b: Rubric) -> None:
    swap = {"added": "removed", "removed": "added", "changed": "changed"}
    there = {(change.criterion, change.field, change.kind): (change.before, change.after) for change in diff(a, b)}
    back = {(change.criterion, change.field, swap[change.kind]): (change.after, change.before) for change in diff(b, a)}
    assert there == back

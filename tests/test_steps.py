"""A range of steps is read strictly and spelled shortly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepjudge.errors import BadRange
from stepjudge.steps import selected, spelled


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        (None, (1, 2, 3, 4, 5)),
        ("", (1, 2, 3, 4, 5)),
        ("  ", (1, 2, 3, 4, 5)),
        ("3", (3,)),
        ("1-3", (1, 2, 3)),
        ("4-", (4, 5)),
        ("-2", (1, 2)),
        ("5,1-2", (1, 2, 5)),
        ("1-3,2-4", (1, 2, 3, 4)),
        (" 1 - 2 , 4 ", (1, 2, 4)),
        ("2-999999999", (2, 3, 4, 5)),
        ("3-3", (3,)),
    ],
)
def test_a_range_selects_steps(text: str | None, indices: tuple[int, ...]) -> None:
    assert selected(text, 5) == indices


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x", "'x' is no range of steps: write a step, such as 3, or a range, such as 1-5 or 4-"),
        ("-", "write a step"),
        (",", "write a step"),
        ("1,,2", "write a step"),
        ("1 2", "write a step"),
        ("1--2", "write a step"),
        ("1-2-3", "write a step"),
        ("1.5", "write a step"),
        ("+1", "write a step"),
        ("1234567890", "write a step"),
        ("1-1234567890", "write a step"),
        ("²", "write a step"),
        ("0", "'0' starts before step 1: steps are numbered from 1"),
        ("0-3", "steps are numbered from 1"),
        ("-0", "ends before it starts"),
        ("3-1", "the range '3-1' ends before it starts: write the smaller number first"),
        ("6", "the range '6' selects no step: the trace has steps 1-5"),
        ("7-9", "the trace has steps 1-5"),
    ],
)
def test_a_range_that_cannot_be_meant_is_refused_with_a_mend(text: str, complaint: str) -> None:
    with pytest.raises(BadRange) as refused:
        selected(text, 5)
    assert complaint in str(refused.value)


def test_a_trace_without_steps_has_nothing_to_select() -> None:
    assert selected(None, 0) == ()
    with pytest.raises(BadRange, match="the trace has no steps"):
        selected("1", 0)


@pytest.mark.parametrize(
    ("indices", "text"), [((), ""), ((1,), "1"), ((1, 2), "1-2"), ((1, 2, 3, 7), "1-3,7"), ((2, 4, 6), "2,4,6")]
)
def test_a_range_is_spelled_as_shortly_as_it_can_be(indices: tuple[int, ...], text: str) -> None:
    assert spelled(indices) == text


@given(st.sets(st.integers(1, 30), min_size=1))
def test_what_is_spelled_selects_the_same_steps(indices: set[int]) -> None:
    assert selected(spelled(sorted(indices)), 30) == tuple(sorted(indices))


@given(st.text(alphabet="0123456789-, x\n") | st.text(), st.integers(0, 20))
def test_any_text_selects_steps_of_the_trace_or_is_refused(text: str, count: int) -> None:
    try:
        indices = selected(text, count)
    except BadRange:
        return
    assert set(indices) <= set(range(1, count + 1))
    assert selected(spelled(indices), count) == indices

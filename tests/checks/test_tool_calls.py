"""The tool-calls check, on traces as the readers give them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from checks.checking import checked, outcome, reference
from stepjudge.checks.running.calls import paired
from stepjudge.trace import Call, Step, Trace


def trace(*calls: tuple[str, dict[str, JsonValue] | None]) -> Trace:
    steps = [
        Step(index=number, turn=1, llm_call=number, calls=(Call(name=name, arguments=arguments),))
        for number, (name, arguments) in enumerate(calls, start=1)
    ]
    return Trace(trace_id="t", steps=tuple(steps))


WEATHER: dict[str, JsonValue] = {"weather": {"city": ["San Francisco, CA", "SF"], "unit": ["celsius", ""], "days": [3]}}
SF: dict[str, JsonValue] = {"city": "san francisco CA", "days": 3}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (SF, "pass"),
        ({"city": "SF", "days": 3, "unit": "Celsius"}, "pass"),
        ({"city": "SF", "days": 3.0}, "pass"),
        ({"city": "SF", "days": 3, "unit": "kelvin"}, "fail"),
        ({"city": "LA", "days": 3}, "fail"),
        ({"city": "SF", "days": "3"}, "fail"),
        ({"city": "SF", "days": True}, "fail"),
        ({"city": "SF"}, "fail"),
        ({"city": "SF", "days": 3, "more": 1}, "fail"),
        ({}, "fail"),
        (None, "fail"),
    ],
)
async def test_a_call_fits_when_each_argument_is_among_the_allowed(
    arguments: dict[str, JsonValue] | None, expected: str
) -> None:
    document = {"kind": "tool-calls", "expected": [WEATHER], "others": False}
    assert await outcome(document, trace=trace(("weather", arguments))) == expected
    assert await outcome(document, trace=trace(("climate", arguments))) == "fail"


@pytest.mark.parametrize(
    ("allowed", "value", "expected"),
    [
        ([[1, 2]], [1, 2], "pass"),
        ([[1, 2]], [2, 1], "fail"),
        ([[1, 2]], [1], "fail"),
        ([["A b"]], ["a-B"], "pass"),
        ([{"k": ["x", "y"], "o": ["z", ""]}], {"k": "y"}, "pass"),
        ([{"k": ["x", "y"], "o": ["z", ""]}], {"k": "z"}, "fail"),
        ([{"k": ["x"]}], {"k": "x", "l": 1}, "fail"),
        ([[{"k": ["x", "y"]}]], [{"k": "y"}], "pass"),
        ([None], None, "pass"),
        ([True], 1, "fail"),
    ],
)
async def test_lists_and_objects_are_compared_part_by_part(
    allowed: list[JsonValue], value: JsonValue, expected: str
) -> None:
    document = {"kind": "tool-calls", "expected": [{"f": {"a": allowed}}]}
    assert await outcome(document, trace=trace(("f", {"a": value}))) == expected


ROWS: list[tuple[str, dict[str, Any], str]] = [
    ("ab", {"expected": [{"a": {}}, {"b": {}}]}, "pass"),
    ("ba", {"expected": [{"a": {}}, {"b": {}}]}, "pass"),
    ("ba", {"expected": [{"a": {}}, {"b": {}}], "order": True}, "fail"),
    ("xaxb", {"expected": [{"a": {}}, {"b": {}}], "order": True}, "pass"),
    ("xab", {"expected": [{"a": {}}, {"b": {}}], "others": False}, "fail"),
    ("a", {"expected": [{"a": {}}, {"a": {}}]}, "fail"),
    ("aa", {"expected": [{"a": {}}], "others": False}, "fail"),
    ("", {"others": False}, "pass"),
    ("a", {"others": False}, "fail"),
    ("ab", {"required": ["a", "b"]}, "pass"),
    ("aa", {"required": ["a", "b"]}, "fail"),
    ("ab", {"forbidden": ["c"]}, "pass"),
    ("ac", {"forbidden": ["c"]}, "fail"),
]


@pytest.mark.parametrize(("names", "fields", "expected"), ROWS)
async def test_calls_are_required_forbidden_and_in_order(names: str, fields: dict[str, Any], expected: str) -> None:
    nothing: dict[str, JsonValue] = {}
    made = trace(*((name, nothing) for name in names))
    result = await checked({"kind": "tool-calls", **fields}, trace=made)
    assert result.outcome == expected, result


async def test_a_call_that_fits_two_expected_ones_is_given_to_the_one_that_needs_it() -> None:
    expected = [{"f": {"a": [1, 2]}}, {"f": {"a": [1]}}]
    document = {"kind": "tool-calls", "expected": expected, "others": False}
    assert await outcome(document, trace=trace(("f", {"a": 1}), ("f", {"a": 2}))) == "pass"


async def test_exact_strings_are_compared_letter_by_letter() -> None:
    document = {"kind": "tool-calls", "expected": [WEATHER], "strings": "exact"}
    assert await outcome(document, trace=trace(("weather", SF))) == "fail"
    assert await outcome(document, trace=trace(("weather", {"city": "SF", "days": 3}))) == "pass"


async def test_expected_calls_may_stand_in_the_reference() -> None:
    document = {"kind": "tool-calls", "reference": "$.ground_truth"}
    made = trace(("weather", SF))
    assert await outcome(document, trace=made, reference=reference(ground_truth=[WEATHER])) == "pass"
    assert await outcome(document, trace=made, reference=reference(ground_truth=[{"other": {}}])) == "fail"
    assert await outcome(document, trace=made, reference=reference(ground_truth="text")) == "error"
    assert await outcome(document, trace=made) == "error"
    assert await outcome(document, reference=reference(ground_truth=[WEATHER])) == "error"


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), max_size=5))
def test_pairs_are_pairs_that_fit_and_as_many_as_can_be_had(fits: list[list[bool]]) -> None:
    match = paired(fits, 5)
    assert len(set(match.values())) == len(match)
    assert all(fits[number][call] for number, call in match.items())

    def most(rows: list[list[bool]], free: frozenset[int]) -> int:
        if not rows:
            return 0
        taken = [1 + most(rows[1:], free - {call}) for call in free if rows[0][call]]
        return max([most(rows[1:], free), *taken])

    assert len(match) == most(fits, frozenset(range(5)))

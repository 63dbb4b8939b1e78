"""Equal content has one digest, and other content has another."""

import json
import random
from collections.abc import Hashable

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from stepjudge.digest import canonical, digest

from traces import json_values


def shuffled(value: JsonValue, order: random.Random) -> JsonValue:
    """The same content with other key orders, and whole numbers as floats."""
    match value:
        case dict():
            keys = list(value)
            order.shuffle(keys)
            return {key: shuffled(value[key], order) for key in keys}
        case list():
            return [shuffled(item, order) for item in value]
        case int() if not isinstance(value, bool) and abs(value) < 2**900 and float(value) == value:
            return float(value)
        case _:
            return value


def content(value: JsonValue) -> Hashable:
    """The value as something that is equal exactly for equal content: 1 and 1.0 are, 1 and true are not."""
    match value:
        case dict():
            return ("object", frozenset((content(key), content(item)) for key, item in value.items()))
        case list():
            return ("array", tuple(map(content, value)))
        case float() if value != value:
            return "nan"
        case str():
            return ("text", value.encode("utf-16", "surrogatepass"))
        case _:
            return (isinstance(value, bool), value)


@given(json_values, st.randoms())
def test_key_order_and_the_spelling_of_numbers_change_nothing(value: JsonValue, order: random.Random) -> None:
    assert canonical(shuffled(value, order)) == canonical(value)


@given(json_values, json_values)
def test_any_other_content_has_another_spelling(one: JsonValue, other: JsonValue) -> None:
    assert (canonical(one) == canonical(other)) == (content(one) == content(other))


@pytest.mark.parametrize(
    ("one", "other"),
    list[tuple[JsonValue, JsonValue]](
        [
            (2**53, 2**53 + 1),
            (2**70, 2**70 + 1),
            (2**60, 1152921504606847000),
            (2**53 + 1, {"integer": str(2**53 + 1)}),
            (float("nan"), {"float": "nan"}),
            (float("nan"), "NaN"),
            (float("inf"), float("-inf")),
            (1, True),
            (0, None),
            (1, "1"),
            ([[], []], [[[]]]),
            ({"a": None}, {}),
            ("\ud800", "\\ud800"),
            ("é", "e\u0301"),
        ]
    ),
)
def test_values_that_are_easily_confused_are_told_apart(one: JsonValue, other: JsonValue) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (2**60, 2.0**60),
        (10**22, 1e22),
        (0, -0.0),
        (100, 1e2),
        ("\ud83d\ude00", "😀"),
    ],
)
def test_two_spellings_of_one_value_are_one(one: JsonValue, other: JsonValue) -> None:
    assert digest(one) == digest(other)


@given(json_values)
def test_the_canonical_json_reads_back_to_itself(value: JsonValue) -> None:
    assert canonical(json.loads(canonical(value))) == canonical(value)
    assert canonical(json.loads(canonical(value).decode())) == canonical(value)


_STANDARD = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(_STANDARD)
def test_what_the_standard_can_spell_is_spelled_as_the_standard_says(value: JsonValue) -> None:
    assert canonical(value) == rfc8785.dumps(value)


def test_keys_sort_by_utf_16_units_as_the_standard_says() -> None:
    assert canonical({"\ue000": 1, "😀": 2}) == '{"😀":2,"\ue000":1}'.encode()


def test_a_value_as_deep_as_a_trace_can_hold_has_a_digest() -> None:
    deep: JsonValue = 1
    for _ in range(127):
        deep = {"a": [deep]}  # pydantic takes 255 levels
    assert canonical(json.loads(canonical(deep))) == canonical(deep)


def test_a_digest_says_how_it_was_made() -> None:
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

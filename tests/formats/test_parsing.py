"""The fast parser gives what the careful one gives, or leaves the text to it."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from stepjudge.formats.reading.cleaning import MAX_DEPTH, Parsed, TooDeep, copied
from stepjudge.formats.reading.parsing import parse_at, parse_plain

calm = settings(deadline=None, max_examples=200)

_NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
_TEXTS = st.text(st.characters(codec=None), max_size=8).map(json.dumps) | st.sampled_from(
    ['"\\ud83d\\ude00"', '"\\ud800"', '"\\/\\u0000"', '"\x7f\x85"', '"é\U0001f600"', '"\t"', '"\\x"']
)
_WORDS = st.sampled_from(
    ["null", "true", "false", "NaN", "-Infinity", "1e999", "9" * 3900, "9" * 4400, "-0", "01", "nul"]
)
_SPACES = st.sampled_from(["", " ", "\n", "\t", "\r", "\x0c", "\xa0"])


@st.composite
def written(draw: st.DrawFn) -> str:
    """JSON as people and programs write it, and what only looks like it."""
    inner = st.recursive(
        _NUMBERS | _TEXTS | _WORDS,
        lambda below: (
            st.lists(below, max_size=3).map(lambda found: f"[{','.join(found)}]")
            | st.lists(st.tuples(st.sampled_from(['"a"', '"\\u0061"', '"b"', '":"']), _SPACES, below), max_size=3).map(
                lambda found: "{" + ",".join(f"{key}{space}:{member}" for key, space, member in found) + "}"
            )
        ),
        max_leaves=8,
    )
    return draw(_SPACES) + draw(inner) + draw(_SPACES)


def with_care(text: str) -> Parsed | None:
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        parsed, end = parse_at(text, start)
    except (json.JSONDecodeError, TooDeep):
        return None
    return None if text[end:].strip(" \t\r\n") else parsed


@given(written())
@example('{"a": 1, "\\u0061": 2}')
@example("[1.7976931348623159e308, 5e-324, 2.2250738585072011e-308, 1e22, 123456789012345678901234567890]")
@calm
def test_what_the_fast_parser_takes_is_what_the_careful_one_gives_without_a_note(text: str):
    try:
        fast = parse_plain(text.encode())
    except UnicodeEncodeError:
        return
    if fast is not None:
        careful = with_care(text)
        assert careful is not None
        assert careful.notes == ()
        assert repr(fast.value) == repr(careful.value)  # 1 is not 1.0 here, and -0.0 not 0.0


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1, "a": 1}',
        b'[{"b": {"a": 1, "\\u0061": 2}}]',
        b"[NaN]",
        b"[Infinity]",
        b"[1e999]",
        b"[-1e999]",
        b'["\\ud800"]',
        b'{"\\udc00": 1}',
        b'["\xff"]',
        b'["\xed\xa0\x80"]',
        b"[" + b"9" * 3900 + b"]",
        b"[" + b"-" + b"9" * 5000 + b"]",
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1),
        b"[1,]",
        b"[1] [2]",
        b'\xef\xbb\xbf["a"]',
        b"",
    ],
)
def test_what_needs_a_note_or_an_error_is_left_to_the_careful_parser(data: bytes):
    assert parse_plain(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": [1, 2.5, true, null, "\\ud83d\\ude00\\n"], "b": {}}',
        b" [] \r\n",
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[" + b"9" * 3800 + b"]",
    ],
)
def test_plain_json_is_taken_by_the_fast_parser(data: bytes):
    assert parse_plain(data) == Parsed(json.loads(data))


def test_a_copy_is_equal_and_shares_nothing_that_can_change():
    value: JsonValue = {"a": [1, {"b": []}], "c": "d"}
    again = copied(value)
    assert again == value
    assert isinstance(value, dict)
    assert isinstance(value["a"], list)
    value["a"].append(2)
    assert again == {"a": [1, {"b": []}], "c": "d"}

"""The final-output check: the same words, the same number, a pattern, or a schema."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.checking import checked, outcome, reference
from stepjudge.checks.final_output import normalised
from stepjudge.trace import Trace

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "s": {"pattern": "^a+$"}}}


@pytest.mark.parametrize(
    ("output", "fields", "expected"),
    [
        ("Paris", {"expected": "Paris", "how": "exact"}, "pass"),
        ("Paris ", {"expected": "Paris", "how": "exact"}, "fail"),
        (" the  “PARIS”.\n", {"expected": "The Paris"}, "pass"),
        ("ｆｕｌｌ", {"expected": "full"}, "pass"),
        ("Straße", {"expected": "STRASSE"}, "pass"),
        ("well-known", {"expected": "well known"}, "pass"),
        ("1,000", {"expected": "1000"}, "pass"),
        ("-5", {"expected": "5"}, "fail"),
        ("−5", {"expected": "-5"}, "pass"),
        ("3.14", {"expected": "314"}, "fail"),
        ("x < 5", {"expected": "x > 5"}, "fail"),
        ("a/b", {"expected": "a*b"}, "fail"),
        ("...", {"expected": "!!!"}, "fail"),
        ("", {"expected": ""}, "pass"),
        ("4", {"expected": 4}, "pass"),
        ("Lyon", {"expected": ["Paris", "Lyon"]}, "pass"),
        ("Nice", {"expected": ["Paris", "Lyon"]}, "fail"),
        ("42", {"expected": 42, "how": "number"}, "pass"),
        ("42.0", {"expected": "42", "how": "number"}, "pass"),
        ("$1,234.50", {"expected": 1234.5, "how": "number"}, "pass"),
        ("12 %", {"expected": 12, "how": "number"}, "pass"),
        ("4.2e1", {"expected": 42, "how": "number"}, "pass"),
        ("42 apples", {"expected": 42, "how": "number"}, "fail"),
        ("3 + 4 = 7.", {"expected": 7, "how": "number", "take": "last"}, "pass"),
        ("3 + 4 = 7.", {"expected": 3, "how": "number", "take": "first"}, "pass"),
        ("it is -7.", {"expected": -7, "how": "number", "take": "last"}, "pass"),
        ("none", {"expected": 7, "how": "number", "take": "last"}, "fail"),
        ("3.14", {"expected": 3.14159, "how": "number", "tolerance": 0.01}, "pass"),
        ("3.1", {"expected": 3.14159, "how": "number", "tolerance": 0.01}, "fail"),
        ("101", {"expected": 100, "how": "number", "tolerance": 0.01, "relative": True}, "pass"),
        ("1e999", {"expected": 100, "how": "number", "tolerance": 5}, "fail"),
        ("nan", {"expected": 100, "how": "number", "tolerance": 5}, "fail"),
        ("the answer\nis: 42", {"expected": r"^is: \d+$", "how": "regex"}, "pass"),
        ("the answer is 42", {"expected": r"^is: \d+$", "how": "regex"}, "fail"),
        ('{"n": 1}', {"expected": SCHEMA, "how": "json_schema"}, "pass"),
        ('{"n": "1"}', {"expected": SCHEMA, "how": "json_schema"}, "fail"),
        ('{"n": 1, "s": "ab"}', {"expected": SCHEMA, "how": "json_schema"}, "fail"),
        ("no json", {"expected": SCHEMA, "how": "json_schema"}, "fail"),
        ("{}", {"expected": {"$ref": "http://127.0.0.1:9/schema.json"}, "how": "json_schema"}, "error"),
        ("{}", {"expected": {"$ref": "#"}, "how": "json_schema"}, "error"),
    ],
)
async def test_an_output_is_the_answer_or_not(output: str, fields: dict[str, Any], expected: str) -> None:
    result = await checked({"kind": "final-output", **fields}, final_output=output)
    assert result.outcome == expected, result
    assert "broke" not in result.reason


async def test_the_answer_may_stand_in_the_reference_that_only_graders_see() -> None:
    document = {"kind": "final-output", "reference": "$.answers[*]"}
    given_answers = reference(answers=["Paris", "Paname"])
    assert await outcome(document, final_output="paname", reference=given_answers) == "pass"
    assert await outcome(document, final_output="Lyon", reference=given_answers) == "fail"
    assert await outcome(document, final_output="Lyon", reference={}) == "error"
    assert await outcome({**document, "how": "number"}, final_output="1", reference=given_answers) == "error"


async def test_no_answer_at_all_fails_where_a_trace_shows_it_and_is_an_error_otherwise() -> None:
    document = {"kind": "final-output", "expected": "Paris"}
    assert await outcome(document, trace=Trace(trace_id="t", final_output="Paris")) == "pass"
    assert await outcome(document, trace=Trace(trace_id="t")) == "fail"
    assert await outcome(document) == "error"


async def test_a_pattern_that_never_ends_is_given_up_in_time() -> None:
    began = time.monotonic()
    for how, expected in (("regex", "(a|a)+$"), ("json_schema", {"pattern": "(a|a)+$"})):
        document = {"kind": "final-output", "how": how, "expected": expected, "timeout_s": 1}
        assert await outcome(document, final_output='"' + "a" * 100 + 'b"') == "error"
    assert time.monotonic() - began < 20


@given(st.text())
def test_what_is_normalised_stays_as_it_is(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)

# pyright: basic
"""No reply can crash the judge, and none is read as saying what it does not say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from judge_service.question import Asked, things_to_ask
from judge_service.reply import MAX_QUOTE, MAX_QUOTES, MAX_REASON, Reply, by_unit, read, schema, unit_name, words
from stepjudge.verdict import Evidence

from rubrics_for_tests import SMALL
from traces import HOSTILE, call, json_values, step

ONE = things_to_ask(SMALL, step(5, call()))
TWO = things_to_ask(SMALL, step(5, call(), call()))
MESSAGE = things_to_ask(SMALL, step(5))
asked_things = st.sampled_from([ONE, TWO, MESSAGE, ONE[:1], ()])


def fitting(asked: tuple[Asked, ...], answer: str = "yes") -> dict[str, Any]:
    """A reply that fits the schema."""
    reply: dict[str, Any] = {}
    for unit, criteria in by_unit(asked).items():
        reply[unit] = {
            criterion.name: {
                "evidence": [{"place": "task", "quote": "Mend"}],
                "reason": "So it is.",
                "answer": answer,
                **({"fixes": [1]} if criterion.names_steps else {}),
            }
            for criterion in criteria
        }
    return {**reply, "inherits_from": []}


def checked(reply: Reply, asked: tuple[Asked, ...]) -> Reply:
    """What holds for every reply."""
    assert [(a.criterion, a.call) for a in reply.answers] == [(a.criterion.name, a.call) for a in asked]
    for answer, item in zip(reply.answers, asked, strict=True):
        assert (answer.cause is None) == (answer.answer != "undetermined")
        assert answer.answer == "undetermined" or answer.answer in words(item.criterion)
        assert all(1 <= fixed < 5 for fixed in (*answer.fixes, *reply.inherits_from))
        answer.model_dump_json().encode()
    assert ("malformed_reply" in {answer.cause for answer in reply.answers}) <= bool(reply.faults)
    "".join(reply.faults).encode()
    return reply


@given(st.text() | st.sampled_from(HOSTILE), asked_things, st.booleans())
def test_any_text_is_read_and_none_becomes_an_answer(text: str, asked: tuple[Asked, ...], repair: bool) -> None:
    reply = checked(read(text, asked, index=5, repair=repair), asked)
    assert {answer.answer for answer in reply.answers} <= {"undetermined"}
    assert {answer.cause for answer in reply.answers} <= {"malformed_reply"}


@given(st.data(), asked_things, st.booleans())
def test_a_damaged_reply_never_gives_an_answer_it_did_not_hold(
    data: st.DataObject, asked: tuple[Asked, ...], repair: bool
) -> None:
    text = json.dumps(fitting(asked), ensure_ascii=False)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    damaged = text[:start] + data.draw(st.text(max_size=8)) + text[end:]
    reply = checked(read(damaged, asked, index=5, repair=repair), asked)
    determined = [answer for answer in reply.answers if answer.cause is None]
    assert len(determined) <= damaged.count("yes") + damaged.count("no")


@given(st.data(), asked_things, json_values)
def test_a_wrong_type_anywhere_is_read(data: st.DataObject, asked: tuple[Asked, ...], wrong: Any) -> None:
    body: Any = fitting(asked)
    holder, depth = body, data.draw(st.integers(0, 5))
    for _ in range(depth):
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        inner = [key for key in keys if isinstance(holder[key], dict | list) and holder[key]]
        if not inner:
            break
        holder = holder[data.draw(st.sampled_from(inner))]
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    holder[data.draw(st.sampled_from(keys))] = wrong
    checked(read(json.dumps(body), asked, index=5, repair=False), asked)


NESTED = 900


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" + "9" * 5_000 + "]]",
        "{" * 100_000,
        '{"a":' * 100_000,
        "{'a' " * 40_000,
        "{]" * 40_000,
        '{"act_1": {"valid": {"answer": ' + "[" * NESTED + "]" * NESTED + "}}}",
        '{"act_1": {"valid": {"answer": ' + "9" * 5_000 + "}}}",
        '{"act_1": {"valid": {"answer": 1e999}}}',
        '{"act_1": {"valid": {"answer": NaN}}}',
        '{"inherits_from": [' + "1," * 50_000 + "1]}",
        " " * 300_000 + "x",
        "`" * 100_000,
        '"' * 100_000,
        "\ufeff{}",
        "null",
        "[]",
        '"yes"',
        "",
        "```json\n```",
        "\ud800",
    ],
    ids=lambda text: ascii(f"{text[:10]} {text[-10:]} {len(text)}"),
)
@pytest.mark.parametrize("repair", [False, True])
def test_monstrous_replies_are_read_in_time(text: str, repair: bool) -> None:
    reply = checked(read(text, ONE, index=5, repair=repair), ONE)
    assert {answer.cause for answer in reply.answers} == {"malformed_reply"}


def test_a_lone_surrogate_escape_can_be_stored() -> None:
    body = fitting(ONE)
    body["act_1"]["valid"] |= {"reason": "bad \ud800 text", "evidence": [{"place": "task\ud800", "quote": "\udfff"}]}
    answer = checked(read(json.dumps(body), ONE, index=5, repair=False), ONE).answers[0]
    assert (answer.answer, answer.reason) == ("yes", "bad ? text")
    assert answer.evidence == (Evidence(place="task?", quote="?"),)


@pytest.mark.parametrize("asked", [ONE, TWO, MESSAGE, ONE[:1], ()])
def test_the_schema_is_valid_strict_and_puts_the_answer_last(asked: tuple[Asked, ...]) -> None:
    form = schema(asked)
    Draft202012Validator.check_schema(form)
    Draft202012Validator(form).validate(fitting(asked))
    objects = list(objects_in(form))
    assert all(each["additionalProperties"] is False for each in objects)
    assert all(each["required"] == list(each["properties"]) for each in objects)
    answers = [list(each["properties"]) for each in objects if "answer" in each["properties"]]
    assert len(answers) == len(asked)
    assert all(names[:3] == ["evidence", "reason", "answer"] for names in answers)


def objects_in(form: Any) -> Any:
    """Every object schema in a schema."""
    if form.get("type") == "object":
        yield form
        for inner in form["properties"].values():
            yield from objects_in(inner)
    elif form.get("type") == "array":
        yield from objects_in(form["items"])


def fits(form: Any) -> st.SearchStrategy[Any]:
    """Anything that fits a reply's schema."""
    match form["type"]:
        case "object":
            return st.fixed_dictionaries({name: fits(inner) for name, inner in form["properties"].items()})
        case "array":
            return st.lists(fits(form["items"]), max_size=3)
        case "integer":
            return st.integers()
        case _:
            return st.sampled_from(form["enum"]) if "enum" in form else st.text(max_size=20)


@given(st.data(), asked_things, st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```", "  {}\n\n"]), st.booleans())
def test_a_reply_that_fits_the_schema_is_read_without_faults(
    data: st.DataObject, asked: tuple[Asked, ...], frame: str, repair: bool
) -> None:
    body = data.draw(fits(schema(asked)))
    text = frame.replace("{}", json.dumps(body, ensure_ascii=data.draw(st.booleans())))
    reply = checked(read(text, asked, index=5, repair=repair), asked)
    assert reply.faults == ()
    for answer, item in zip(reply.answers, asked, strict=True):
        unit = unit_name(item)
        given = body[unit][item.criterion.name]
        assert answer.answer == given["answer"]
        assert answer.reason == given["reason"]
        assert [each.quote for each in answer.evidence] == [each["quote"] for each in given["evidence"]]


@pytest.mark.parametrize("word", ["Yes", "YES", "true", "maybe", "not_applicable", "", " yes", None, True, 1, ["yes"]])
def test_a_word_that_is_not_allowed_is_no_answer(word: Any) -> None:
    body = fitting(ONE)
    body["act_1"]["valid"]["answer"] = word
    reply = checked(read(json.dumps(body), ONE, index=5, repair=True), ONE)
    assert reply.answers[0].cause == "malformed_reply"
    assert [answer.answer for answer in reply.answers[1:]] == ["yes"] * 4
    assert reply.faults[0].startswith("`act_1.valid` has the answer ")
    assert "allowed are yes, no, undetermined" in reply.faults[0]


def test_what_is_missing_is_named() -> None:
    body = fitting(ONE)
    del body["act_1"]["useful"], body["step"]
    assert read(json.dumps(body), ONE, index=5, repair=False).faults == (
        "`act_1.useful` is missing",
        "`step.recovery` is missing",
    )


def test_a_broken_reply_is_mended_only_where_no_schema_held_the_model() -> None:
    text = json.dumps(fitting(ONE))[:-1] + ",}"
    assert {answer.answer for answer in read(text, ONE, index=5, repair=True).answers} == {"yes"}
    assert {answer.cause for answer in read(text, ONE, index=5, repair=False).answers} == {"malformed_reply"}


def test_only_earlier_steps_can_be_fixed_or_inherited_from_and_only_by_a_yes() -> None:
    body = fitting(ONE)
    body["step"]["recovery"]["fixes"] = [9, 5, 4, -1, 0, 2, 2, True, 1.5, "3", 10**30]
    body["inherits_from"] = [5, 3, 3, None]
    reply = checked(read(json.dumps(body), ONE, index=5, repair=False), ONE)
    assert (reply.answers[-1].fixes, reply.inherits_from) == ((2, 4), (3,))
    body["step"]["recovery"]["answer"] = "no"
    assert read(json.dumps(body), ONE, index=5, repair=False).answers[-1].fixes == ()


def test_long_texts_and_lists_are_cut() -> None:
    body = fitting(ONE)
    long = [{"place": "task" * 100, "quote": "q" * 9_999}] * 99
    body["act_1"]["valid"] |= {"reason": "r" * 99_999, "evidence": long}
    answer = read(json.dumps(body), ONE, index=5, repair=False).answers[0]
    assert (len(answer.reason), len(answer.evidence)) == (MAX_REASON, MAX_QUOTES)
    assert (len(answer.evidence[0].quote), len(answer.evidence[0].place)) == (MAX_QUOTE, 100)

"""Confidence is read from the tokens that spell an answer's word, wherever they are split."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.confidence import Token, confident
from judge_service.question import things_to_ask
from judge_service.reply import by_unit, read
from stepjudge.rubric import AnswerWord
from stepjudge.verdict import Answer

from rubrics_for_tests import SMALL
from traces import call, step, texts

VALID = Answer(criterion="valid", call=1, answer="yes")


def token(text: str, probability: float = 1.0, **alternatives: float) -> Token:
    return Token(text, math.log(probability), tuple((other, math.log(p)) for other, p in alternatives.items()))


def spelling(*word: Token, before: str = '{"act_1": {"valid": {"reason": "no", "answer": "') -> list[Token]:
    return [token(before), *word, token('"}}}')]


def of(tokens: Sequence[Token], word: AnswerWord = "yes") -> float | None:
    return confident([VALID.model_copy(update={"answer": word})], tokens)[0].confidence


def approx(value: float) -> Any:
    return pytest.approx(value)


def test_confidence_is_the_share_among_the_words() -> None:
    assert of(spelling(token("yes", 0.6, no=0.2, und=0.1, banana=0.1))) == approx(0.6 / 0.9)


def test_the_token_that_was_chosen_counts_once_though_it_stands_among_the_likeliest() -> None:
    assert of(spelling(token("yes", 0.6, yes=0.6, no=0.4))) == approx(0.6)


def test_other_spellings_of_the_same_word_count_for_it() -> None:
    assert of(spelling(token("yes", 0.5, **{" yes": 0.2, "Yes": 0.1, "no": 0.2}))) == approx(0.8)
    assert of(spelling(token("yes", 0.5, **{" no": 0.2, "NO": 0.1, "not": 0.2}))) == approx(0.5)


def test_a_token_may_hold_the_opening_quote() -> None:
    before = '{"act_1": {"valid": {"answer":'
    tokens = spelling(token(' "yes', 0.5, **{' "no': 0.25, ' "': 0.25}), before=before)
    assert of(tokens) == approx(0.5 / 0.75)
    assert of(spelling(token('"yes', 0.5, **{'"no': 0.5}), before=before)) == approx(0.5)


def test_a_token_may_hold_what_follows_the_word() -> None:
    tokens = [
        token('{"act_1": {"valid": {"answer": "'),
        token('yes"}', 0.5, **{'no"}': 0.25, "yes": 0.25}),
        token("}}"),
    ]
    assert of(tokens) == approx(0.75)


@pytest.mark.parametrize(
    ("tokens", "word", "share"),
    [
        ([token("no", 0.6, **{"not": 0.2, "yes": 0.2})], "no", 0.6),
        ([token("not", 0.6, no=0.4), token("_applicable")], "not_applicable", 0.6),
        ([token("no", 0.8, yes=0.2), token("t_applicable", 0.5, **{'"': 0.5})], "not_applicable", 0.4),
        ([token("n", 0.8, yes=0.2), token("o", 0.9, ot=0.1)], "no", 0.72),
        ([token("n", 0.8, yes=0.2), token("ot_applicable", 0.9, o=0.1)], "not_applicable", 0.72),
        ([token("not_applicable", 0.5, no=0.5)], "not_applicable", 0.5),
        ([token("und", 1.0), token("", 0.1), token("etermined", 0.9)], "undetermined", 1.0),
    ],
)
def test_no_begins_two_words_and_is_told_from_the_other(tokens: list[Token], word: AnswerWord, share: float) -> None:
    assert of(spelling(*tokens), word) == approx(share)


def test_no_may_also_be_told_apart_by_its_closing_quote() -> None:
    before = token('{"act_1": {"valid": {"answer": "')
    assert of([before, token("no", 0.8, yes=0.2), token('"', 0.5, t_applicable=0.5), token("}}}")], "no") == approx(0.4)


def reply(words: dict[tuple[str, str], str], quote: str = "") -> str:
    """A reply in the order of the schema, with these answers."""
    body: dict[str, Any] = {}
    for (unit, name), word in words.items():
        evidence = [{"place": "task", "quote": quote}]
        body.setdefault(unit, {})[name] = {"evidence": evidence, "reason": quote, "answer": word, "fixes": [1]}
    return json.dumps({**body, "inherits_from": []}, ensure_ascii=False)


def split(text: str, places: Sequence[int]) -> list[Token]:
    """The text in tokens cut at these places."""
    bounds = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [token(text[start:end]) for start, end in pairwise(bounds)]


@given(st.data(), st.integers(0, 3), texts, st.sampled_from(["{}", "```json\n{}\n```", "\n\n{}"]))
def test_every_answer_finds_its_own_word_however_the_text_is_split(
    data: st.DataObject, count: int, quote: str, frame: str
) -> None:
    asked = things_to_ask(SMALL, step(5, *[call()] * count))
    words = {
        (unit, criterion.name): data.draw(st.sampled_from(["yes", "no", "undetermined"]))
        for unit, criteria in by_unit(asked).items()
        for criterion in criteria
    }
    text = frame.replace("{}", reply(words, quote))
    answers = read(text, asked, index=5, repair=False).answers
    places = data.draw(st.lists(st.integers(0, 5_000), max_size=60))
    tokens = split(text, places)
    assert "".join(each.text for each in tokens) == text
    assert [answer.confidence for answer in confident(answers, tokens)] == [1.0] * len(asked)


def test_answers_are_asked_by_criterion_and_replied_by_call_yet_each_gets_its_own() -> None:
    asked = things_to_ask(SMALL, step(5, call(), call()))
    names = [(unit, criterion.name) for unit, criteria in by_unit(asked).items() for criterion in criteria]
    tokens: list[Token] = []
    for number, part in enumerate(reply(dict.fromkeys(names, "yes")).split('"yes"')):
        if number:
            tokens += [token('"'), token("yes", 0.5 + number / 100, no=0.5 - number / 100), token('"')]
        tokens.append(token(part))
    answers = read(reply(dict.fromkeys(names, "yes")), asked, index=5, repair=False).answers
    found = {(a.criterion, a.call): a.confidence for a in confident(answers, tokens)}
    expected = {
        (name, int(unit[4:]) if unit.startswith("act_") else None): approx(0.5 + number / 100)
        for number, (unit, name) in enumerate(names, start=1)
    }
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        '{"act_1": {"valid": {"answer": "no"}}}',
        '{"act_1": {"useful": {"answer": "yes"}}}',
        '{"act_2": {"valid": {"answer": "yes"}}}',
        '{"valid": {"answer": "yes"}}',
        '{"act_1": {"valid": {"answer": yes}}}',
        '{"act_1": {"valid": {"answer": ["yes"]}}}',
        '{"act_1": {"valid": {"quote": "\\"answer\\": \\"yes\\""}}}',
        '{"act_1": {"valid": {"answer": "yes',
        '{"x": "{\\"call_1\\": {\\"valid\\": {\\"answer\\": \\"yes\\"}}}"}',
    ],
)
def test_where_the_tokens_do_not_spell_the_answer_nothing_is_claimed(text: str) -> None:
    assert of([token(text)]) is None


@pytest.mark.parametrize("logprob", [float("nan"), float("-inf"), -1e9])
def test_probabilities_that_say_nothing_claim_nothing(logprob: float) -> None:
    assert of(spelling(Token("yes", logprob, ()))) is None


def test_a_probability_above_one_is_one() -> None:
    assert of(spelling(Token("yes", 0.5, (("no", -math.inf),)))) == 1.0


@given(st.lists(st.tuples(st.text(max_size=6) | st.sampled_from(['"', "{", "answer", "\\"]), st.floats()), max_size=20))
def test_no_tokens_can_break_it(parts: list[tuple[str, float]]) -> None:
    tokens = [Token(text, logprob, ((text[::-1], logprob),)) for text, logprob in parts]
    for before in ("", '{"act_1": {"valid": {"answer": "yes'):
        value = of([token(before), *tokens])
        assert value is None or 0 <= value <= 1


def test_monstrous_tokens_are_read_in_time() -> None:
    for text in ('"' + '\\"' * 100_000, '"' * 100_000, "{" * 100_000, '"a"' + " " * 100_000, '{"a":' * 50_000):
        assert of([token(text)]) is None

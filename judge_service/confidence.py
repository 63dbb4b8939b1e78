"""Confidence is the probability that the model gave an answer rather than another, from its token probabilities."""

import bisect
import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from stepjudge.rubric import AnswerWord
from stepjudge.verdict import Answer

_WORDS: tuple[AnswerWord, ...] = ("yes", "no", "not_applicable", "undetermined")
# A string, with the colon that makes it a key, or a bracket. A string that never ends takes the rest of the text.
_LEXEME = re.compile(r'"((?:[^"\\]|\\.)*+)(?:(")(\s*:)?|\\?\Z)|[{}\[\]]', re.DOTALL)


class Token(NamedTuple):
    """A token the model emitted, its log-probability, and the likeliest alternatives with theirs."""

    text: str
    logprob: float
    alternatives: Iterable[tuple[str, float]]


class _Spot(NamedTuple):
    """Where an answer's word stands in the text: from `begin` to the closing quote at `end`."""

    word: str
    begin: int
    end: int


def confident(answers: Sequence[Answer], tokens: Sequence[Token]) -> tuple[Answer, ...]:
    """The answers with their confidence, where the tokens tell it.

    An answer's word is found by the keys that lead to it, in the text as the tokens spell it, because servers strip
    fences from the content. Where another word stands there, or none, nothing is claimed.
    """
    spots = _spots("".join(token.text for token in tokens))
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token.text))
    return tuple(
        answer.model_copy(update={"confidence": _confidence(tokens, starts, spot)})
        if (spot := _spot_of(answer, spots))
        else answer
        for answer in answers
    )


def _spots(text: str) -> dict[tuple[str, ...], _Spot]:
    """Every `"answer"` in the text, by the keys above it."""
    found: dict[tuple[str, ...], _Spot] = {}
    path: list[str] = []
    key = ""
    for lexeme in _LEXEME.finditer(text, max(text.find("{"), 0)):
        if lexeme[3]:
            key = lexeme[1]
            continue
        if lexeme[0] in ("{", "["):
            path.append(key)
        elif lexeme[0] in ("}", "]"):
            del path[-1:]
        elif key == "answer" and lexeme[2]:
            found[tuple(path)] = _Spot(lexeme[1], *lexeme.span(1))
        key = ""
    return found


def _spot_of(answer: Answer, spots: dict[tuple[str, ...], _Spot]) -> _Spot | None:
    units = ("step", "act_1") if answer.call is None else (f"act_{answer.call}",)
    found = next((spot for unit in units if (spot := spots.get(("", unit, answer.criterion)))), None)
    return found if found and found.word == answer.answer else None


def _confidence(tokens: Sequence[Token], starts: Sequence[int], spot: _Spot) -> float | None:
    """The chosen word's share in the probability of all words, multiplied over the tokens that spell it."""
    confidence = 1.0
    for position in range(bisect.bisect_right(starts, spot.begin) - 1, bisect.bisect_right(starts, spot.end)):
        token, start = tokens[position], starts[position]
        said = spot.word[: max(start - spot.begin, 0)]
        share = _share(token, token.text[: max(spot.begin - start, 0)], said, spot.word)
        if share is None:
            return None
        confidence *= share
    return confidence


def _share(token: Token, lead: str, said: str, word: str) -> float | None:
    """What part of the probability at this token the chosen word has. What leads to no word is left out of it.

    Providers report probabilities before a grammar masks impossible tokens, so the share is renormalised.
    """
    chosen = _probability(token.logprob)
    others = 0.0
    for text, logprob in dict(token.alternatives).items():
        led_to = _led_to(text, lead, said)
        if text == token.text or led_to is None:
            continue
        if led_to == word:
            chosen += _probability(logprob)
        else:
            others += _probability(logprob)
    total = chosen + others
    return chosen / total if total > 0 else None


@lru_cache(maxsize=10_000)  # a model has few ways to begin these words
def _led_to(text: str, lead: str, said: str) -> AnswerWord | None:
    """The word that a token leads to after what was said of it; null where that is open.

    `no` begins two words: a token that completes a word counts as that word.
    """
    spelled = said + text if said else text.removeprefix(lead).lstrip(' "')
    start, closed, _ = spelled.lower().partition('"')
    if not start:
        return None
    begun: list[AnswerWord] = [word for word in _WORDS if word.startswith(start) and not closed]
    whole: list[AnswerWord] = [word for word in _WORDS if word == start]
    led_to = whole or begun
    return led_to[0] if len(led_to) == 1 else None


def _probability(logprob: float) -> float:
    return math.exp(min(logprob, 0.0))

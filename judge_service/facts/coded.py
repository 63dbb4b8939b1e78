"""Coded text is text that says something else once it is decoded: base64, hex, escapes, other letters, backwards.

Only what a reader could decode in its head or a model does by itself; at most a few pieces of a text, each of bounded
length, so that a hostile text costs no more than a long one.
"""

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

_MOST, _LONGEST, _AROUND = 50, 4_000, 200
_WORDS = ("judge", "grader", "evaluator", "assessor", "reviewer", "criteri", "rubric")


def _base64(text: str) -> str:
    whole = text[: len(text) - len(text) % 4]
    return _printed(base64.b64decode(whole))


def _spaced(text: str) -> str:
    # One blank between letters, more between words.
    return " ".join(word.replace(" ", "") for word in re.split(r"\s{2,}", text))


def _printed(raw: bytes) -> str:
    text = raw.decode("utf-8", "ignore")
    return text if text.isprintable() or "\n" in text else ""


_CODES: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("base64", re.compile(r"[A-Za-z0-9+/]{32,4000}"), _base64),
    ("hex", re.compile(r"(?:[0-9A-Fa-f]{2}){16,2000}"), lambda text: _printed(bytes.fromhex(text))),
    ("percent", re.compile(r"(?:%[0-9A-Fa-f]{2}){12,1000}"), unquote),
    ("entities", re.compile(r"(?:&#[0-9]{2,6};){12,600}"), html.unescape),
    ("escapes", re.compile(r"(?:\\u[0-9a-fA-F]{4}){12,600}"), lambda text: re.sub(
        r"\\u(.{4})", lambda match: chr(int(match[1], 16)), text)),
    ("spaced letters", re.compile(r"(?:[A-Za-z.,:!] {1,3}){16,1000}[A-Za-z.,:!]"), _spaced),
)  # fmt: skip


def decoded(text: str) -> Iterator[tuple[str, str]]:
    """(code, what it says) of pieces that decode to text."""
    for code, pattern, decode in _CODES:
        for number, found in enumerate(pattern.finditer(text)):
            if number == _MOST:
                break
            try:
                said = decode(found[0][:_LONGEST])
            except (binascii.Error, ValueError):
                continue
            if said:
                yield code, said
    yield from _turned(text.lower())


def _turned(text: str) -> Iterator[tuple[str, str]]:
    for code, turn in _TURNS:
        for word in _WORDS:
            place, seen = text.find(turn(word)), 0
            while place >= 0 and seen < _MOST:
                yield code, turn(text[max(0, place - _AROUND) : place + _AROUND])
                place, seen = text.find(turn(word), place + _AROUND), seen + 1


def _rotated(text: str) -> str:
    return text.translate(_ROT13)


def _reversed(text: str) -> str:
    return text[::-1]


_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_TURNS: tuple[tuple[str, Callable[[str], str]], ...] = (("rot13", _rotated), ("backwards", _reversed))

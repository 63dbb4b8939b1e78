"""A word diff is two texts as one, with the words that only the first has and those that only the second has told apart."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pydantic import JsonValue

from stepjudge.value import JsonObject

_WORD = re.compile(r"\s+|\w+(?:[.@-]\w+)*|[^\w\s]")
_MOST = 4_000
"""Words of a text that is compared word by word; a longer one counts as a single word."""


@dataclass(frozen=True)
class Run:
    kind: Literal["same", "old", "new"]
    text: str


def word_diff(old: str, new: str) -> tuple[Run, ...]:
    a, b = _words(old), _words(new)
    return tuple(_runs(a, b, SequenceMatcher(None, a, b, autojunk=False).get_opcodes()))


def prose(value: JsonValue) -> str:
    """A field of a rubric as text: a list has a line for each of its items."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return "\n".join(f"• {prose(item)}" for item in value)
        case dict():
            return "; ".join(f"{name}: {prose(item)}" for name, item in _given(value).items())
        case _:
            return str(value)


def _given(value: JsonObject) -> JsonObject:
    return {name: item for name, item in value.items() if item not in (None, "", [], {}, False)}


def _words(text: str) -> list[str]:
    words = _WORD.findall(text)
    return words if len(words) <= _MOST else [text]


def _runs(a: list[str], b: list[str], codes: Sequence[tuple[str, int, int, int, int]]) -> Iterator[Run]:
    for code, i, j, k, m in codes:
        if code == "equal":
            yield Run("same", "".join(a[i:j]))
            continue
        if i < j:
            yield Run("old", "".join(a[i:j]))
        if k < m:
            yield Run("new", "".join(b[k:m]))

"""A clean value is JSON that can be written again: shallow, finite, valid Unicode. Mending makes one, and notes it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES

_TOO_LARGE = 2 ** (3 * MAX_DIGITS - 1)
"""An integer from here on is kept as text: it may have more than MAX_DIGITS digits."""
NESTED = f"the document is nested more than {MAX_DEPTH} levels deep: no trace needs that; flatten or drop the deep part"
_NUMBERS = (int, float)
_CONTAINERS = (dict, list)


class TooDeep(UnreadableTrace):
    """The document is nested too deeply."""


@dataclass(frozen=True)
class Parsed:
    value: JsonValue
    notes: tuple[str, ...] = ()


def clean(value: object) -> Parsed:
    """The same value as JSON that can be written again: no lone surrogate, no NaN, nothing that is not JSON."""
    if _is_clean(value):
        return Parsed(cast("JsonValue", value))  # _is_clean has looked at every value in it
    mending = _Mending()
    return Parsed(mending.mend(value, "$"), tuple(mending.notes()))


def is_plain(value: JsonValue) -> bool:
    """Whether there is nothing to mend or refuse in a value whose texts and keys are known to be valid Unicode."""
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH + 1):
        kinds = set(map(type, level))
        if not kinds.isdisjoint(_NUMBERS) and not _are_clean_numbers(level, kinds):
            return False
        if kinds.isdisjoint(_CONTAINERS):
            return True
        level = _children(level)
        if len(level) > MAX_VALUES:
            return False
    return False


def depth(value: JsonValue) -> int:
    """How many lists and objects stand inside one another."""
    levels, containers = 0, [value] if isinstance(value, dict | list) else []
    while containers:
        levels += 1
        containers = [child for child in _children(containers) if isinstance(child, dict | list)]
    return levels


def copied(value: JsonValue) -> JsonValue:
    """An equal value that shares no list and no object: what a trace carries must not change with its document."""
    if type(value) is dict:
        return {key: copied(member) for key, member in value.items()}
    return [copied(element) for element in value] if type(value) is list else value


def _children(parents: Sequence[JsonValue]) -> list[JsonValue]:
    children: list[JsonValue] = []
    for parent in parents:
        if type(parent) is dict:
            children.extend(parent.values())
        elif type(parent) is list:
            children.extend(parent)
    return children


_JSON_KINDS: set[type] = {str, int, float, bool, type(None), dict, list}


def _is_clean(value: object) -> bool:
    """Level by level, without recursion and mostly in C, since most documents need no mending. Raises TooDeep."""
    level: list[object] = [value]
    for depth_of_level in range(MAX_DEPTH + 1):
        kinds = set(map(type, level))
        if depth_of_level == MAX_DEPTH and kinds & {dict, list}:
            break
        if not kinds <= _JSON_KINDS or not _are_clean_leaves(level, kinds):
            return False
        keys, below = _below(level)
        if not set(map(type, keys)) <= {str} or not _are_unicode(cast("list[str]", keys)):
            return False
        if not below:
            return True
        level = below
    raise TooDeep(NESTED)


def _below(level: list[object]) -> tuple[list[object], list[object]]:
    keys: list[object] = []
    below: list[object] = []
    for parent in level:
        if type(parent) is dict:
            members = cast("dict[object, object]", parent)
            keys.extend(members)
            below.extend(members.values())
        elif type(parent) is list:
            below.extend(cast("list[object]", parent))
        if len(below) > MAX_VALUES:
            raise UnreadableTrace(f"the document holds more than {MAX_VALUES:,} values: split it into several")
    return keys, below


def _are_clean_leaves(level: list[object], kinds: set[type]) -> bool:
    if str in kinds and not _are_unicode([each for each in level if type(each) is str]):
        return False
    return _are_clean_numbers(level, kinds)


def _are_clean_numbers(level: Sequence[object], kinds: set[type]) -> bool:
    if float in kinds and not all(map(math.isfinite, [each for each in level if type(each) is float])):
        return False
    if int not in kinds:
        return True
    integers = [each for each in level if type(each) is int]
    return min(integers) > -_TOO_LARGE and max(integers) < _TOO_LARGE


def _are_unicode(texts: list[str]) -> bool:
    return all(map(str.isascii, texts)) or all(map(_is_unicode, texts))


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Mending:
    """Rebuilds a value that is not clean. Its depth was not measured yet, so it counts levels itself."""

    def __init__(self) -> None:
        self.surrogates = 0
        self.numbers = 0
        self.long_integers = 0

    def mend(self, value: object, path: str, level: int = 0) -> JsonValue:
        match value:
            case dict() | list() | tuple() if level >= MAX_DEPTH:
                raise TooDeep(NESTED)
            case None | bool():
                return value
            case str():
                return self._text(str(value))
            case int():
                return self._integer(int(value))
            case float():
                return self._number(float(value))
            case dict():
                return self._members(cast("dict[object, object]", value), path, level)
            case list() | tuple():
                elements = cast("list[object]", value)
                return [self.mend(element, f"{path}[{index}]", level + 1) for index, element in enumerate(elements)]
            case _:
                raise UnreadableTrace(f"{path} is a {type(value).__name__}, not JSON: convert it before reading")

    def _members(self, members: dict[object, object], path: str, level: int) -> JsonValue:
        for key in members:
            if not isinstance(key, str):
                raise UnreadableTrace(f"{path} has the key {key!r}, not text: JSON keys are text")
        return {
            self._text(str(key)): self.mend(member, f"{path}.{self._text(str(key))}", level + 1)
            for key, member in members.items()
        }

    def _text(self, text: str) -> str:
        if _is_unicode(text):
            return text
        self.surrogates += sum("\ud800" <= character <= "\udfff" for character in text)
        return "".join("�" if "\ud800" <= character <= "\udfff" else character for character in text)

    def _number(self, number: float) -> JsonValue:
        if number - number == 0:
            return number
        self.numbers += 1
        return "NaN" if number != number else ("Infinity" if number > 0 else "-Infinity")

    def _integer(self, number: int) -> JsonValue:
        if abs(number) < _TOO_LARGE:
            return number
        self.long_integers += 1
        return hex(number)  # hexadecimal has no limit of digits

    def notes(self) -> Iterable[str]:
        if self.surrogates:
            yield f"{self.surrogates} lone surrogates, which are no characters, were replaced by U+FFFD"
        if self.numbers:
            yield f"{self.numbers} numbers too large for JSON, or not numbers at all, were kept as text"
        if self.long_integers:
            yield f"{self.long_integers} integers of more than {MAX_DIGITS} digits were kept as hexadecimal text"

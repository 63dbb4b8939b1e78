"""Parsing turns text into a clean JSON value. What plain `json.loads` would pass over or choke on is noted."""

import json
from collections.abc import Callable, Iterable
from typing import cast

from jiter import from_json
from pydantic import JsonValue

from stepjudge.formats.reading.cleaning import NESTED, Parsed, TooDeep, clean, is_plain
from stepjudge.formats.reading.limits import MAX_DIGITS

_SPACE = " \t\r\n"


class _Findings:
    """What the JSON parser met on its way that plain `json.loads` would pass over."""

    def __init__(self) -> None:
        self.duplicates: set[str] = set()
        self.constants = 0
        self.long_integers = 0

    def decode(self, text: str, start: int) -> tuple[object, int]:
        try:
            return self._decoder(int).raw_decode(text, start)
        except json.JSONDecodeError:
            raise
        except ValueError:  # int() refused: parse anew, which is slower, with a hook that does not
            return self._decoder(self.integer).raw_decode(text, start)

    def _decoder(self, parse_int: Callable[[str], object]) -> json.JSONDecoder:
        return json.JSONDecoder(object_pairs_hook=self.object, parse_constant=self.constant, parse_int=parse_int)

    def object(self, pairs: list[tuple[str, JsonValue]]) -> JsonValue:
        value = dict(pairs)
        if len(value) < len(pairs):
            seen: set[str] = set()
            self.duplicates.update(key for key, _ in pairs if key in seen or seen.add(key))
        return value

    def constant(self, literal: str) -> str:
        self.constants += 1
        return literal

    def integer(self, digits: str) -> int | str:
        if len(digits) <= MAX_DIGITS:
            return int(digits)
        self.long_integers += 1
        return digits

    def notes(self) -> Iterable[str]:
        if self.duplicates:
            names = ", ".join(repr(key) for key in sorted(self.duplicates)[:5])
            yield f"an object names a key twice ({names}): the last one counts"
        if self.constants:
            yield f"{self.constants} NaN or Infinity literals, which JSON does not have, were kept as text"
        if self.long_integers:
            yield f"{self.long_integers} integers of more than {MAX_DIGITS} digits were kept as text"


def parse_plain(data: bytes) -> Parsed | None:
    """The JSON value of UTF-8 bytes in which there is nothing to note, mend or refuse; null when there may be.

    jiter is strict: it refuses NaN, a key named twice, a lone surrogate, wrong UTF-8, more than 4300 digits and whatever
    else is not JSON by RFC 8259. What it does take is looked at for depth, size and infinite numbers. So a value from
    here is the one that `parse_with_care` gives, in a fraction of the time, and that one alone has to say what is wrong.
    """
    try:
        value = cast(
            "JsonValue",  # the parser makes no other types
            from_json(data, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys"),
        )
    except ValueError:
        return None
    return Parsed(value) if is_plain(value) else None


def parse(text: str) -> Parsed:
    """The JSON value of the text. Raises json.JSONDecodeError or TooDeep, and nothing else."""
    try:
        plain = parse_plain(text.encode())
    except UnicodeEncodeError:
        plain = None
    return plain or parse_with_care(text)


def parse_with_care(text: str) -> Parsed:
    """As `parse`, for text that `parse_plain` did not take."""
    parsed, end = parse_at(text, len(text) - len(text.lstrip(_SPACE)))
    extra = text[end:].lstrip(_SPACE)
    if extra:
        raise json.JSONDecodeError("Extra data", text, len(text) - len(extra))
    return parsed


def parse_embedded(text: str) -> Parsed | None:
    """The JSON value that a document carries as text; null when it is none."""
    try:
        return parse(text)
    except (json.JSONDecodeError, TooDeep):
        return None


def parse_at(text: str, start: int) -> tuple[Parsed, int]:
    """The JSON value that begins there, and where it ends."""
    findings = _Findings()
    try:
        value, end = findings.decode(text, start)
    except RecursionError:
        raise TooDeep(NESTED) from None
    cleaned = clean(value)
    return Parsed(cleaned.value, (*findings.notes(), *cleaned.notes)), end

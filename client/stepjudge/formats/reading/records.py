"""Records are the JSON values that a file holds one after the other: one document, lines, or elements of a list."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.cleaning import Parsed, TooDeep
from stepjudge.formats.reading.elements import elements
from stepjudge.formats.reading.limits import MAX_DOCUMENT_BYTES
from stepjudge.formats.reading.parsing import parse_plain, parse_with_care
from stepjudge.formats.reading.source import SPLIT, Source

_PROBE = 16 * 2**20
"""A first line longer than this that opens a list is read element by element."""
_CUT = "the last line was cut: what it said is not in the trace"

Kind = Literal["document", "lines", "list"]


@dataclass(frozen=True)
class Record:
    value: JsonValue
    place: str
    size: int = 0
    """Bytes of its text, to bound how much is looked at."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Records:
    kind: Kind
    each: Iterator[Record]


def records_of(parsed: Parsed, name: str) -> Records:
    """The records of a value in memory."""
    if isinstance(parsed.value, list):
        return Records(
            "list", (Record(each, f"{name}: $[{n}]", 0, parsed.notes) for n, each in enumerate(parsed.value))
        )
    return Records("document", iter([Record(parsed.value, name, 0, parsed.notes)]))


def records_in(source: Source, skip: Callable[[UnreadableTrace], None] | None = None) -> Records:
    """The records of a file, read as they are asked for. `skip` is told of a line that is no JSON, and reading goes on."""
    number, first = _first_line(source)
    if not first.endswith(b"\n") and len(first) >= _PROBE:
        if first.lstrip().startswith(b"["):
            return _listed(source, first, number)
        first += source.line(MAX_DOCUMENT_BYTES - len(first) + 1)
        _refuse_long(source, first, number)
    try:
        parsed = parse_plain(first) or parse_with_care(_decoded(source, first, number))
    except json.JSONDecodeError:
        return _spread(source, first, number)
    except TooDeep as error:
        raise UnreadableTrace(f"{source.name}: line {number}: {error}") from None
    following = _skip_blank(source, number)
    if not following[1]:
        return records_of(parsed, source.name)
    head = Record(parsed.value, f"{source.name}: line {number}", len(first), parsed.notes)
    return Records("lines", _lines(source, head, *following, skip))


def _first_line(source: Source) -> tuple[int, bytes]:
    number, first = _skip_blank(source, 0, _PROBE)
    if not first:
        raise UnreadableTrace(f"{source.name}: the file is empty: expected a trace in it")
    return number, first


def _skip_blank(source: Source, number: int, limit: int = MAX_DOCUMENT_BYTES + 1) -> tuple[int, bytes]:
    """The next line that says something, and its number; no bytes at the end."""
    while line := source.line(limit):
        number += 1
        if not line.isspace():
            return number, line
    return number, b""


def _spread(source: Source, first: bytes, number: int) -> Records:
    """A document over several lines."""
    if first.lstrip().startswith(b"["):
        return _listed(source, first, number)
    data = first + source.rest(MAX_DOCUMENT_BYTES - len(first))
    plain = parse_plain(data)
    if plain is not None:
        return records_of(plain, source.name)
    text = _decoded(source, data, number)
    try:
        return records_of(parse_with_care(text), source.name)
    except json.JSONDecodeError as error:
        raise UnreadableTrace(_not_json(source.name, text, error, number)) from None
    except TooDeep as error:
        raise UnreadableTrace(f"{source.name}: {error}") from None


def _listed(source: Source, first: bytes, number: int) -> Records:
    found = elements(source, first, number)
    return Records(
        "list",
        (
            Record(each.parsed.value, f"{source.name}: $[{n}]", each.size, each.parsed.notes)
            for n, each in enumerate(found)
        ),
    )


def _lines(
    source: Source, head: Record, number: int, line: bytes, skip: Callable[[UnreadableTrace], None] | None
) -> Iterator[Record]:
    """Each record is held back until the next line is known to be whole, so that the last can say it was cut."""
    held: Record | None = head
    while line:
        _refuse_long(source, line, number)
        plain = parse_plain(line)
        text = "" if plain is not None else _decoded_line(source, line, number).rstrip()
        following = _skip_blank(source, number)
        try:
            parsed = plain or parse_with_care(text)
        except (json.JSONDecodeError, TooDeep) as error:
            cut = isinstance(error, json.JSONDecodeError) and not following[1] and _is_cut(line, text, error)
            if cut and held is not None:
                held = replace(held, notes=(*held.notes, _CUT))
                break
            unreadable = UnreadableTrace(_what_is_wrong(source.name, text, error, number))
            if skip is None:
                raise unreadable from None
            if held is not None:
                yield held  # in the order of the file
            held = None
            skip(unreadable)
            number, line = following
            continue
        if held is not None:
            yield held
        held = Record(parsed.value, f"{source.name}: line {number}", len(line), parsed.notes)
        number, line = following
    if held is not None:
        yield held


def _refuse_long(source: Source, line: bytes, number: int) -> None:
    if len(line) > MAX_DOCUMENT_BYTES:
        raise UnreadableTrace(f"{source.name}: line {number} is longer than {MAX_DOCUMENT_BYTES:,} bytes: {SPLIT}")


def _decoded(source: Source, data: bytes, number: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        at = number + data.count(b"\n", 0, error.start)
        raise UnreadableTrace(
            f"{source.name}: line {at}: byte {data[error.start]:#04x} is not UTF-8: save the file as UTF-8"
        ) from None


def _decoded_line(source: Source, line: bytes, number: int) -> str:
    """A last line may be cut within a character; that is a cut, not a wrong encoding."""
    if line.endswith(b"\n"):
        return _decoded(source, line, number)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        return line[: error.start].decode() if error.end == len(line) else _decoded(source, line, number)


def _is_cut(line: bytes, text: str, error: json.JSONDecodeError) -> bool:
    """Cut within a string, or so near the end that what follows may be the head of a word."""
    if not line.endswith(b"\n"):
        return True
    return error.msg.startswith("Unterminated string") or len(text.rstrip()) - error.pos <= len("-Infinit")


def _what_is_wrong(name: str, text: str, error: json.JSONDecodeError | TooDeep, number: int) -> str:
    if isinstance(error, TooDeep):
        return f"{name}: line {number}: {error}"
    return _not_json(name, text, error, number)


def _not_json(name: str, text: str, error: json.JSONDecodeError, number: int) -> str:
    line = number + error.lineno - 1
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"{name}: line {line}, column {error.colno}: the JSON was cut ({error.msg}): write the whole document"
    if error.msg == "Extra data":
        hint = "several documents must stand one per line"
        return f"{name}: line {line}, column {error.colno}: text follows after the end of the JSON: {hint}"
    near = text[max(0, error.pos - 10) : error.pos + 20]
    return (
        f"{name}: line {line}, column {error.colno}: not JSON ({error.msg}) near {near!r}: mend it or export it again"
    )

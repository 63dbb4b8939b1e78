"""Arguments are what a call was given: an object, or the string the model emitted when it is not one."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.formats.reading.cleaning import TooDeep, copied, depth
from stepjudge.formats.reading.content import compact
from stepjudge.formats.reading.limits import MAX_DEPTH_WITHIN
from stepjudge.formats.reading.parsing import parse
from stepjudge.trace import ArgumentsState
from stepjudge.value import JsonObject


@dataclass(frozen=True)
class Arguments:
    state: ArgumentsState
    values: JsonObject | None = None
    raw: str | None = None
    notes: tuple[str, ...] = ()


def read_arguments(value: JsonValue) -> Arguments:
    """An object is ok, null is missing, a string is parsed, and what is no object then stays as raw text, unparsed.

    The empty string is unparsed: the model emitted nothing where it had to emit an object.
    """
    match value:
        case None:
            return Arguments("missing")
        case str():
            return _parsed(value)
        case dict():
            if depth(value) > MAX_DEPTH_WITHIN:
                return _too_deep(compact(value))
            return Arguments("ok", {key: copied(member) for key, member in value.items()})
        case _:
            return Arguments("unparsed", raw=compact(value))


def _parsed(raw: str) -> Arguments:
    try:
        parsed = parse(raw)
    except json.JSONDecodeError:
        return Arguments("unparsed", raw=raw)
    except TooDeep:
        return _too_deep(raw)
    if not isinstance(parsed.value, dict) or any("NaN" in note for note in parsed.notes):
        return Arguments("unparsed", raw=raw)
    if depth(parsed.value) > MAX_DEPTH_WITHIN:
        return _too_deep(raw)
    return Arguments("ok", parsed.value, notes=tuple(f"in the arguments of a call, {note}" for note in parsed.notes))


def _too_deep(raw: str) -> Arguments:
    note = f"arguments nested more than {MAX_DEPTH_WITHIN} levels deep were kept as text"
    return Arguments("unparsed", raw=raw, notes=(note,))

"""A content id names a trace that has no id of its own: the SHA-256 of what it tells, as JSON with sorted keys.

The spelling is that of `json.dumps(…, sort_keys=True, ensure_ascii=False, separators=(",", ":"))`. It is written step by
step, so that there is no second copy of a long trace in memory, and straight from the values.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import cast

from pydantic_core import to_json

from stepjudge.trace import Trace
from stepjudge.value import Value

_TOLD = ("after", "steps", "system", "task", "task_attachments", "tools")
_encoded = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
_EMPTY: dict[type, bytes] = {tuple: b"[]", dict: b"{}"}

_Write = Callable[[bytes], object]
_Field = tuple[str, bytes, bytes]
"""The name of a field, what stands before its value, and the same with null, the commonest value."""


def content_id(trace: Trace) -> str:
    found = hashlib.sha256()
    _spell_members(trace, _fields(_TOLD), found.update)
    return f"sha256:{found.hexdigest()}"


def _spell_members(value: Value, fields: tuple[_Field, ...], write: _Write) -> None:
    members = value.__dict__
    for name, opening, null in fields:
        member = members[name]
        if member is None:
            write(null)
            continue
        write(opening)
        if type(member) is str:
            write(to_json(member))  # spells a text as `json` does, several times faster
        elif not member and type(member) in _EMPTY:
            write(_EMPTY[type(member)])
        elif type(member) is int:
            write(b"%d" % member)
        elif type(member) is tuple:
            _spell_each(cast("tuple[Value, ...]", member), write)
        elif isinstance(member, Value):
            _spell_members(member, _fields_of(type(member)), write)
        else:
            write(_encoded(member).encode())
    write(b"}")


def _spell_each(values: tuple[Value, ...], write: _Write) -> None:
    mark = b"["
    for value in values:
        pieces = [mark]
        _spell_members(value, _fields_of(type(value)), pieces.append)
        write(b"".join(pieces))
        mark = b","
    write(b"]")


@cache
def _fields_of(kind: type[Value]) -> tuple[_Field, ...]:
    return _fields(tuple(sorted(kind.model_fields)))


@cache
def _fields(names: tuple[str, ...]) -> tuple[_Field, ...]:
    openings = [f'{"," if at else "{"}"{name}":'.encode() for at, name in enumerate(names)]
    return tuple((name, opening, opening + b"null") for name, opening in zip(names, openings, strict=True))

"""A digest is the SHA-256 of a value's canonical JSON (RFC 8785): equal content, equal digest, whatever the key order."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from json.encoder import encode_basestring

import rfc8785
from pydantic import JsonValue

# RFC 8785 numbers are IEEE doubles; larger integers would collide after rounding.
_SAFE = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPECIAL = re.compile("[\ud800-\U0010ffff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False)


def canonical(value: JsonValue) -> bytes:
    """The one spelling of a JSON value, which Python's `json` reads back to the same spelling.

    `1.0` is written `1`. What RFC 8785 has no spelling for gets one of its own: integers that a double cannot hold
    stand with all their digits, NaN and the infinities as `NaN` and `Infinity`, a lone surrogate as its escape.
    """
    return (_at_once(value) or _spelled(value)).encode("utf-8", "backslashreplace")


def digest(value: JsonValue) -> str:
    """`sha256:` and 64 hex digits of the canonical JSON."""
    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()}"


def _at_once(value: JsonValue) -> str | None:
    """The spelling by Python's own encoder, a tenth of the time; null where it would differ from ours.

    It spells floats and lone surrogates otherwise, and sorts keys by code point: that is the order of UTF-16 as long as
    no character from U+E000 on is there.
    """
    if not _without_floats(value):
        return None
    text = _ENCODER.encode(value)
    return None if _SPECIAL.search(text) else text


def _without_floats(value: JsonValue) -> bool:
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return True
    if isinstance(value, dict):
        return all(map(_without_floats, value.values()))
    return isinstance(value, list | tuple) and all(map(_without_floats, value))


def _spelled(value: JsonValue) -> str:
    match value:
        case str():
            return _string(value)
        case bool() | int() | None:
            return json.dumps(value)
        case float():
            return _number(value)
        case Mapping():
            members = sorted(value.items(), key=lambda member: member[0].encode("utf-16be", "surrogatepass"))
            return "{" + ",".join([f"{_string(key)}:{_spelled(item)}" for key, item in members]) + "}"
        case _:
            return "[" + ",".join([_spelled(item) for item in value]) + "]"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return json.dumps(value)
    if abs(value) > _SAFE:
        return str(int(value))  # the same number as an integer must be spelled alike
    return rfc8785.dumps(value).decode()


def _string(text: str) -> str:
    if _SURROGATE.search(text):
        # two surrogates in a row are one character to every reader of JSON
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return encode_basestring(text)

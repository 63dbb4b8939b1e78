"""A digest is the SHA-256 of a value's canonical JSON (RFC 8785): equal content, equal digest, whatever the key order."""

import hashlib
import json
import math
import re
from collections.abc import Mapping

import rfc8785
from pydantic import JsonValue

# RFC 8785 numbers are IEEE doubles; larger integers would collide after rounding.
_SAFE = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical(value: JsonValue) -> bytes:
    """The one spelling of a JSON value, which Python's `json` reads back to the same spelling.

    `1.0` is written `1`. What RFC 8785 has no spelling for gets one of its own: integers that a double cannot hold
    stand with all their digits, NaN and the infinities as `NaN` and `Infinity`, a lone surrogate as its escape.
    """
    return _spelled(value).encode("utf-8", "backslashreplace")


def digest(value: JsonValue) -> str:
    """`sha256:` and 64 hex digits of the canonical JSON."""
    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()}"


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
    return json.dumps(text, ensure_ascii=False)

"""A shape is what a JSON value was hoped to be: the value when it is that, an empty one when it is not."""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.value import JsonObject


def as_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def text_or_none(value: JsonValue) -> str | None:
    """The text, unless it is missing or empty."""
    return value if isinstance(value, str) and value else None


def identifier(value: JsonValue) -> str | None:
    """An id is text; some harnesses write numbers."""
    match value:
        case bool() | None | "":
            return None
        case str():
            return value
        case int():
            return str(value)
        case _:
            return None


def as_bool(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else None


def as_count(value: JsonValue) -> int | None:
    """A whole number from 0; `12.0` counts as 12."""
    match value:
        case bool():
            return None
        case int() if 0 <= value < 2**63:
            return value
        case float() if 0 <= value < 2**53 and value.is_integer():
            return int(value)
        case _:
            return None


def as_integer(value: JsonValue) -> int | None:
    """A whole number of either sign, such as an exit code."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def as_amount(value: JsonValue) -> float | None:
    """A number from 0, such as a cost."""
    match value:
        case bool():
            return None
        case int() | float() if 0 <= value < 1e300:
            return float(value)
        case _:
            return None


def objects(value: JsonValue) -> Iterator[JsonObject]:
    """The objects of a list; whatever else stands in it is passed over."""
    for element in as_list(value):
        if isinstance(element, dict):
            yield element


def rest(value: JsonObject, *known: str) -> JsonObject:
    """The fields a reader has no place for, kept as `extra`. Nulls say nothing and are left out."""
    return {key: field for key, field in value.items() if key not in known and field is not None}


def with_fields(fields: JsonObject, **more: JsonValue) -> JsonObject:
    """The fields and those of the others that say something."""
    return {**fields, **{key: value for key, value in more.items() if value not in (None, {}, [])}}

"""Attributes of spans are named by dotted paths: written flat (`a.0.b`), nested, or a mixture of both, and found in any."""

from pydantic import JsonValue

from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import as_list, as_object, objects
from stepjudge.value import JsonObject

_MAX_PARTS = 24


def attribute(attributes: JsonObject, name: str) -> JsonValue:
    """The value of that name; null where there is none."""
    if name in attributes:
        return attributes[name]
    parts = name.split(".")
    for end in range(1, len(parts)):
        holder = attributes.get(".".join(parts[:end]))
        if isinstance(holder, dict):
            found = attribute(holder, ".".join(parts[end:]))
            if found is not None:
                return found
    return None


def first_attribute(attributes: JsonObject, *names: str) -> JsonValue:
    return next((found for name in names if (found := attribute(attributes, name)) is not None), None)


def structured(value: JsonValue) -> JsonValue:
    """What an attribute carries, since structured values may be written as JSON text."""
    if not isinstance(value, str):
        return value
    parsed = parse_embedded(value)
    return parsed.value if parsed is not None else None


def listed(attributes: JsonObject, name: str) -> list[JsonObject]:
    """The objects of a list, which may be one attribute or spread over `name.0.…`, `name.1.…`."""
    whole = attribute(attributes, name)
    if isinstance(whole, list):
        return [expanded(each) for each in objects(whole)]
    if isinstance(whole, dict):
        return list(objects(_as_list(expanded(whole))))
    prefix = f"{name}."
    spread = {key.removeprefix(prefix): each for key, each in attributes.items() if key.startswith(prefix)}
    return list(objects(_as_list(expanded(spread))))


def expanded(value: JsonObject) -> JsonObject:
    """Dotted keys become objects, and objects whose keys are all numbers become lists. Values stay as they are."""
    if not any("." in key for key in value):
        return {key: _elements(each) for key, each in value.items()}
    grown: JsonObject = {}
    for key, each in value.items():
        *path, last = key.split(".", _MAX_PARTS)
        holder = grown
        for part in path:
            holder = as_object(holder.setdefault(part, {}))
        holder[last] = _elements(each)
    return {key: _grown(each, 0) for key, each in grown.items()}


def _elements(value: JsonValue) -> JsonValue:
    """Data frames have lists of objects with dotted keys."""
    if isinstance(value, list) and any("." in key for each in objects(value) for key in each):
        return [expanded(each) if isinstance(each, dict) else each for each in value]
    return value


def _grown(value: JsonValue, level: int) -> JsonValue:
    if not isinstance(value, dict) or level > _MAX_PARTS:
        return value
    inner: JsonObject = {key: _grown(each, level + 1) for key, each in value.items()}
    return _as_list(inner) or inner


def _as_list(value: JsonObject) -> list[JsonValue]:
    """In the order of the numbers; empty when the keys are no numbers."""
    if not value or not all(key.isascii() and key.isdecimal() and len(key) < 10 for key in value):
        return []
    return as_list([value[key] for key in sorted(value, key=int)])

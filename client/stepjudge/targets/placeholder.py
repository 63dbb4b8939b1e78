"""A placeholder `{{ inputs.question }}` stands in a request for a value of the assignment; a path picks from a reply."""

import json
import re
from collections.abc import Sequence

from pydantic import JsonValue

from stepjudge.targets.target import BadTarget
from stepjudge.value import JsonObject

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}\s]+)\s*\}\}")


class Nothing(BadTarget):
    """A path leads nowhere."""


def filled(template: JsonValue, values: JsonObject) -> JsonValue:
    """The template with its placeholders filled in. One that is all of a text becomes the value itself, of its type.

    A value that was filled in is not looked at again: what stands in a task's inputs is never a placeholder.
    """
    if isinstance(template, str):
        if whole := _PLACEHOLDER.fullmatch(template.strip()):
            return picked(values, whole[1])
        return _PLACEHOLDER.sub(lambda found: _text(picked(values, found[1])), template)
    if isinstance(template, list):
        return [filled(each, values) for each in template]
    if isinstance(template, dict):
        return {key: filled(each, values) for key, each in template.items()}
    return template


def picked(document: JsonValue, path: str) -> JsonValue:
    """The value at a path such as `choices.0.message.content`. Raises Nothing when it leads nowhere."""
    value = document
    parts = path.split(".")
    for number, part in enumerate(parts, start=1):
        value = _inside(value, part, parts[:number])
    return value


def _inside(value: JsonValue, part: str, walked: Sequence[str]) -> JsonValue:
    if isinstance(value, dict) and part in value:
        return value[part]
    if isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(value):
        return value[int(part)]
    if isinstance(value, dict):
        there = f"the keys there are {', '.join(list(value)[:10]) or 'none'}"
    else:
        there = f"there is a {type(value).__name__} before it"
    raise Nothing(f"nothing stands at {'.'.join(walked)!r}: {there}")


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

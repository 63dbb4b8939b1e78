"""Claude Code messages: what stands in the entries of an emission, and what a result's text says of a refused call."""

from pydantic import JsonValue

from stepjudge.formats.reading.shape import as_object, as_text
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import ErrorKind, Usage
from stepjudge.value import JsonObject

_REFUSED = "<tool_use_error>"


def parts_of(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [content] if content not in (None, "") else []


def is_apart(part: JsonObject) -> bool:
    kind = as_text(part.get("type"))
    return "thinking" in kind or kind.endswith(("tool_use", "_tool_result"))


def usage_of(group: list[JsonObject]) -> Usage | None:
    """The last entry's: earlier ones were written before the answer was complete."""
    stated = next((found for entry in reversed(group) if (found := as_object(entry.get("message")).get("usage"))), None)
    return read_usage(stated or {}, cost=group[-1].get("costUSD"))


def error_kind_of(text: str) -> ErrorKind | None:
    """Claude Code marks calls that it did not run, and begins with why."""
    refusal = text.removeprefix(_REFUSED).removeprefix("Error: ")
    if refusal == text:
        return None
    if refusal.startswith("No such tool available"):
        return "unknown_tool"
    return "bad_arguments" if refusal.startswith("InputValidationError") else None

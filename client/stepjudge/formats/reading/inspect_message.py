"""An Inspect message is a chat message with its tool's name and error; long values are kept once, and pointed to."""

import re

from pydantic import JsonValue

from stepjudge.formats.reading.chat_message import role_of
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.emission import Asked, Said
from stepjudge.formats.reading.limits import MAX_DEPTH
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import ArgumentsState, Call, ErrorKind, Usage
from stepjudge.value import JsonObject

_SCHEMES = ("attachment://", "tc://")
_KINDS: dict[str, ErrorKind] = {"parsing": "bad_arguments", "timeout": "timeout"}
_EMITTED = re.compile(r"\AError parsing the following tool call arguments:\n\n(.*)\n\nError details: ", re.DOTALL)


class Attachments:
    """The long values of a sample. Older logs keep them in the transcript."""

    def __init__(self, sample: JsonObject) -> None:
        transcript = as_object(sample.get("transcript"))
        self._kept = {**as_object(transcript.get("content")), **as_object(sample.get("attachments"))}

    def resolved(self, value: JsonValue, level: int = 0) -> JsonValue:
        match value:
            case str() if value.startswith(_SCHEMES):
                return self._kept.get(value.partition("://")[2], value)
            case list() if level < MAX_DEPTH:
                return [self.resolved(each, level + 1) for each in value]
            case dict() if level < MAX_DEPTH:
                return {key: self.resolved(each, level + 1) for key, each in value.items()}
            case _:
                return value


def inspect_message(message: JsonObject) -> Said:
    content, reasoning = _content(message.get("content"))
    role = role_of(message.get("role"))
    error = as_object(message.get("error"))
    if error:
        content = Content("\n".join(filter(None, (content.text, _unsaid(error, content)))), content.attachments)
    return Said(
        role=role,
        content=content,
        calls=tuple(
            Asked(as_text(each.get("function")), each.get("arguments"), identifier(each.get("id")))
            for each in objects(message.get("tool_calls"))
        ),
        reasoning=reasoning,
        call_id=identifier(message.get("tool_call_id")),
        name=text_or_none(message.get("function")),
        is_error=bool(error) if role == "tool" else None,
    )


def _unsaid(error: JsonObject, content: Content) -> str:
    """The text that the model saw stands in the error only."""
    said = as_text(error.get("message"))
    return "" if said in content.text else said


def _content(value: JsonValue) -> tuple[Content, str]:
    if not isinstance(value, list):
        return read_content(value), ""
    thoughts = [part for part in objects(value) if part.get("type") == "reasoning"]
    spoken: list[JsonValue] = [part for part in value if as_object(part).get("type") != "reasoning"]
    reasoning = (as_text(part.get("reasoning")) or as_text(part.get("summary")) for part in thoughts)
    return read_content([_part(part) for part in spoken]), "\n".join(each for each in reasoning if each)


def _part(part: JsonValue) -> JsonValue:
    """An image stands under the name of its kind, as an address or as a data URI."""
    inner = as_object(part)
    kind = as_text(inner.get("type"))
    address = inner.get(kind)
    return {**inner, "source": address} if kind in ("image", "audio", "video", "document") and address else part


def error_kind(said: Said, message: JsonObject) -> ErrorKind | None:
    error = as_object(message.get("error"))
    if as_text(error.get("message")).startswith(f"Tool {said.name} not found"):
        return "unknown_tool"
    return _KINDS.get(as_text(error.get("type")), "tool_error") if error else None


def calls_of(draft: Draft, message: JsonObject) -> list[Call]:
    """Arguments that were no JSON are empty here, and stand in the parse error."""
    calls: list[Call] = []
    for each in objects(message.get("tool_calls")):
        arguments, state = _arguments(each)
        calls.append(
            draft.call(
                as_text(each.get("function")),
                arguments,
                id=identifier(each.get("id")),
                state=state,
                extra={"parse_error": each["parse_error"]} if each.get("parse_error") else None,
            )
        )
    return calls


def _arguments(call: JsonObject) -> tuple[JsonValue, ArgumentsState | None]:
    arguments, error = call.get("arguments"), as_text(call.get("parse_error"))
    if not error or arguments:
        return arguments, None
    emitted = _EMITTED.match(error)
    return (emitted.group(1), "unparsed") if emitted else (None, "elided")


def inspect_usage(usage: JsonValue) -> Usage | None:
    """Inspect counts what was read from or written to a cache apart from the input."""
    stated = as_object(usage)
    counted = {
        "input_tokens": stated.get("input_tokens"),
        "output_tokens": stated.get("output_tokens"),
        "cache_read_input_tokens": stated.get("input_tokens_cache_read"),
        "cache_creation_input_tokens": stated.get("input_tokens_cache_write"),
    }
    return read_usage({key: each for key, each in counted.items() if each is not None}, cost=stated.get("total_cost"))


def output_message(event: JsonObject) -> JsonObject:
    """What the model said in a model event."""
    choices = as_list(as_object(event.get("output")).get("choices"))
    return as_object(as_object(choices[0]).get("message")) if choices else {}

"""Model input and output are what a client of a provider sent and got: a tracer that wraps it keeps both as they were.

Read are the bodies of OpenAI's chat and Responses, of Anthropic's messages, and what LangChain hands to its models.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import JsonValue

from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Asked, Said
from stepjudge.formats.reading.langchain_message import message_in
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects
from stepjudge.value import JsonObject

_INSTRUCTIONS = ("system", "instructions")


def given_in(inputs: JsonValue) -> Iterator[Said]:
    """The messages that a model was given."""
    body = as_object(inputs)
    for name in _INSTRUCTIONS:
        if body.get(name):
            yield Said("system", read_content(body[name]))
    if body.get("input") is not None:
        yield from _items(body["input"])
        return
    messages = body.get("messages", body.get("prompt", inputs))
    yield from ([Said("user", Content(messages))] if isinstance(messages, str) else _messages(as_list(messages)))


def said_in(outputs: JsonValue) -> Said | None:
    """What the model then said; null where that cannot be told."""
    body = as_object(outputs)
    message = outputs
    while isinstance(message, list):
        message = message[0] if message else None
    if "output" in body:
        said = list(_items(body["output"]))
    elif isinstance(message, str):
        said = [Said("assistant", Content(message))]
    else:
        said = list(_messages([_message(as_object(message))]))
    return replace(said[0], role="assistant") if said else None


def _message(body: JsonObject) -> JsonValue:
    """The one message in a response, of the first choice where there are several."""
    for name in ("choices", "generations"):
        value: JsonValue = body.get(name)
        while isinstance(value, list):
            value = value[0] if value else None
        if value is not None:
            return as_object(value).get("message") or {"role": "assistant", "content": as_object(value).get("text")}
    inner = body.get("message")
    messages = as_list(body.get("messages"))
    return inner if isinstance(inner, dict) else messages[-1] if messages else body


def _messages(values: Iterable[JsonValue]) -> Iterator[Said]:
    for value in values:
        if isinstance(value, list) and message_in(value) is None:
            yield from _messages(value)  # LangChain's batches
            continue
        parts = objects(as_object(value).get("content"))
        results = [each for each in parts if each.get("type") == "tool_result"]
        for each in results:
            is_error = each.get("is_error")
            yield Said(
                "tool",
                read_content(each.get("content")),
                call_id=identifier(each.get("tool_use_id")),
                is_error=is_error if isinstance(is_error, bool) else None,
            )
        said = None if results and len(results) == len(as_list(as_object(value).get("content"))) else message_in(value)
        if said is not None:
            yield said


def _items(value: JsonValue) -> Iterator[Said]:
    """Items of the Responses API, with what one emission holds joined into one message."""
    if isinstance(value, str):
        yield Said("user", Content(value))
        return
    open_emission: Said | None = None
    for item in objects(value):
        said = _item(item)
        if said.role == "assistant":
            open_emission = said if open_emission is None else _joined(open_emission, said)
            continue
        if open_emission is not None:
            yield open_emission
            open_emission = None
        yield said
    if open_emission is not None:
        yield open_emission


def _item(item: JsonObject) -> Said:
    match as_text(item.get("type")):
        case "function_call":
            call = Asked(as_text(item.get("name")), item.get("arguments"), identifier(item.get("call_id")))
            return Said("assistant", calls=(call,))
        case "function_call_output":
            return Said("tool", read_content(item.get("output")), call_id=identifier(item.get("call_id")))
        case "reasoning":
            summary = "\n".join(as_text(each.get("text")) for each in objects(item.get("summary")))
            return Said("assistant", reasoning=summary)
        case _:
            return message_in(item) or Said("other", read_content(item))


def _joined(first: Said, second: Said) -> Said:
    texts = [each.content.text for each in (first, second) if each.content.text]
    attachments = (*first.content.attachments, *second.content.attachments)
    thoughts = [each.reasoning for each in (first, second) if each.reasoning]
    return Said(
        "assistant",
        Content("\n".join(texts), attachments),
        calls=(*first.calls, *second.calls),
        reasoning="\n".join(thoughts),
    )

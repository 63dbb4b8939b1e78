"""A streamed message of Anthropic comes in events: the start of a message, the pieces of its blocks, and its end."""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import as_count, as_object, as_text
from stepjudge.value import JsonObject

_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def gathered(body: str) -> JsonObject:
    """The message in the body, sent whole or streamed; empty when the body is neither."""
    whole = _object(body)
    if whole:
        return whole
    message: JsonObject = {}
    blocks: dict[int, JsonObject] = {}
    for event in _events(body):
        match event.get("type"):
            case "message_start":
                message = dict(as_object(event.get("message")))
            case "content_block_start":
                blocks[as_count(event.get("index")) or 0] = dict(as_object(event.get("content_block")))
            case "content_block_delta":
                _add(blocks.setdefault(as_count(event.get("index")) or 0, {}), as_object(event.get("delta")))
            case "message_delta":
                usage = {**as_object(message.get("usage")), **as_object(event.get("usage"))}
                message |= {**as_object(event.get("delta")), "usage": usage}
            case _:
                pass
    if not message and not blocks:
        return {}
    content: list[JsonValue] = [_closed(blocks[index]) for index in sorted(blocks)]
    return {"type": "message", "role": "assistant", **message, "content": content}


def _events(body: str) -> Iterator[JsonObject]:
    for line in body.splitlines():
        if line.startswith("data:"):
            yield _object(line.removeprefix("data:").strip())


def _object(text: str) -> JsonObject:
    parsed = parse_embedded(text)
    return as_object(parsed.value) if parsed is not None else {}


def _add(block: JsonObject, delta: JsonObject) -> None:
    key = _PIECES.get(as_text(delta.get("type")))
    if key is not None:
        block[key] = as_text(block.get(key)) + as_text(delta.get(key))


def _closed(block: JsonObject) -> JsonObject:
    """The input of a tool arrives as pieces of JSON; when the stream was cut they stay text, which is no object."""
    pieces = block.pop("partial_json", None)
    return {**block, "input": pieces} if pieces else block

"""A streamed response is a chat completion in pieces: its chunks, sent as server-sent events, add up to one."""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import as_count, as_object, as_text, objects
from stepjudge.value import JsonObject


def gathered(body: str) -> JsonObject:
    """The response in the body, sent whole or streamed; empty when the body is neither."""
    whole = _object(body)
    if whole:
        return whole
    response: JsonObject = {}
    message: JsonObject = {"role": "assistant"}
    calls: dict[int, JsonObject] = {}
    for chunk in _chunks(body):
        response |= {key: chunk[key] for key in ("id", "model", "usage") if chunk.get(key) is not None}
        for choice in objects(chunk.get("choices")):
            if not as_count(choice.get("index")):
                _add(message, calls, as_object(choice.get("delta")))
    if not response:
        return {}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {**response, "choices": [{"message": message}]}


def _chunks(body: str) -> Iterator[JsonObject]:
    for line in body.splitlines():
        if line.startswith("data:"):
            yield _object(line.removeprefix("data:").strip())


def _object(text: str) -> JsonObject:
    parsed = parse_embedded(text)
    return as_object(parsed.value) if parsed is not None else {}


def _add(message: JsonObject, calls: dict[int, JsonObject], delta: JsonObject) -> None:
    for key in ("content", "refusal", "reasoning", "reasoning_content"):
        _append(message, key, delta.get(key))
    for piece in objects(delta.get("tool_calls")):
        index = as_count(piece.get("index")) or 0
        call = calls.setdefault(index, {"function": {"arguments": ""}})
        if piece.get("id"):
            call["id"] = piece["id"]
        function = as_object(call["function"])
        for key in ("name", "arguments"):
            _append(function, key, as_object(piece.get("function")).get(key))


def _append(holder: JsonObject, key: str, piece: JsonValue) -> None:
    if isinstance(piece, str) and piece:
        holder[key] = as_text(holder.get(key)) + piece

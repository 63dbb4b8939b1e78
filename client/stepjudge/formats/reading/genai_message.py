"""A GenAI message is a role with parts, as OpenTelemetry's conventions have it since 1.37; before, it was a span event."""

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.attributes import attribute, expanded, listed, structured
from stepjudge.formats.reading.chat_message import chat_message, role_of
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Asked, Said
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.spans import Event
from stepjudge.value import JsonObject

_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_RESPONSES = ("tool_call_response", "server_tool_call_response", "tool_result")
_REQUESTS = ("tool_call", "server_tool_call", "tool_use")
_THOUGHTS = ("reasoning", "thinking")


def messages_of(value: JsonValue) -> list[Said]:
    """Of `gen_ai.input.messages` and the like, structured or as JSON text."""
    found = structured(value)
    return [said for each in objects(found if isinstance(found, list) else [found]) for said in parts_message(each)]


def instructions_of(value: JsonValue) -> list[Said]:
    """Of `gen_ai.system_instructions`: parts, or plain text."""
    found = structured(value)
    if isinstance(found, list):
        return [Said("system", _content(objects(found)))]
    return [Said("system", read_content(value))] if value else []


def parts_message(message: JsonObject) -> Iterator[Said]:
    """One message; those that answer several calls become one for each."""
    if "parts" not in message:
        yield chat_message({**message, "tool_calls": _calls(message)})
        return
    parts = list(objects(message.get("parts")))
    answers = [each for each in parts if each.get("type") in _RESPONSES]
    for each in answers:
        found = next((each[key] for key in ("response", "result", "content") if key in each), None)
        yield Said("tool", read_content(found), call_id=identifier(each.get("id")), name=text_or_none(each.get("name")))
    rest = [each for each in parts if each.get("type") not in _RESPONSES]
    if not rest and answers:
        return
    thoughts = [as_text(each.get("content")) for each in rest if each.get("type") in _THOUGHTS]
    yield Said(
        role=role_of(message.get("role")),
        content=_content(each for each in rest if each.get("type") not in (*_REQUESTS, *_THOUGHTS)),
        calls=tuple(
            Asked(as_text(each.get("name")), each.get("arguments", each.get("input")), identifier(each.get("id")))
            for each in rest
            if each.get("type") in _REQUESTS
        ),
        reasoning="\n".join(each for each in thoughts if each),
        name=text_or_none(message.get("name")),
    )


def _content(parts: Iterable[JsonObject]) -> Content:
    return read_content([_part(each) for each in parts])


def _part(part: JsonObject) -> JsonValue:
    """The conventions keep text under `content`, and say of data which modality it is."""
    match part:
        case {"type": "blob" | "uri" | "file"}:
            known = {key: part.get(key) for key in ("mime_type", "uri", "file_id")}
            return {
                "type": as_text(part.get("modality")) or "file",
                **known,
                "data": part.get("content", part.get("data")),
            }
        case {"content": str(text)}:
            return {"type": "text", "text": text}
        case _:
            return part


def from_events(events: Iterable[Event]) -> tuple[list[Said], list[Said]]:
    """What a model was given and what it said, told by events: conventions 1.28 to 1.36 and their forerunners."""
    given: list[Said] = []
    said: list[Said] = []
    for event in events:
        body = _body(event.attributes)
        if event.name == "gen_ai.choice":
            inner = structured(body.get("message"))
            message = as_object(inner) or {**body, "content": body.get("message", body.get("content"))}
            said += parts_message({**_flat(message), "role": "assistant"})
        elif event.name in _EVENT_ROLES:
            given += parts_message({"role": _EVENT_ROLES[event.name], **_flat(body)})
        else:
            given += messages_of(attribute(event.attributes, "gen_ai.input.messages"))
            said += messages_of(attribute(event.attributes, "gen_ai.output.messages"))
            given += messages_of(attribute(event.attributes, "gen_ai.prompt"))
            said += messages_of(attribute(event.attributes, "gen_ai.completion"))
    return given, said


def _body(attributes: JsonObject) -> JsonObject:
    """The event's fields stand in its attributes, or in one of them as JSON text."""
    return as_object(structured(attributes.get("gen_ai.event.content"))) or expanded(attributes)


def _flat(body: JsonObject) -> JsonObject:
    """Calls and content may be JSON text again."""
    calls = structured(body.get("tool_calls"))
    blocks = structured(body.get("content"))
    told: JsonObject = {**body, "tool_calls": calls, "tool_call_id": body.get("tool_call_id", body.get("id"))}
    if isinstance(blocks, list) and blocks and all("text" in each or "toolUse" in each for each in objects(blocks)):
        told["content"] = [each for each in objects(blocks) if "text" in each]
        told["tool_calls"] = as_list(calls) + [
            _use(as_object(each["toolUse"])) for each in objects(blocks) if "toolUse" in each
        ]
    return told


def _use(block: JsonObject) -> JsonObject:
    """A call as Bedrock spells it."""
    return {"id": block.get("toolUseId"), "name": block.get("name"), "arguments": block.get("input")}


def _calls(message: JsonObject) -> JsonValue:
    calls = message.get("tool_calls")
    return structured(calls) if isinstance(calls, str) else calls


def spread_messages(attributes: JsonObject, name: str) -> list[Said]:
    """Of `gen_ai.prompt.0.role` and so on: OpenLLMetry and conventions before 1.28. Content may be parts as JSON text."""
    found = listed(attributes, name)
    return [said for each in found for said in parts_message({**each, "content": _blocks(each.get("content"))})]


def _blocks(content: JsonValue) -> JsonValue:
    parts = structured(content) if isinstance(content, str) and content.lstrip().startswith("[{") else None
    is_parts = isinstance(parts, list) and all(isinstance(as_object(each).get("type"), str) for each in parts)
    return parts if is_parts else content

"""A chat message is a role with content and calls, as OpenAI's API spells it and as many logs write it with small changes."""

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.emission import Asked, Said
from stepjudge.formats.reading.shape import as_object, as_text, identifier, objects, text_or_none
from stepjudge.trace import Role
from stepjudge.value import JsonObject

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


def role_of(name: JsonValue) -> Role:
    return _ROLES.get(as_text(name).lower(), "other")


def chat_message(message: JsonObject) -> Said:
    return Said(
        role=role_of(message.get("role")),
        content=read_content(message.get("content")),
        calls=tuple(asked(each) for each in objects(message.get("tool_calls")))
        + tuple(asked(each) for each in (as_object(message.get("function_call")),) if each),
        reasoning=read_content(message.get("reasoning_content") or message.get("reasoning")).text,
        call_id=identifier(message.get("tool_call_id")),
        name=text_or_none(message.get("name")),
    )


def asked(call: JsonObject) -> Asked:
    """With the function in an object of its own, or flat."""
    inner = as_object(call.get("function")) or call
    return Asked(
        name=as_text(inner.get("name")) or as_text(call.get("name")),
        arguments=inner.get("arguments", inner.get("args")),
        id=identifier(call.get("id")) or identifier(call.get("tool_call_id")),
    )

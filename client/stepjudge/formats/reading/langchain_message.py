"""A LangChain message is written in three shapes: by `messages_to_dict`, by `dumpd`, and by `model_dump`."""

from pydantic import JsonValue

from stepjudge.formats.reading.chat_message import chat_message, role_of
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Asked, Said
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Role, Usage
from stepjudge.value import JsonObject

_TYPES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "developer": "system",
}
_CHUNK = "messagechunk"
_OF_CALLS = ("tool_use", "tool_call", "invalid_tool_call", "tool_call_chunk", "function_call", "input_json_delta")
_OF_REASONING = ("thinking", "reasoning", "redacted_thinking")
_SAYS = ("content", "tool_calls", "additional_kwargs", "response_metadata", "tool_call_id")


def fields_of(value: JsonValue) -> JsonObject | None:
    """The fields of the message, with its `type`, from any of the shapes; null when it is none."""
    outer = as_object(value)
    kind = as_text(outer.get("type"))
    if kind == "constructor" and isinstance(outer.get("kwargs"), dict):
        name = as_text((as_list(outer.get("id")) or [None])[-1])
        inner = as_object(outer["kwargs"])
        kind = as_text(inner.get("type")) or name.removesuffix("Chunk").removesuffix("Message").lower()
        return {**inner, "type": kind} if name.endswith(("Message", "MessageChunk")) else None
    if isinstance(outer.get("data"), dict) and _is_type(kind):
        return {**as_object(outer["data"]), "type": kind}
    return outer if _is_type(kind) and "role" not in outer and any(key in outer for key in _SAYS) else None


def _is_type(kind: str) -> bool:
    return kind in (*_TYPES, "chat", "remove") or kind.lower().endswith(_CHUNK)


def langchain_message(fields: JsonObject) -> Said:
    kind = as_text(fields.get("type")).lower().removesuffix(_CHUNK)
    role = role_of(fields.get("role")) if kind == "chat" else _TYPES.get(kind, "other")
    said, reasoning = _content(fields.get("content"))
    more = as_object(fields.get("additional_kwargs"))
    status = fields.get("status")
    return Said(
        role=role,
        content=said,
        calls=_calls(fields),
        reasoning=reasoning or as_text(more.get("reasoning_content")),
        call_id=identifier(fields.get("tool_call_id")),
        name=text_or_none(fields.get("name")),
        is_error=status == "error" if status in ("error", "success") else None,
    )


def message_in(value: JsonValue) -> Said | None:
    """A message of LangChain or of OpenAI, which are mixed in its logs; a pair of role and content counts as one."""
    fields = fields_of(value)
    if fields is not None:
        return langchain_message(fields)
    match value:
        case {"role": str(role), "content": list(parts)} if any(
            as_object(part).get("type") in _OF_CALLS for part in parts
        ):
            return langchain_message({**as_object(value), "type": "chat", "role": role})
        case {"role": str()}:
            return chat_message(as_object(value))
        case [str(role), str() | list() as content] if role_of(role) != "other":
            return chat_message({"role": role, "content": content})
        case _:
            return None


def usage_of(fields: JsonObject) -> Usage | None:
    stated = as_object(fields.get("usage_metadata"))
    details = as_object(stated.get("input_token_details"))
    usage = read_usage({**stated, "cached_tokens": details.get("cache_read")} if stated else None)
    metadata = as_object(fields.get("response_metadata"))
    return usage or read_usage(metadata.get("token_usage")) or read_usage(metadata.get("usage"))


def model_of(fields: JsonObject) -> str | None:
    metadata = as_object(fields.get("response_metadata"))
    return text_or_none(metadata.get("model_name")) or text_or_none(metadata.get("model"))


def _content(value: JsonValue) -> tuple[Content, str]:
    """Calls stand in the content again where the provider writes them there: they are read from `tool_calls` only."""
    if not isinstance(value, list):
        return read_content(value), ""
    kinds = [as_text(as_object(part).get("type")) for part in value]
    spoken: list[JsonValue] = [
        part for part, kind in zip(value, kinds, strict=True) if kind not in (*_OF_CALLS, *_OF_REASONING)
    ]
    thoughts = [as_object(part) for part, kind in zip(value, kinds, strict=True) if kind in _OF_REASONING]
    reasoning = (as_text(each.get("thinking")) or as_text(each.get("reasoning")) or _summary(each) for each in thoughts)
    return read_content(spoken), "\n".join(each for each in reasoning if each)


def _summary(thought: JsonObject) -> str:
    return "\n".join(as_text(each.get("text")) for each in objects(thought.get("summary")))


def _calls(fields: JsonObject) -> tuple[Asked, ...]:
    """Those that parsed and those that did not, in the order of the provider's own list where that is kept."""
    calls = [
        Asked(as_text(each.get("name")), each.get("args"), identifier(each.get("id")))
        for key in ("tool_calls", "invalid_tool_calls")
        for each in objects(fields.get(key))
    ]
    as_openai = as_object(fields.get("additional_kwargs"))
    blocks = [part for part in objects(fields.get("content")) if part.get("type") in _OF_CALLS]
    if not calls:
        kept = chat_message({key: as_openai.get(key) for key in ("tool_calls", "function_call")}).calls
        return kept or tuple(
            Asked(as_text(each.get("name")), each.get("input", each.get("args")), identifier(each.get("id")))
            for each in blocks
        )
    own = [*objects(as_openai.get("tool_calls")), *blocks]
    order = {identifier(each.get("id")): place for place, each in reversed(list(enumerate(own)))}
    return tuple(sorted(calls, key=lambda each: order.get(each.id, len(own)) if each.id else len(own)))

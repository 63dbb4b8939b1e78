"""LangChain and LangGraph messages, from langchain-core 0.1 to 1.x: human, ai, tool and system messages.

Specification: langchain-core, `messages_to_dict`, `dumpd` and `BaseMessage.model_dump`. Read are a list of messages in
any of the three shapes, and the states of LangGraph that hold one: `{"messages": …}`, `{"values": {"messages": …}}` and
`{"channel_values": {"messages": …}}`.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.langchain_message import fields_of, langchain_message, message_in, model_of, usage_of
from stepjudge.formats.reading.shape import as_list, as_object, identifier, rest, text_or_none, with_fields
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_NAME = "langchain"
_LOOKED_AT = 20
_STATES = ("values", "channel_values")
_IN_STEP = (
    "type",
    "content",
    "name",
    "tool_calls",
    "invalid_tool_calls",
    "additional_kwargs",
    "usage_metadata",
    "response_metadata",
    "tool_call_chunks",
    "example",
)
_OWN = ("additional_kwargs", "response_metadata", "usage_metadata", "invalid_tool_calls")


def detect(document: JsonValue) -> Fit:
    head = _messages(document)[:_LOOKED_AT]
    found = [fields for each in head if (fields := fields_of(each)) is not None]
    if not head or len(found) < len(head):
        why = f"{len(found)} of its first {len(head)} messages are LangChain's"
        return Fit("near", why) if found else NO_FIT
    wrapped = any("kwargs" in as_object(each) or "data" in as_object(each) for each in head)
    return Fit("certain" if wrapped or any(key in each for each in found for key in _OWN) else "likely")


def _messages(document: JsonValue) -> list[JsonValue]:
    if isinstance(document, list):
        return document
    outer = as_object(document)
    holders = (outer, *(as_object(outer.get(key)) for key in _STATES))
    return next((found for each in holders if (found := as_list(each.get("messages")))), as_list(None))


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    draft = Draft(_NAME)
    for value in _messages(document):
        fields = fields_of(value)
        if fields is not None and fields.get("type") == "remove":
            draft.note("a message says that others were removed: they are in the trace if the document has them")
        elif fields is not None:
            _tell(draft, fields)
        else:
            _tell_other(draft, value)
    outer = as_object(document)
    configured = as_object(as_object(outer.get("config")).get("configurable"))
    yield draft.build(
        trace_id=identifier(configured.get("thread_id")) or identifier(outer.get("thread_id")),
        extra=rest(outer, "messages", *_STATES),
    )


def _tell(draft: Draft, fields: JsonObject) -> None:
    said = langchain_message(fields)
    match said.role:
        case "assistant":
            more = as_object(fields.get("additional_kwargs"))
            draft.step(
                said.content,
                calls=[draft.call(each.name, each.arguments, id=each.id) for each in said.calls],
                reasoning=said.reasoning,
                agent=said.name,
                model=model_of(fields),
                usage=usage_of(fields),
                extra=with_fields(
                    rest(fields, *_IN_STEP),
                    response_metadata=rest(as_object(fields.get("response_metadata")), "model_name", "token_usage"),
                    additional_kwargs=rest(more, "tool_calls", "function_call", "reasoning_content"),
                ),
            )
        case "tool":
            if fields.get("artifact") is not None:
                draft.note("the artifact of a tool message, which the model did not see, was left out")
            draft.result(said.content, id=said.call_id, name=said.name, is_error=said.is_error)
        case role:
            draft.message(role, said.content, name=said.name)


def _tell_other(draft: Draft, value: JsonValue) -> None:
    draft.note("an entry of the messages is no message of LangChain")
    said = message_in(value)
    if said is None:
        draft.message("other", value)
    elif said.role == "tool":
        draft.result(said.content, id=said.call_id, name=said.name)
    elif said.role == "assistant":
        draft.step(
            said.content,
            calls=[draft.call(each.name, each.arguments, id=each.id) for each in said.calls],
            agent=said.name,
        )
    else:
        draft.message(said.role, said.content, name=text_or_none(said.name))


FORMAT = Format(
    name=_NAME,
    title="LangChain messages (messages_to_dict, dumpd, model_dump) and LangGraph states",
    detect=detect,
    read=read,
)

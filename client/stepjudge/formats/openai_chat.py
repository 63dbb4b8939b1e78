"""OpenAI chat completions: messages with roles, tool calls with string arguments, and their legacy spelling.

Specification: the OpenAI API reference, "Chat completions" (message objects, `tools`, `functions`, `usage`). Read are a
list of messages, an object with `messages` (a request, or a row of a data set), and a recorded pair of request and
response, whether the response came whole or streamed.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import Content, compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.openai_stream import gathered
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, rest, text_or_none
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Call, Trace, Usage
from stepjudge.value import JsonObject

_NAME = "openai-chat"
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_LOOKED_AT = 50
_IN_TRACE = ("messages", "tools", "functions", "request", "response", "model", "usage", "cost", "trace_id", "id")
_IN_STEP = (
    "role",
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning",
    "reasoning_content",
    "audio",
    "name",
)


def detect(document: JsonValue) -> Fit:
    head = _messages(document)[:_LOOKED_AT]
    if not head:
        outer = as_object(document)
        if outer.get("messages") == []:
            return Fit("possible")  # a chat in which nothing was said: its reader says so better than "unknown format"
        return Fit("likely") if outer.get("object") == "chat.completion" else NO_FIT
    roles = [as_object(each).get("role") for each in head]
    strange = next((index for index, role in enumerate(roles) if role not in _ROLES), None)
    if strange is not None:
        known = any(role in _ROLES for role in roles)
        why = f"messages[{strange}] has the role {roles[strange]!r}, not one of {', '.join(_ROLES)}"
        return Fit("near", why) if known else NO_FIT
    return Fit("likely" if any(_is_of_openai(as_object(each)) for each in head) else "possible")


def _is_of_openai(message: JsonObject) -> bool:
    functions = (as_object(each).get("function") for each in as_list(message.get("tool_calls")))
    return (
        any(isinstance(function, dict) for function in functions)
        or isinstance(message.get("function_call"), dict)
        or message.get("role") in ("tool", "function", "developer")
    )


def _messages(document: JsonValue) -> list[JsonValue]:
    if isinstance(document, list):
        return document
    outer = as_object(document)
    return as_list(outer.get("messages")) or as_list(as_object(outer.get("request")).get("messages"))


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    request = as_object(outer.get("request")) or outer
    response = _response(outer)
    draft = Draft(_NAME)
    for definition in (*as_list(request.get("tools")), *as_list(request.get("functions"))):
        draft.tool(definition)
    messages = _messages(document)
    reply = _reply(draft, response)
    if reply and not (messages and _says_the_same(as_object(messages[-1]), reply)):
        messages = [*messages, reply]
    usage = read_usage(response.get("usage"), cost=outer.get("cost"))
    for index, message in enumerate(messages):
        is_reply = bool(reply) and index == len(messages) - 1
        _tell(
            draft,
            message,
            index,
            usage if is_reply else None,
            text_or_none(response.get("model")) if is_reply else None,
        )
    yield draft.build(
        trace_id=identifier(outer.get("trace_id")) or (identifier(outer.get("id")) if outer is not response else None),
        model=text_or_none(request.get("model")) or text_or_none(response.get("model")),
        usage=None if response else read_usage(outer.get("usage"), cost=outer.get("cost")),
        extra=rest(outer, *_IN_TRACE) if outer is not response else None,
    )


def _response(outer: JsonObject) -> JsonObject:
    """A response as the API gave it, or as a recorder of HTTP traffic kept its body."""
    if "choices" in outer:
        return outer
    recorded = outer.get("response")
    response = as_object(recorded)
    body = recorded if isinstance(recorded, str) else response.get("string", response.get("body"))
    return gathered(body) if isinstance(body, str) else as_object(body) or response


def _reply(draft: Draft, response: JsonObject) -> JsonObject:
    choices = as_list(response.get("choices"))
    if len(choices) > 1:
        draft.note(f"of the {len(choices)} choices of the response the first was read")
    return as_object(as_object(choices[0]).get("message")) if choices else {}


def _says_the_same(message: JsonObject, reply: JsonObject) -> bool:
    return message.get("role") == "assistant" and all(
        (message.get(key) or None) == (reply.get(key) or None) for key in ("content", "tool_calls", "function_call")
    )


def _tell(draft: Draft, value: JsonValue, index: int, usage: Usage | None, model: str | None) -> None:
    message = as_object(value)
    name = text_or_none(message.get("name"))
    match message.get("role"):
        case "assistant":
            _tell_step(draft, message, usage, model)
        case "system" | "developer":
            draft.message("system", message.get("content"), name=name)
        case "user":
            draft.message("user", message.get("content"), name=name)
        case "tool" | "function":
            draft.result(message.get("content"), id=identifier(message.get("tool_call_id")), name=name)
        case role:
            draft.note(f"messages[{index}] has the role {role!r}, which OpenAI does not have")
            draft.message("other", message.get("content") if message else value, name=as_text(role) or name)


def _tell_step(draft: Draft, message: JsonObject, usage: Usage | None, model: str | None) -> None:
    said = read_content(message.get("content"))
    refusal = as_text(message.get("refusal"))
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    spoken = as_object(message.get("audio"))
    draft.step(
        Content(
            "\n".join(text for text in (said.text, refusal, as_text(spoken.get("transcript"))) if text),
            said.attachments + read_content({**spoken, "type": "audio"}).attachments if spoken else said.attachments,
        ),
        calls=_calls(draft, message),
        reasoning=read_content(reasoning).text,
        agent=text_or_none(message.get("name")),
        model=model,
        usage=usage or read_usage(message.get("usage")),
        extra=rest(message, *_IN_STEP),
    )


def _calls(draft: Draft, message: JsonObject) -> list[Call]:
    calls = [_call(draft, as_object(each)) for each in as_list(message.get("tool_calls")) if isinstance(each, dict)]
    if len(calls) < len(as_list(message.get("tool_calls"))):
        draft.note("an entry of tool_calls that is no object was left out")
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        calls.append(draft.call(as_text(legacy.get("name")), legacy.get("arguments")))
    return calls


def _call(draft: Draft, call: JsonObject) -> Call:
    id_ = identifier(call.get("id"))
    custom = call.get("custom")
    if isinstance(custom, dict):
        draft.note("the input of a custom tool is free text: it is carried as the argument `input`")
        return draft.call(as_text(custom.get("name")), {"input": custom.get("input")}, id=id_)
    function = as_object(call.get("function")) or call
    name = function.get("name")
    return draft.call(
        name if isinstance(name, str) else compact(name) if name else "", function.get("arguments"), id=id_
    )


FORMAT = Format(
    name=_NAME,
    title="OpenAI chat completions: messages, requests, recorded request and response",
    detect=detect,
    read=read,
)

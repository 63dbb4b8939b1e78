"""Anthropic messages: content blocks, of which `tool_use` is a call and `tool_result`, in a user's message, its result.

Specification: the Anthropic API reference, "Messages" (version 2023-06-01, with the server tools and the MCP connector of
2026). Read are a list of messages, a request, a response, and a recorded request with its response, whether the response
came whole or streamed. A result without `is_error` leaves it null: the API takes it for false, but most harnesses never
set it. Tools that ran at Anthropic have call and result in one message, which stays one step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from stepjudge.formats.reading.anthropic_stream import gathered
from stepjudge.formats.reading.content import compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import (
    as_bool,
    as_integer,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Call, Trace
from stepjudge.value import JsonObject

_NAME = "anthropic-messages"
_LOOKED_AT = 50
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_ROLES = ("user", "assistant", "system")
_IN_TRACE = ("messages", "system", "tools", "model", "request", "response", "trace_id", "id", "cost")
_IN_MESSAGE = ("role", "content", "type", "model", "usage", "id")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    response = _response(outer)
    if _is_response(response):
        return Fit("likely")
    head = [as_object(each) for each in _messages(document)[:_LOOKED_AT]]
    if not head or any(each.get("role") not in _ROLES for each in head) or any("parts" in each for each in head):
        return NO_FIT
    is_of_openai = any("tool_calls" in each or "function_call" in each for each in head)
    if any(_is_of_anthropic(block) for each in head for block in objects(each.get("content"))):
        return Fit("possible" if is_of_openai else "likely")
    tools = list(objects(_request(outer).get("tools")))
    if not is_of_openai and (any("input_schema" in tool for tool in tools) or _request(outer).get("system")):
        return Fit("likely")
    return NO_FIT


def _is_of_anthropic(block: JsonObject) -> bool:
    kind = as_text(block.get("type"))
    return (kind in _CALLS and "name" in block) or (kind.endswith("tool_result") and "tool_use_id" in block) or (
        kind == "thinking" and "thinking" in block
    )  # fmt: skip


def _is_response(message: JsonObject) -> bool:
    return message.get("type") == "message" and message.get("role") == "assistant" and "stop_reason" in message


def _request(outer: JsonObject) -> JsonObject:
    return as_object(outer.get("request")) or outer


def _messages(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(_request(as_object(document)).get("messages"))


def _response(outer: JsonObject) -> JsonObject:
    """A response as the API gave it, or as a recorder of HTTP traffic kept its body."""
    if _is_response(outer):
        return outer
    recorded = outer.get("response")
    response = as_object(recorded)
    body = recorded if isinstance(recorded, str) else response.get("string", response.get("body"))
    found = gathered(body) if isinstance(body, str) else as_object(body) or response
    return found if found.get("role") == "assistant" else {}


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    request, response = _request(outer), _response(outer)
    draft = Draft(_NAME)
    for definition in as_list(request.get("tools")):
        draft.tool(definition)
    draft.message("system", request.get("system"))
    messages = _messages(document)
    if response:
        messages = _with_reply(draft, messages, {**response, "cost": outer.get("cost")})
    for at, message in enumerate(messages):
        _tell(draft, message, at)
    yield draft.build(
        trace_id=identifier(outer.get("trace_id")) or identifier(outer.get("id")),
        model=text_or_none(request.get("model")) or text_or_none(response.get("model")),
        extra={}
        if outer is response
        else with_fields(rest(outer, *_IN_TRACE), request={} if request is outer else rest(request, *_IN_TRACE)),
    )


def _with_reply(draft: Draft, messages: list[JsonValue], reply: JsonObject) -> list[JsonValue]:
    """A log may hold the reply already. A request that ends with the assistant's words has it go on from there."""
    last = as_object(messages[-1]) if messages else {}
    if last.get("role") != "assistant":
        return [*messages, reply]
    blocks, more = _blocks(last.get("content")), _blocks(reply.get("content"))
    if blocks == more:
        return [*messages[:-1], reply]
    draft.note("the request ended with words put into the model's mouth: its reply goes on from them in one step")
    return [*messages[:-1], {**reply, "content": blocks + more}]


def _blocks(content: JsonValue) -> list[JsonValue]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


@dataclass
class _Parts:
    """The blocks of a message, by what they are."""

    said: list[JsonValue] = field(default_factory=list[JsonValue])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[Call] = field(default_factory=list[Call])
    results: list[JsonObject] = field(default_factory=list[JsonObject])


def _sorted(draft: Draft, content: JsonValue) -> _Parts:
    parts = _Parts()
    for value in _blocks(content):
        block = as_object(value)
        kind = as_text(block.get("type"))
        if kind in _CALLS:
            extra = rest(block, "type", "id", "name", "input")
            name, id = as_text(block.get("name")), identifier(block.get("id"))
            parts.calls.append(draft.call(name, block.get("input"), id=id, extra=extra))
        elif kind.endswith("tool_result"):
            parts.results.append(block)
        elif kind == "thinking":
            parts.thoughts.append(as_text(block.get("thinking")))
        elif kind == "redacted_thinking":
            draft.note("some of the model's reasoning is encrypted")
        else:
            parts.said.append(value)
        if block.get("citations"):
            draft.note("the citations of messages were left out")
    return parts


def _tell(draft: Draft, value: JsonValue, at: int) -> None:
    message = as_object(value)
    parts = _sorted(draft, message.get("content"))
    role = message.get("role")
    if role == "assistant":
        draft.step(
            read_content(parts.said),
            calls=parts.calls,
            reasoning="\n".join(text for text in parts.thoughts if text),
            model=text_or_none(message.get("model")),
            usage=read_usage(message.get("usage"), cost=message.get("cost")),
            extra=rest(message, *_IN_MESSAGE, "cost"),
        )
    for result in parts.results:
        _tell_result(draft, result)
    if role == "user" and (parts.said or not parts.results):
        # beside results stands what a harness adds to them: the exchange goes on
        draft.message("user", parts.said, opens_turn=False if parts.results else None)
    elif role == "system":
        draft.message("system", parts.said)
    elif role not in ("assistant", "user"):
        draft.note(f"messages[{at}] has the role {role!r}, which Anthropic does not have")
        draft.message("other", parts.said or (None if message else value), name=text_or_none(role))
    if role != "assistant" and (parts.calls or parts.thoughts):
        draft.note(f"messages[{at}] holds calls or thoughts, but is not the assistant's: they were left out")


def _tell_result(draft: Draft, block: JsonObject) -> None:
    """Tools that ran at Anthropic have a result type each, with their own errors and exit codes."""
    content, outcome = block.get("content"), as_object(block.get("content"))
    failed = as_text(outcome.get("type")).endswith("error")
    code = outcome.get("error_code")
    draft.result(
        content if isinstance(content, str | list) or not outcome else _server_text(outcome),
        id=identifier(block.get("tool_use_id")),
        is_error=True if failed else as_bool(block.get("is_error")),
        error_kind="timeout" if failed and code == "execution_time_exceeded" else None,
        exit_code=as_integer(outcome.get("return_code")),
    )


def _server_text(outcome: JsonObject) -> str:
    if "stdout" not in outcome and "stderr" not in outcome:
        return compact(outcome)
    streams = [as_text(outcome.get(key)) for key in ("stdout", "stderr")]
    files = [compact(each) for each in as_list(outcome.get("content"))]
    return "\n".join(text for text in (*streams, *files) if text)


FORMAT = Format(
    name=_NAME,
    title="Anthropic messages: messages, requests, responses, recorded request and response",
    detect=detect,
    read=read,
)

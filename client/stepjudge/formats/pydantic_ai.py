"""Pydantic AI messages: requests and responses in turn, each with parts that name their kind.

Specification: `pydantic_ai.messages` (0.1 to 2.68), as `all_messages_json()` writes it. Read are a list of messages, and an
object that holds it as `messages`. Calls whose arguments or tool the framework refused are answered by a `tool-return`
with the outcome `retried`, in older versions by a `retry-prompt`. Messages hold no tools.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import Content, compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, rest, text_or_none
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Call, ErrorKind, Trace, Usage
from stepjudge.value import JsonObject

_NAME = "pydantic-ai"
_LOOKED_AT = 50
_OUTPUT_TOOL = "final_result"
_CAUSES: dict[str, ErrorKind] = {
    "validation_error": "bad_arguments",
    "unknown_tool": "unknown_tool",
    "unavailable_tool": "unknown_tool",
    "model_retry": "tool_error",
}
_IN_RESPONSE = ("parts", "usage", "model_name", "timestamp", "kind", "state", "run_id", "conversation_id", "model_id",
                "provider_name", "provider_url", "provider_details", "vendor_details")  # fmt: skip


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in _messages(document)[:_LOOKED_AT]]
    known = [_is_message(each) for each in head]
    if known and all(known):
        return Fit("certain")
    if any(known):
        return Fit("near", f"messages[{known.index(False)}] has no `kind` and `parts`, as those of Pydantic AI do")
    return NO_FIT


def _messages(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(as_object(document).get("messages"))


def _is_message(message: JsonObject) -> bool:
    parts = message.get("parts")
    is_named = message.get("kind") in ("request", "response") and isinstance(parts, list)
    return is_named and all("part_kind" in part for part in objects(parts))


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    draft = Draft(_NAME)
    instructions: JsonValue = None
    messages = _messages(document)
    for at, value in enumerate(messages):
        message = as_object(value)
        match message.get("kind"):
            case "request":
                if message.get("instructions") not in (None, "", instructions):
                    instructions = message["instructions"]
                    draft.message("system", instructions)
                for part in objects(message.get("parts")):
                    _tell_part(draft, part)
            case "response":
                _tell_step(draft, message)
            case kind:
                draft.note(f"messages[{at}] is of the kind {kind!r}, which is not known")
                draft.message("other", compact(value))
    last = as_object(next((each for each in reversed(messages) if as_object(each).get("kind") == "response"), None))
    yield draft.build(
        trace_id=identifier(outer.get("id")) or identifier(last.get("run_id")),
        model=text_or_none(last.get("model_name")),
        final_output=_final_output(last),
        extra=rest(outer, "messages", "id"),
    )


def _final_output(last: JsonObject) -> str | None:
    """Structured output is the call of a tool with a name of its own."""
    found = [each for each in objects(last.get("parts")) if each.get("tool_name") == _OUTPUT_TOOL and "args" in each]
    if not found:
        return None
    args = found[0]["args"]
    return args if isinstance(args, str) else compact(args)


def _tell_part(draft: Draft, part: JsonObject) -> None:
    content = part.get("content")
    match part.get("part_kind"):
        case "system-prompt" | "instruction" | "instruction-delta":
            draft.message("system", _content(content))
        case "user-prompt":
            draft.message("user", _content(content))
        case "tool-return":
            _tell_return(draft, part)
        case "retry-prompt" if part.get("tool_name"):
            _tell_result(draft, part, is_error=True, kind="bad_arguments" if isinstance(content, list) else None)
        case "retry-prompt" | "retry-feedback":
            draft.message("other", _content(content), name="retry")
        case kind:
            draft.note(f"a part of the kind {kind!r} was carried as a message")
            draft.message("other", compact(part))


def _tell_return(draft: Draft, part: JsonObject) -> None:
    """Without an outcome, as older versions write it, a return is a success: they answered failures by a retry."""
    outcome = part.get("outcome")
    if outcome in (None, "success"):
        _tell_result(draft, part, is_error=False)
    elif outcome in ("failed", "retried"):
        cause = as_text(as_object(part.get("retry")).get("cause"))
        kind = _CAUSES.get(cause)
        _tell_result(draft, part, is_error=True, kind="tool_error" if kind is None and outcome == "failed" else kind)
    else:
        draft.note(f"the outcome of a call is {outcome!r}, which is neither success nor error")
        _tell_result(draft, part)


def _tell_result(
    draft: Draft, part: JsonObject, *, is_error: bool | None = None, kind: ErrorKind | None = None
) -> None:
    id, name = identifier(part.get("tool_call_id")), text_or_none(part.get("tool_name"))
    draft.result(_returned(part.get("content")), id=id, name=name, is_error=is_error, error_kind=kind)


def _returned(content: JsonValue) -> Content:
    """What a tool returned is any JSON; text and files among it are told as such."""
    files = ("kind" in each and each["kind"] != "text-content" for each in objects(content))
    return _content(content) if any(files) or not isinstance(content, list | dict) else Content(compact(content))


def _content(content: JsonValue) -> Content:
    """Text, or a list of text and of files, whose `kind` is what other formats call the type of a part."""
    if not isinstance(content, list):
        return read_content(content)
    parts = [{**each, "type": each["kind"]} if isinstance(each, dict) and "kind" in each else each for each in content
             if as_object(each).get("kind") != "cache-point"]  # fmt: skip
    return read_content([_as_text(each) for each in parts])


def _as_text(part: JsonValue) -> JsonValue:
    held = as_object(part)
    return held.get("content") if held.get("type") == "text-content" else part


def _tell_step(draft: Draft, response: JsonObject) -> None:
    said: list[JsonValue] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    returns: list[JsonObject] = []
    for part in objects(response.get("parts")):
        match part.get("part_kind"):
            case "text" | "speech":
                said.append(part.get("content") or part.get("transcript"))
            case "thinking":
                thoughts.append(as_text(part.get("content")))
            case "tool-call" | "builtin-tool-call":
                calls.append(_call(draft, part))
            case "builtin-tool-return":
                returns.append(part)
            case "file":
                said.append({**as_object(part.get("content")), "type": "file"})
            case kind:
                draft.note(f"a part of the kind {kind!r} was carried as text")
                said.append(compact(part))
    draft.step(
        read_content(said),
        calls=calls,
        reasoning="\n".join(text for text in thoughts if text),
        model=text_or_none(response.get("model_name")),
        usage=_usage(response.get("usage")),
        started_at=text_or_none(response.get("timestamp")),
        extra=rest(response, *_IN_RESPONSE),
    )
    for part in returns:
        _tell_return(draft, part)


def _call(draft: Draft, part: JsonObject) -> Call:
    name, id = as_text(part.get("tool_name")), identifier(part.get("tool_call_id"))
    return draft.call(name, part.get("args"), id=id, extra=rest(part, "tool_name", "args", "tool_call_id", "part_kind"))


def _usage(value: JsonValue) -> Usage | None:
    """Input counts what was read from a cache. Older versions say `request_tokens` and `response_tokens`."""
    stated = as_object(value)
    cost = stated.get("cost")
    return read_usage(
        {
            "input_tokens": stated.get("input_tokens", stated.get("request_tokens")),
            "output_tokens": stated.get("output_tokens", stated.get("response_tokens")),
            "cached_tokens": stated.get("cache_read_tokens"),
        },
        cost=_number(cost) if isinstance(cost, str) else cost,
    )


def _number(text: str) -> float | None:
    """A decimal, which JSON carries as text."""
    try:
        return float(text)
    except ValueError:
        return None


FORMAT = Format(name=_NAME, title="Pydantic AI messages", detect=detect, read=read)

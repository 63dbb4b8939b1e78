"""Gemini contents: turns of `user` and `model` made of parts, with function calls and function responses among them.

Specification: the Gemini API reference, "generateContent" (v1beta, also as Vertex AI v1 and the Python SDK google-genai 3
write it). Read are a list of contents, a request, a response, and a recorded request with its response, whether the
response came whole or streamed. Calls without ids are paired by name, then by order.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gemini_parts import either, is_content, read_gemini_usage, read_parts
from stepjudge.formats.reading.gemini_tools import tell_tools
from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import (
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "gemini-contents"
_LOOKED_AT = 50
_ROLES = ("user", "model", "function", "tool", "system", None)
_IN_TRACE = ("contents", "systemInstruction", "system_instruction", "tools", "model", "config", "candidates",
             "usageMetadata", "usage_metadata", "modelVersion", "model_version", "request", "response",
             "trace_id", "id")  # fmt: skip
_IN_CANDIDATE = ("content", "index", "finishReason", "finish_reason", "finishMessage", "finish_message")
_ENDS = ("STOP", "FINISH_REASON_UNSPECIFIED", "")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if _is_chunk(outer) or (isinstance(document, list) and document and _is_chunk(as_object(document[0]))):
        return Fit("likely")
    head = _contents(document)[:_LOOKED_AT]
    known = [is_content(each) and as_object(each).get("role") in _ROLES for each in head]
    has_parts = any(as_list(as_object(each).get("parts")) for each in head)
    if has_parts and all(known):
        return Fit("likely")
    if has_parts and any(known) and "contents" in _request(outer):
        return Fit("near", f"contents[{known.index(False)}] is no content with a role of Gemini and its parts")
    return NO_FIT


def _is_chunk(response: JsonObject) -> bool:
    return any("content" in each or "finishReason" in each for each in objects(response.get("candidates")))


def _request(outer: JsonObject) -> JsonObject:
    return as_object(outer.get("request")) or outer


def _contents(document: JsonValue) -> list[JsonValue]:
    if isinstance(document, list):
        return document
    given = _request(as_object(document)).get("contents")
    if isinstance(given, str):
        return [{"role": "user", "parts": [{"text": given}]}]
    return [given] if isinstance(given, dict) else as_list(given)


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    request, response = _request(outer), _response(document)
    config = as_object(request.get("config")) or request
    draft = Draft(_NAME)
    tell_tools(draft, config.get("tools"))
    system = either(config, "systemInstruction", "system_instruction")
    draft.message("system", system if isinstance(system, str) else read_content(read_parts(draft, system).said))
    contents = [] if isinstance(document, list) and response else _contents(document)
    model = text_or_none(either(response, "modelVersion", "model_version"))
    for at, content in enumerate(contents):
        _tell(draft, content, at)
    _tell_response(draft, response, contents, model)
    yield draft.build(
        trace_id=identifier(outer.get("trace_id")) or identifier(outer.get("id")),
        model=text_or_none(request.get("model")) or model,
        extra=with_fields(
            rest(outer, *_IN_TRACE),
            request={} if request is outer else rest(request, *_IN_TRACE),
            response={} if response is outer else rest(response, *_IN_TRACE),
            config={} if config is request else rest(config, *_IN_TRACE),
        ),
    )


def _tell(draft: Draft, value: JsonValue, at: int) -> None:
    content = as_object(value)
    parts = read_parts(draft, content)
    role = content.get("role")
    if role == "model":
        draft.step(read_content(parts.said), calls=parts.calls, reasoning=parts.reasoning)
        parts.tell_outcomes(draft)
        return
    parts.tell_outcomes(draft)
    if role not in _ROLES:
        draft.note(f"contents[{at}] has the role {role!r}, which Gemini does not have")
        draft.message("other", parts.said or (None if content else value), name=text_or_none(role))
    elif parts.said or not parts.outcomes:
        opens = False if parts.outcomes else None
        draft.message("system" if role == "system" else "user", parts.said, opens_turn=opens)
    if parts.calls or parts.thoughts:
        draft.note(f"contents[{at}] holds calls or thoughts, but is not the model's: they were left out")


def _tell_response(draft: Draft, response: JsonObject, told: list[JsonValue], model: str | None) -> None:
    candidates = list(objects(response.get("candidates")))
    blocked = as_text(as_object(response.get("promptFeedback")).get("blockReason"))
    if blocked:
        draft.note(f"the prompt was blocked ({blocked}): the model answered nothing")
    if not candidates:
        return
    if len(candidates) > 1:
        draft.note(f"of the {len(candidates)} candidates of the response the first was read")
    first = candidates[0]
    reason = as_text(either(first, "finishReason", "finish_reason"))
    why = as_text(either(first, "finishMessage", "finish_message"))
    if reason not in _ENDS:
        draft.note(f"the model stopped with {reason}{': ' + why if why else ''}")
    content = as_object(first.get("content"))
    if told and content and as_object(told[-1]) == content:
        return
    parts = read_parts(draft, content)
    usage: Usage | None = read_gemini_usage(either(response, "usageMetadata", "usage_metadata"))
    draft.step(
        read_content(parts.said),
        calls=parts.calls,
        reasoning=parts.reasoning,
        model=model,
        usage=usage,
        extra=with_fields(rest(first, *_IN_CANDIDATE), finishReason=reason or None),
    )
    parts.tell_outcomes(draft)


def _response(document: JsonValue) -> JsonObject:
    """A response as the API gave it, streamed in chunks, or as a recorder of HTTP traffic kept its body."""
    if isinstance(document, list):
        return _gathered([each for each in objects(document) if _is_chunk(each)])
    outer = as_object(document)
    if "candidates" in outer:
        return outer
    recorded = outer.get("response")
    response = as_object(recorded)
    body = recorded if isinstance(recorded, str | list) else response.get("string", response.get("body"))
    if isinstance(body, str):
        lines = [line.removeprefix("data:") for line in body.splitlines() if line.startswith("data:")]
        parsed = [parse_embedded(text.strip()) for text in lines or [body]]
        values = [each.value for each in parsed if each is not None]
        body = values[0] if len(values) == 1 else values
    return _gathered(list(objects(body))) if isinstance(body, list) else as_object(body) or response


def _gathered(chunks: list[JsonObject]) -> JsonObject:
    """A streamed response in one: each chunk goes on where the one before ended, in the midst of a text too."""
    if not chunks:
        return {}
    parts: list[JsonValue] = []
    last: JsonObject = {}
    for chunk in chunks:
        first = as_object(next(objects(chunk.get("candidates")), None))
        last = {**last, **first}
        for part in objects(as_object(first.get("content")).get("parts")):
            before = as_object(parts[-1]) if parts else {}
            if {*part, *before} <= {"text", "thought"} and before and part.get("thought") == before.get("thought"):
                parts[-1] = {**part, "text": as_text(before.get("text")) + as_text(part.get("text"))}
            else:
                parts.append(part)
    merged = {key: value for chunk in chunks for key, value in chunk.items()}
    return {**merged, "candidates": [{**last, "content": {"role": "model", "parts": parts}}]}


FORMAT = Format(
    name=_NAME,
    title="Gemini contents: contents, requests, responses, recorded request and response",
    detect=detect,
    read=read,
)

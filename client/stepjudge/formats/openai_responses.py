"""OpenAI Responses: lists of items (messages, reasoning, calls, outputs), requests, responses, and recorded pairs of them.

Specification: the OpenAI API reference, "Responses" (input and output items, `instructions`, flat `tools`, `usage`), as of
the Python SDK 3.57. Read are a list of items, an object with `input` and perhaps `output`, a response, and a recorded
request with its response, whether the response came whole or streamed.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.responses_calls import is_call, is_output
from stepjudge.formats.reading.responses_items import Items, kind_of, note_end, tell_instructions
from stepjudge.formats.reading.shape import (
    as_list,
    as_object,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_NAME = "openai-responses"
_LOOKED_AT = 50
_ROLES = ("system", "developer", "user", "assistant")
_WITHOUT_CALL = ("message", "reasoning", "item_reference", "compaction", "mcp_list_tools", "mcp_approval_response")
_PARTS = ("input_text", "output_text", "input_image", "input_file")
_CARRIED = ("input", "output", "instructions", "tools", "model", "usage", "id", "object", "previous_response_id")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if "responses_create_params" in outer:
        return NO_FIT
    response = _response(outer)
    if response.get("object") == "response" and isinstance(response.get("output"), list):
        return Fit("certain")
    given = document if isinstance(document, list) else as_list(_request(outer).get("input"))
    head = (given + as_list(response.get("output")))[:_LOOKED_AT]
    if not head:
        return NO_FIT
    strange = next((at for at, each in enumerate(head) if not _is_item(as_object(each))), None)
    marked = any(_is_of_responses(as_object(each)) for each in head)
    if strange is not None:
        return Fit("near", f"item {strange} is none of the Responses API") if marked else NO_FIT
    if marked:
        return Fit("likely" if all(_is_known(kind_of(as_object(each))) for each in head) else "possible")
    speaks = any(as_object(each).get("role") == "assistant" for each in head)
    return Fit("possible") if speaks and not isinstance(document, list) else NO_FIT


def _is_item(item: JsonObject) -> bool:
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") in _ROLES and "tool_calls" not in item
    return bool(kind)


def _is_known(kind: str) -> bool:
    """The API gets new types of items every few months, which must not keep the others from being read."""
    return kind in _WITHOUT_CALL or is_call(kind) or is_output(kind)


def _is_of_responses(item: JsonObject) -> bool:
    if kind_of(item) == "message":
        return any(part.get("type") in _PARTS for part in objects(item.get("content")))
    return is_call(kind_of(item)) or is_output(kind_of(item)) or ("summary" in item and item.get("type") == "reasoning")


def _request(outer: JsonObject) -> JsonObject:
    return as_object(outer.get("request")) or outer


def _input(document: JsonValue) -> list[JsonValue]:
    if isinstance(document, list):
        return document
    given = _request(as_object(document)).get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else as_list(given)


def _response(outer: JsonObject) -> JsonObject:
    """A response as the API gave it, or as a recorder of HTTP traffic kept its body."""
    if "output" in outer:
        return outer
    recorded = outer.get("response")
    response = as_object(recorded)
    body = recorded if isinstance(recorded, str) else response.get("string", response.get("body"))
    return _gathered(body) if isinstance(body, str) else as_object(body) or response


def _gathered(body: str) -> JsonObject:
    """The response in a body. A stream ends with an event that repeats all of it, unless it was cut."""
    lines = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
    if not lines:
        return _parsed(body)
    response: JsonObject = {}
    done: list[JsonValue] = []
    for event in map(_parsed, lines):
        response = as_object(event.get("response")) or response
        if event.get("type") == "response.output_item.done":
            done.append(event.get("item"))
    return response if response.get("output") else {**response, "output": done}


def _parsed(text: str) -> JsonObject:
    parsed = parse_embedded(text)
    return as_object(parsed.value) if parsed is not None else {}


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    request, response = _request(outer), _response(outer)
    draft = Draft(_NAME)
    for definition in as_list(request.get("tools")) or as_list(response.get("tools")):
        draft.tool(definition)
    tell_instructions(draft, request.get("instructions") or response.get("instructions"))
    previous = request.get("previous_response_id") or response.get("previous_response_id")
    if previous:
        draft.note(f"the run goes on from the response {previous!r}, which the document does not hold")
    given, output = _input(document), as_list(response.get("output"))
    if output and given[-len(output) :] == output:
        given = given[: -len(output)]
    usage = read_usage(response.get("usage"), cost=outer.get("cost"))
    Items(draft, given).tell()
    Items(draft, output, is_response=True).tell(model=text_or_none(response.get("model")), usage=usage)
    note_end(draft, response)
    yield draft.build(
        trace_id=identifier(outer.get("trace_id")) or identifier(outer.get("id")) or identifier(response.get("id")),
        model=text_or_none(request.get("model")) or text_or_none(response.get("model")),
        extra=with_fields(
            rest(outer, *_CARRIED, "request", "response", "trace_id", "cost"),
            request={} if request is outer else rest(request, *_CARRIED),
            response={} if response is outer else rest(response, *_CARRIED),
        ),
    )


FORMAT = Format(
    name=_NAME,
    title="OpenAI Responses: items, requests, responses, recorded request and response",
    detect=detect,
    read=read,
)

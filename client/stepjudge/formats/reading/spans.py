"""A span is one timed operation of a run, with its parent: read from OTLP JSON, from OpenTelemetry's SDK, or from Phoenix.

OTLP: OpenTelemetry Protocol 1.x in its JSON encoding (ids in hex, as specified, or in base64, as protobuf's own JSON
writes them). SDK: `span.to_json()` of OpenTelemetry for Python. Phoenix: spans of its REST API and of its data frames.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import JsonValue

from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.value import JsonObject

_GROUPS = ("resourceSpans", "resource_spans")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_LISTS = ("spans", "data")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_UNITS = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, 10**9))
"""From which number on a time is in nano-, micro-, milliseconds or seconds, and how many nanoseconds that is."""


@dataclass(frozen=True)
class Event:
    name: str
    attributes: JsonObject


@dataclass(frozen=True)
class Span:
    id: str
    trace: str
    parent: str | None
    name: str
    attributes: JsonObject
    started: int = 0
    """Nanoseconds since 1970; 0 where unknown."""
    started_at: str | None = None
    failed: bool = False
    message: str = ""
    """What the status says."""
    events: tuple[Event, ...] = ()
    resource: JsonObject = field(default_factory=dict[str, JsonValue])

    @property
    def error(self) -> str:
        """What was raised."""
        raised = (as_text(each.attributes.get("exception.message")) for each in self.events)
        return next((each for each in raised if each), self.message)


def is_export(document: JsonValue) -> bool:
    """Whether it is OTLP, which may be a part of a trace only."""
    return isinstance(document, dict) and any(isinstance(document.get(key), list) for key in _GROUPS)


def spans_in(document: JsonValue) -> Iterator[Span]:
    for span, resource in _span_objects(document, 0):
        yield _span(span, resource)


def _span_objects(document: JsonValue, level: int) -> Iterator[tuple[JsonObject, JsonObject]]:
    if isinstance(document, str) and level:
        parsed = parse_embedded(document)
        document = parsed.value if parsed is not None else None
    if isinstance(document, list) and level < 3:
        for element in document:
            yield from _span_objects(element, level + 1)
        return
    outer = as_object(document)
    if any(key in outer for key in ("spanId", "span_id", "context.span_id")) or "span_id" in _context(outer):
        yield outer, as_object(as_object(outer.get("resource")).get("attributes"))
        return
    for key in _GROUPS:
        for group in objects(outer.get(key)):
            resource = attributes_of(as_object(group.get("resource")).get("attributes"))
            scopes = (scope for scopes in _SCOPES for scope in objects(group.get(scopes)))
            yield from ((span, resource) for scope in scopes for span in objects(scope.get("spans")))
    for key in _LISTS if level < 3 else ():
        yield from _span_objects(as_list(outer.get(key)), level + 1)


def _context(span: JsonObject) -> JsonObject:
    return as_object(span.get("context"))


def _span(span: JsonObject, resource: JsonObject) -> Span:
    context = _context(span)
    status = as_object(span.get("status"))
    code = status.get("code", status.get("status_code", span.get("status_code")))
    started, started_at = _start(next((span[key] for key in _STARTS if span.get(key) is not None), None))
    columns = {key.removeprefix("attributes."): each for key, each in span.items() if key.startswith("attributes.")}
    return Span(
        id=_id(_first(span, context, "spanId", "span_id")),
        trace=_id(_first(span, context, "traceId", "trace_id")),
        parent=_id(_first(span, context, "parentSpanId", "parent_span_id", "parent_id")) or None,
        name=as_text(span.get("name")),
        attributes=columns or _with_kind(attributes_of(span.get("attributes")), span),
        started=started,
        started_at=started_at,
        failed=code == 2 or as_text(code).endswith("ERROR"),
        message=as_text(status.get("message"))
        or as_text(status.get("description"))
        or as_text(span.get("status_message")),
        events=tuple(
            Event(as_text(each.get("name")), attributes_of(each.get("attributes")))
            for each in objects(span.get("events"))
        ),
        resource=resource,
    )


def _with_kind(attributes: JsonObject, span: JsonObject) -> JsonObject:
    """Phoenix keeps the kind beside the attributes."""
    kind = text_or_none(span.get("span_kind"))
    return attributes if kind is None else {"openinference.span.kind": kind, **attributes}


def _first(span: JsonObject, context: JsonObject, *keys: str) -> JsonValue:
    places = (
        (holder, prefix + key) for key in keys for holder, prefix in ((context, ""), (span, ""), (span, "context."))
    )
    return next((holder[key] for holder, key in places if holder.get(key)), None)


def _id(value: JsonValue) -> str:
    """In hex, whatever it is written in, so that one trace has one id."""
    text = (identifier(value) or "").removeprefix("0x")
    if len(text) not in (12, 24):
        return text
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    return raw.hex() if len(raw) in (8, 16) else text


def _start(value: JsonValue) -> tuple[int, str | None]:
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value
    try:
        if isinstance(number, int) and not isinstance(number, bool):
            nanoseconds = number * next(unit for least, unit in _UNITS if number >= least)
            moment = datetime.fromtimestamp(nanoseconds // 10**9, UTC)
            return nanoseconds, moment.replace(microsecond=nanoseconds // 1000 % 10**6).isoformat()
        moment = datetime.fromisoformat(as_text(number))
        return int(moment.timestamp() * 10**6) * 1000, as_text(number)
    except (ValueError, OverflowError, OSError, StopIteration):
        return 0, text_or_none(value)


def attributes_of(value: JsonValue) -> JsonObject:
    """Attributes as an object, from OTLP's list of pairs or from an object."""
    if isinstance(value, dict):
        return value
    return {as_text(pair.get("key")): _any(pair.get("value")) for pair in objects(value)}


def _any(value: JsonValue) -> JsonValue:
    """OTLP's AnyValue."""
    match value:
        case {"stringValue": text} | {"boolValue": text} | {"doubleValue": text} | {"bytesValue": text}:
            return text
        case {"intValue": number}:
            return (
                int(number)
                if isinstance(number, str) and number.lstrip("-").isdecimal() and len(number) < 20
                else number
            )
        case {"arrayValue": dict(array)}:
            return [_any(each) for each in as_list(array.get("values"))]
        case {"kvlistValue": dict(pairs)}:
            return attributes_of(pairs.get("values"))
        case dict() if not value or any(key.endswith("Value") for key in value):
            return None
        case _:
            return value

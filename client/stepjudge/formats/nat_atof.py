"""ATOF events of the NeMo Agent Toolkit and NeMo Relay, version 0.1: scopes that start and end, and marks.

Specification: NeMo Agent Toolkit, "ATOF event format" 0.1, and its drafts with `ScopeStart` and `ScopeEnd`. Emissions and
their calls are taken from scopes of the category llm; those of tools give results. Marks are left out.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.chat_message import chat_message
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Emission, Execution, Said
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.moments import moment
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.span_run import Dialect, traces
from stepjudge.formats.reading.span_tree import Kind
from stepjudge.formats.reading.spans import Span
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "nat-atof"
_LOOKED_AT = 50
_EVENTS = ("scope", "mark", "ScopeStart", "ScopeEnd", "Mark", "StreamHeader")
_KINDS: dict[str, Kind] = {
    "llm": "model",
    "tool": "tool",
    "agent": "agent",
    "evaluator": "aside",
    "guardrail": "aside",
}


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in as_list(document)[:_LOOKED_AT]]
    if not head or any(each.get("kind") not in _EVENTS or "uuid" not in each for each in head):
        return NO_FIT
    marked = any("atof_version" in each or "scope_type" in each for each in head)
    return Fit("certain") if marked else Fit("near", "its events have a `kind` and a `uuid`, but no `atof_version`")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    yield from traces(_scopes(list(objects(document))), _DIALECT)


def _scopes(events: list[JsonObject]) -> Iterator[Span]:
    """Scopes without a root in the log belong together: a log is one run, unless it has several outermost scopes."""
    scopes: dict[str, JsonObject] = {}
    for event in events:
        kind, id_ = as_text(event.get("kind")), identifier(event.get("uuid"))
        if id_ is None or kind not in ("scope", "ScopeStart", "ScopeEnd"):
            continue
        side = "end" if kind == "ScopeEnd" or event.get("scope_category") == "end" else "start"
        scope = scopes.setdefault(id_, {"place": len(scopes)})
        scope[side] = event
    for id_, scope in scopes.items():
        yield _span(id_, scope, _root(id_, scopes))


def _root(id_: str, scopes: dict[str, JsonObject]) -> str:
    seen: set[str] = set()
    while id_ not in seen:
        seen.add(id_)
        parent = _field(scopes[id_], "parent_uuid")
        if not isinstance(parent, str) or parent not in scopes:
            return id_
        id_ = parent
    return min(seen)


def _field(scope: JsonObject, name: str) -> JsonValue:
    """Of the event that has it: both tell who they are."""
    events = (as_object(scope.get("start")), as_object(scope.get("end")))
    return next((event[name] for event in events if event.get(name) is not None), None)


def _span(id_: str, scope: JsonObject, root: str) -> Span:
    end = as_object(scope.get("end"))
    status = as_text(end.get("status")) or as_text(as_object(end.get("metadata")).get("otel.status_code"))
    return Span(
        id=id_,
        trace=root,
        parent=identifier(_field(scope, "parent_uuid")),
        name=as_text(_field(scope, "name")),
        attributes=scope,
        started_at=moment(as_object(scope.get("start")).get("timestamp")),
        failed=status.lower() == "error" or end.get("error") is not None,
        message=as_text(as_object(end.get("error")).get("message")) or as_text(end.get("error")),
    )


def _kind(span: Span) -> Kind:
    return _KINDS.get(as_text(_field(span.attributes, "category") or _field(span.attributes, "scope_type")), "other")


def _sides(span: Span) -> tuple[JsonValue, JsonValue]:
    """What went in and what came out: `data` of the two events, `input` and `output` in the drafts."""
    start, end = as_object(span.attributes.get("start")), as_object(span.attributes.get("end"))
    return start.get("data", start.get("input")), end.get("data", end.get("output"))


def _profile(span: Span) -> JsonObject:
    return as_object(_field(span.attributes, "category_profile")) or as_object(_field(span.attributes, "profile"))


def _emission(span: Span) -> Emission:
    given, said = _sides(span)
    reply = as_object(said)
    choice = as_object((as_list(reply.get("choices")) or [None])[0])
    message = as_object(choice.get("message")) or as_object(reply.get("message")) or reply
    spoken = chat_message({**message, "role": "assistant"}) if {"content", "tool_calls"} & message.keys() else None
    if spoken is None and isinstance(said, str):
        spoken = Said("assistant", Content(said))
    model = _profile(span).get("model_name", _field(span.attributes, "model_name"))
    return Emission(
        said=spoken,
        given=tuple(chat_message(each) for each in objects(as_object(given).get("messages"))),
        model=text_or_none(reply.get("model")) or text_or_none(model),
        usage=read_usage(reply.get("usage")),
    )


def _execution(span: Span) -> Execution:
    given, said = _sides(span)
    return Execution(
        name=span.name,
        arguments=given,
        call_id=identifier(_profile(span).get("tool_call_id", _field(span.attributes, "tool_call_id"))),
        content=Content(span.message)
        if said is None and span.failed
        else read_content(said)
        if said is not None
        else None,
        is_error=True if span.failed else None if _field(span.attributes, "status") is None else False,
    )


def _tools(span: Span) -> list[JsonValue]:
    return as_list(as_object(_sides(span)[0]).get("tools"))


def _agent(span: Span) -> str | None:
    return span.name or None


def _no_totals(span: Span) -> Usage | None:
    del span


_DIALECT = Dialect(_NAME, _kind, _emission, _execution, _tools, _agent, _no_totals)

FORMAT = Format(name=_NAME, title="ATOF events of the NeMo Agent Toolkit, 0.1", detect=detect, read=read)

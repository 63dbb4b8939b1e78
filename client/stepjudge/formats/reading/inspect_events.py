"""Inspect's events are the transcript of a sample: what models were given, what tools ran, and in which spans."""

from collections import defaultdict
from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.emission import Emission, Execution
from stepjudge.formats.reading.inspect_message import Attachments, inspect_message, inspect_usage, output_message
from stepjudge.formats.reading.shape import as_count, as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.span_run import Dialect, sub_run
from stepjudge.formats.reading.span_tree import Kind, SpanTree
from stepjudge.formats.reading.spans import Span
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_KINDS: dict[str, Kind] = {
    "model": "model",
    "tool": "tool",
    "agent": "agent",
    "scorers": "aside",
    "scorer": "aside",
}
_MAX_NESTING = 20


class Transcript:
    """The events of a sample, with their pointers resolved."""

    def __init__(self, sample: JsonObject, attachments: Attachments) -> None:
        self._attachments = attachments
        self._pool = list(objects(as_object(sample.get("events_data")).get("messages")))
        held = sample.get("events") or as_object(sample.get("transcript")).get("events")
        self._tree = SpanTree(list(_spans(held, None, 0)), _kind)
        self._dialect = Dialect("inspect", _kind, self._emission, _execution, _tools, _agent, lambda _: None)

    def models(self) -> list[JsonObject]:
        """The model events, sub-agents' and scorers' too."""
        found = [span.attributes for span in self._tree.spans if span.attributes.get("event") == "model"]
        return [as_object(self._attachments.resolved(event)) for event in found]

    def cut(self) -> set[str]:
        """The ids of the messages whose text the harness cut."""
        tools = (span.attributes for span in self._tree.spans if span.attributes.get("event") == "tool")
        return {as_text(event.get("message_id")) for event in tools if event.get("truncated")} - {""}

    def given(self, event: JsonObject) -> list[JsonObject]:
        """The messages that a model was given. They may be kept in a pool, of which the event names ranges."""
        ranges = [as_list(each) for each in as_list(event.get("input_refs"))]
        pooled: list[JsonObject] = []
        for each in ranges:
            start, end = (as_count(each[0]), as_count(each[1])) if len(each) == 2 else (None, None)
            pooled += self._pool[start:end] if start is not None and end is not None else []
        return [as_object(self._attachments.resolved(each)) for each in pooled or objects(event.get("input"))]

    def sub_runs(self, known: set[str]) -> Iterator[tuple[str, Trace]]:
        """Sub-agents' runs with the ids of the calls that started them, unless their messages are in the conversation."""
        for placed in self._tree.run():
            if placed.kind == "tool" and self._tree.has_models(placed.place):
                inner = [each for each in self._tree.run(placed.place) if each.kind == "model"]
                said = {as_text(output_message(each.span.attributes).get("id")) for each in inner}
                if inner and not said & known:
                    yield as_text(placed.span.attributes.get("id")), sub_run(self._tree, self._dialect, placed.place)

    def _emission(self, span: Span) -> Emission:
        event = as_object(self._attachments.resolved(span.attributes))
        message = output_message(event)
        return Emission(
            said=inspect_message(message) if message else None,
            given=tuple(inspect_message(each) for each in self.given(event)),
            model=text_or_none(event.get("model")),
            usage=inspect_usage(as_object(event.get("output")).get("usage")),
        )


def _spans(events: JsonValue, parent: str | None, level: int) -> Iterator[Span]:
    """Of events and those within the events of tools, which is where logs had a tool's events before there were spans."""
    known = list(objects(events))
    begun = {as_text(event.get("id")) for event in known if event.get("event") == "span_begin"}
    tools = _ToolSpans(known, parent or "")
    for place, event in enumerate(known):
        kind = event.get("event")
        if kind == "span_begin":
            joined = tools.joined(event)
            above = joined or identifier(event.get("parent_id")) or parent
            yield _span(as_text(event.get("id")), above, event, "joined" if joined else as_text(event.get("type")))
        elif kind in ("model", "tool"):
            within = identifier(event.get("span_id"))
            id_ = f"{parent or ''}/{place}"
            yield _span(id_, within if within in begun else parent, event, as_text(kind))
            if kind == "tool" and level < _MAX_NESTING:
                yield from _spans(event.get("events"), id_, level + 1)


class _ToolSpans:
    """Spans of the type tool and the events of tools tell of the same: they are joined in order, by name and place."""

    def __init__(self, events: list[JsonObject], parent: str) -> None:
        self._waiting: defaultdict[tuple[str, str], list[str]] = defaultdict(list[str])
        self._agents: dict[str, str] = {}
        for place, event in enumerate(events):
            if event.get("event") == "tool":
                id_ = f"{parent}/{place}"
                self._waiting[as_text(event.get("span_id")), as_text(event.get("function"))].append(id_)
                self._agents[as_text(event.get("agent_span_id"))] = id_

    def joined(self, span: JsonObject) -> str | None:
        """The event of the tool whose span it is, or that started the agent whose span it is."""
        if span.get("type") != "tool":
            return self._agents.get(as_text(span.get("id")) or "-")
        waiting = self._waiting[as_text(span.get("parent_id")), as_text(span.get("name"))]
        return waiting.pop(0) if waiting else None


def _span(id: str, parent: str | None, event: JsonObject, kind: str) -> Span:
    return Span(
        id=id,
        trace="",
        parent=parent,
        name=kind,
        attributes=event,
        started_at=text_or_none(event.get("timestamp")),
        failed=bool(event.get("error")),
        message=as_text(event.get("error")) or as_text(as_object(event.get("error")).get("message")),
    )


def _kind(span: Span) -> Kind:
    if span.name == "joined":
        return "agent" if span.attributes.get("type") == "agent" else "other"
    return _KINDS.get(span.name, "other")


def _execution(span: Span) -> Execution:
    event = span.attributes
    return Execution(
        name=as_text(event.get("function")),
        arguments=event.get("arguments"),
        call_id=identifier(event.get("id")),
        content=read_content(event.get("result")),
        is_error=span.failed,
    )


def _tools(span: Span) -> list[JsonValue]:
    return as_list(span.attributes.get("tools")) if span.name == "model" else []


def _agent(span: Span) -> str | None:
    return text_or_none(span.attributes.get("name"))

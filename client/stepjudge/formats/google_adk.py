"""Google ADK sessions: a list of events, each with an `author` and the content of Gemini's API.

Specification: the Agent Development Kit's `Session` and `Event` (google-adk 0.1 to 2.13), in camel or snake case. Read are
a session and the list of its events. Agents that take over by `transfer_to_agent` write into the same session: each step
names its agent. Sessions hold neither system prompts nor tools.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gemini_parts import Parts, either, read_gemini_usage, read_parts
from stepjudge.formats.reading.shape import (
    as_amount,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_NAME = "google-adk"
_LOOKED_AT = 50
_IN_EVENT = ("content", "author", "actions", "id", "timestamp", "partial", "usageMetadata", "usage_metadata",
             "modelVersion", "model_version", "invocationId", "invocation_id", "nodeInfo", "node_info")  # fmt: skip


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if isinstance(outer.get("eval_cases"), list) or isinstance(outer.get("evalCases"), list):
        return Fit("near", "an ADK eval set holds what is expected of runs, not runs: export the session")
    head = [as_object(each) for each in _events(document)[:_LOOKED_AT]]
    if head and all(_is_event(each) for each in head):
        return Fit("certain")
    if any(_is_event(each) for each in head):
        at = next(at for at, each in enumerate(head) if not _is_event(each))
        return Fit("near", f"events[{at}] has no `author` and `invocationId`")
    return NO_FIT


def _events(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(as_object(document).get("events"))


def _is_event(event: JsonObject) -> bool:
    return isinstance(event.get("author"), str) and isinstance(either(event, "invocationId", "invocation_id"), str)


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    session = as_object(document)
    draft = Draft(_NAME)
    for at, value in enumerate(_events(document)):
        event = as_object(value)
        if not event:
            draft.note(f"events[{at}] is no object: left out")
        elif event.get("partial") is True:
            draft.note("a piece of a streamed answer was left out: the whole follows it")
        else:
            _tell(draft, event)
    branches = {as_text(event.get("branch")) for event in objects(_events(document))} - {""}
    if len(branches) > 1:
        draft.note("agents ran side by side: their steps stand in the order of the session's events")
    yield draft.build(
        trace_id=identifier(session.get("id")),
        agent=text_or_none(either(session, "appName", "app_name")),
        extra=rest(session, "id", "events", "appName", "app_name"),
    )


def _tell(draft: Draft, event: JsonObject) -> None:
    parts = read_parts(draft, event.get("content"))
    error = either(event, "errorCode", "error_code") or either(event, "errorMessage", "error_message")
    if error:
        draft.note(f"an event ended in an error: {error}")
    if event.get("author") == "user":
        parts.tell_outcomes(draft)
        if parts.said:
            draft.message("user", parts.said, opens_turn=False if parts.outcomes else None)
        return
    if parts.said or parts.calls or parts.thoughts or (error and not parts.outcomes):
        _tell_step(draft, event, parts)
    elif not parts.outcomes:
        draft.note("an event without content, which only changes the state of the session, was left out")
    parts.tell_outcomes(draft)


def _tell_step(draft: Draft, event: JsonObject, parts: Parts) -> None:
    draft.step(
        read_content(parts.said),
        calls=parts.calls,
        reasoning=parts.reasoning,
        agent=text_or_none(event.get("author")),
        model=text_or_none(either(event, "modelVersion", "model_version")),
        usage=read_gemini_usage(either(event, "usageMetadata", "usage_metadata")),
        started_at=_moment(event.get("timestamp")),
        extra=_extra(event),
    )


def _moment(timestamp: JsonValue) -> str | None:
    """Seconds since 1970, as ISO 8601."""
    seconds = as_amount(timestamp)
    if seconds is None or seconds > 1e11:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _extra(event: JsonObject) -> JsonObject:
    actions = _filled(as_object(event.get("actions")))
    return with_fields(_filled(rest(event, *_IN_EVENT)), actions=actions)


def _filled(fields: JsonObject) -> JsonObject:
    return {key: value for key, value in fields.items() if value not in (None, {}, [])}


FORMAT = Format(name=_NAME, title="Google ADK sessions", detect=detect, read=read)

"""Gemini CLI sessions: messages of the types `user`, `gemini`, `info`, `error`, `warning`, with calls and results.

Specification: `ConversationRecord` in the chat recording service of the Gemini CLI, as of version 0.61. Read are the
session as one document, and as lines of JSON: a first line about the session, then messages, which later lines with
the same id replace, `$set` and `$rewindTo`. The file of a sub-agent is nested under the call that names it.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gathering import MAX_NESTING, stated
from stepjudge.formats.reading.shape import (
    as_count,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.trace import Call, Trace, Usage
from stepjudge.value import JsonObject

_NAME = "gemini-cli"
_LOOKED_AT = 64
_TYPES = ("user", "gemini", "info", "error", "warning")
_IN_TRACE = ("messages", "sessionId", "kind")
_UNFINISHED = ("validating", "scheduled", "executing", "awaiting_approval")


def detect(document: JsonValue) -> Fit:
    if isinstance(document, list):
        head = [as_object(each) for each in document[:_LOOKED_AT]]
        if any(each.get("messages") for each in head):
            return NO_FIT
        about = any("sessionId" in each and "projectHash" in each for each in head)
        return (
            Fit("certain") if about or any(each.get("type") == "gemini" and "id" in each for each in head) else NO_FIT
        )
    outer = as_object(document)
    messages = [as_object(each) for each in as_list(outer.get("messages"))[:_LOOKED_AT]]
    if "sessionId" in outer and any(each.get("type") in _TYPES and "content" in each for each in messages):
        return Fit("certain")
    return Fit("likely") if any(each.get("type") == "gemini" for each in messages) else NO_FIT


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    yield _Reading(origin, set(), 0).trace(document)


class _Reading:
    """Reads a session or, at a greater depth, a sub-agent's. `opened` holds the sub-agents that were read already."""

    def __init__(self, origin: Origin, opened: set[str], depth: int) -> None:
        self.draft = Draft(_NAME)
        self._origin = origin
        self._opened = opened
        self._depth = depth
        self._session = ""

    def trace(self, document: JsonValue, agent: str = _NAME) -> Trace:
        about, messages = self._replayed(document if isinstance(document, list) else [document])
        self._session = as_text(about.get("sessionId"))
        if about.get("kind") == "subagent" and self._depth == 0:
            self.draft.note("this is the run of a sub-agent: what started it is not in the document")
        for message in messages:
            self._tell(message)
        models = (text_or_none(message.get("model")) for message in messages)
        return self.draft.build(
            trace_id=self._session or None,
            agent=agent,
            model=next(filter(None, models), None),
            extra=rest(about, *_IN_TRACE),
            may_be_empty=self._depth > 0,
        )

    def _replayed(self, lines: list[JsonValue]) -> tuple[JsonObject, list[JsonObject]]:
        """What is known of the session, and its messages as the last lines left them."""
        about: JsonObject = {}
        messages: dict[str, JsonObject] = {}
        for number, line in enumerate(objects(lines)):
            if "$rewindTo" in line:
                self.draft.note("the session was rewound: what was given up is not in the trace")
                ids = list(messages)
                target = identifier(line["$rewindTo"]) or ""
                for id_ in ids[ids.index(target) if target in messages else 0 :]:
                    del messages[id_]
            elif "type" in line:
                messages[identifier(line.get("id")) or f"#{number}"] = line
            else:
                stated_ = as_object(line.get("$set")) or line
                about.update(rest(stated_, "messages"))
                if "$set" in line and messages and "messages" in stated_:
                    self.draft.note(
                        "the harness replaced its messages, as it does to condense them: both are in the trace"
                    )
                for at, message in enumerate(objects(stated_.get("messages"))):
                    messages[identifier(message.get("id")) or f"#{number}.{at}"] = message
        return about, list(messages.values())

    def _tell(self, message: JsonObject) -> None:
        content = message.get("content")
        match message.get("type"):
            case "gemini":
                self._tell_step(message)
            case "user":
                self.draft.message("user", content)
            case "info" | "warning" | "error" as kind:
                self.draft.message("other", content, name=kind)
            case kind:
                self.draft.note(f"a message has the type {kind!r}, which the Gemini CLI does not have")
                self.draft.message("other", content, name=text_or_none(kind))

    def _tell_step(self, message: JsonObject) -> None:
        made = list(objects(message.get("toolCalls")))
        calls = [self._call(each) for each in made]
        thoughts = (": ".join(filter(None, map(as_text, (each.get("subject"), each.get("description")))))
                    for each in objects(message.get("thoughts")))  # fmt: skip
        self.draft.step(
            message.get("content"),
            calls=calls,
            reasoning="\n".join(filter(None, thoughts)),
            model=text_or_none(message.get("model")),
            usage=_usage(as_object(message.get("tokens"))),
            started_at=text_or_none(message.get("timestamp")),
        )
        for each in made:
            self._tell_result(each)

    def _call(self, made: JsonObject) -> Call:
        subtraces: list[Trace] = []
        agent = identifier(made.get("agentId"))
        if agent is not None and (found := self._beside(agent)):
            inner = _Reading(self._origin, self._opened, self._depth + 1)
            subtraces = [inner.trace(found, as_text(made.get("name")) or "sub-agent")]
        elif agent is not None:
            self.draft.note(f"the run of sub-agent {agent!r} was not at hand")
        extra = with_fields({}, timestamp=made.get("timestamp"))
        return self.draft.call(
            as_text(made.get("name")),
            made.get("args"),
            id=identifier(made.get("id")),
            subtraces=subtraces,
            extra=extra,
        )

    def _beside(self, agent: str) -> JsonValue:
        if agent in self._opened or self._depth >= MAX_NESTING:
            return None
        self._opened.add(agent)
        found = self._origin.sibling(f"{self._session}/{agent}.jsonl")
        return found if detect(found).fits else None

    def _tell_result(self, made: JsonObject) -> None:
        status, result = made.get("status"), made.get("result")
        if result is None and status in (None, *_UNFINISHED):
            return
        failed = {"success": False, "error": True, "cancelled": True}.get(as_text(status))
        if result is None and isinstance(made.get("resultDisplay"), str):
            result = made.get("resultDisplay")
        self.draft.result(
            [_unwrapped(part) for part in result] if isinstance(result, list) else _unwrapped(result),
            id=identifier(made.get("id")),
            name=text_or_none(made.get("name")),
            is_error=failed,
            error_kind="other" if status == "cancelled" else None,
        )


def _unwrapped(part: JsonValue) -> JsonValue:
    """What a tool answered stands as `output` or `error` in a function response."""
    answered = as_object(part).get("functionResponse")
    if not isinstance(answered, dict):
        return part
    response = as_object(answered.get("response"))
    said = next((response[key] for key in ("output", "error") if key in response), response or None)
    more = as_list(answered.get("parts"))
    text = read_content(said).text if isinstance(said, str | list) else compact(said) if said is not None else ""
    return {"type": "text", "text": "\n".join(filter(None, (text, *(read_content(each).text for each in more))))}


def _usage(tokens: JsonObject) -> Usage | None:
    """Google counts thoughts beside the output; they are emitted tokens all the same."""
    output, thoughts = as_count(tokens.get("output")), as_count(tokens.get("thoughts"))
    return stated(
        Usage(
            prompt_tokens=as_count(tokens.get("input")),
            cached_tokens=as_count(tokens.get("cached")),
            completion_tokens=output if output is None else output + (thoughts or 0),
        )
    )


FORMAT = Format(
    name=_NAME,
    title="Gemini CLI: sessions as one document or as lines",
    detect=detect,
    read=read,
)

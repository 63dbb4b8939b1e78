"""OpenHands software agent SDK (OpenHands 1.x): conversation events, each with a `kind`.

Specification: the event classes of the OpenHands software-agent-sdk, 1.x as of 1.58. Read are a list of events, lines
of JSON, `{"items": [...]}` as the agent server answers, a row of an evaluation with `history`, and the folder of a
conversation (`events/event-*.json` beside `base_state.json`).
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gathering import gathered
from stepjudge.formats.reading.openhands_events import definition_of, exit_code_of, reasoning_of, unpack
from stepjudge.formats.reading.openhands_totals import totals_of_stats
from stepjudge.formats.reading.shape import (
    as_bool,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.trace import Call, ErrorKind, Trace
from stepjudge.value import JsonObject

_NAME = "openhands-v1"
_LOOKED_AT = 50
_HOLDERS = ("items", "events", "history")
_MARKS = ("ActionEvent", "ObservationEvent", "SystemPromptEvent", "AgentErrorEvent", "ConversationStateUpdateEvent")
_BOOKKEEPING = ("PauseEvent", "TokenEvent", "LLMCompletionLogEvent", "CondensationRequest", "StreamingDeltaEvent")
_IN_OBSERVATION = ("content", "output", "kind", "is_error", "error", "exit_code", "metadata")


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in _events(document)[:_LOOKED_AT]]
    if any(each.get("kind") in _MARKS and "source" in each for each in head):
        return Fit("certain")
    if any(each.get("kind") == "MessageEvent" and "llm_message" in each for each in head):
        return Fit("certain")
    return NO_FIT


def _events(document: JsonValue) -> list[JsonValue]:
    outer = as_object(document)
    return as_list(document) or next(
        (found for key in _HOLDERS if (found := as_list(outer.get(key)))), list[JsonValue]()
    )


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    state = as_object(outer.get("base_state"))
    reading = _Reading()
    entries = _events(document)
    events = list(objects(entries))
    if len(events) < len(entries):
        reading.draft.note("an event that is no object was left out")
    for group in gathered(events, emission=_emission, opens_turn=_is_user_message):
        reading.tell(group)
    usage, model = totals_of_stats(state.get("stats") or reading.stats)
    yield reading.draft.build(
        trace_id=identifier(outer.get("instance_id")) or identifier(state.get("id")),
        agent="openhands",
        model=model or text_or_none(as_object(as_object(state.get("agent")).get("llm")).get("model")),
        usage=usage,
        final_output=reading.final_output,
        extra=rest(outer, *_HOLDERS, "base_state"),
    )


def _emission(event: JsonObject) -> str | None:
    return identifier(event.get("llm_response_id")) if event.get("kind") == "ActionEvent" else None


def _is_user_message(event: JsonObject) -> bool:
    return event.get("kind") == "MessageEvent" and event.get("source") == "user"


class _Reading:
    def __init__(self) -> None:
        self.draft = Draft(_NAME)
        self.final_output: str | None = None
        self.stats: JsonValue = None
        self._tools: set[str] = set()
        self._refused: dict[str, bool] = {}
        """Of calls by their id, whether the SDK could not make an action of them."""

    def tell(self, group: list[JsonObject]) -> None:
        event = group[0]
        id_, name = identifier(event.get("tool_call_id")), text_or_none(event.get("tool_name"))
        match event.get("kind"):
            case "ActionEvent":
                self._tell_step(group)
            case "ObservationEvent":
                self._tell_observation(as_object(event.get("observation")), id_, name)
            case "AgentErrorEvent":
                kind = self._error_kind(id_, name)
                self.draft.result(event.get("error"), id=id_, name=name, is_error=True, error_kind=kind)
            case "UserRejectObservation":
                reason = event.get("rejection_reason")
                self.draft.result(reason, id=id_, name=name, is_error=True, error_kind="other")
            case "MessageEvent":
                self._tell_message(event)
            case "SystemPromptEvent":
                self._tell_system(event)
            case "Condensation":
                self.draft.note("the harness condensed the context: the agent no longer saw every earlier step")
                if event.get("summary"):
                    self.draft.message("other", event.get("summary"), name="condenser")
            case "ConversationErrorEvent":
                self.draft.message("other", event.get("detail") or event.get("code"), name="error")
            case "ConversationStateUpdateEvent":
                value = event.get("value")
                self.stats = value if event.get("key") == "stats" else as_object(value).get("stats") or self.stats
            case kind if kind not in _BOOKKEEPING:
                self.draft.note(f"events of the kind {kind!r} were left out")
            case _:
                pass

    def _tell_step(self, group: list[JsonObject]) -> None:
        first = group[0]
        self.draft.step(
            [part for event in group for part in as_list(event.get("thought"))],
            calls=[self._call(event) for event in group],
            reasoning="\n".join(text for event in group if (text := reasoning_of(event))),
            started_at=text_or_none(first.get("timestamp")),
        )
        for event in group:
            action = as_object(event.get("action"))
            if action.get("kind") == "FinishAction":
                self.final_output = text_or_none(action.get("message"))

    def _call(self, event: JsonObject) -> Call:
        emitted = as_object(event.get("tool_call"))
        function = as_object(emitted.get("function")) or emitted
        action = event.get("action")
        id_ = identifier(event.get("tool_call_id")) or identifier(emitted.get("id"))
        if id_ is not None:
            self._refused[id_] = action is None
        if not function:
            self.draft.note("the call as the model emitted it is not in the log: its arguments are those of the action")
        name = as_text(function.get("name")) or as_text(event.get("tool_name"))
        return self.draft.call(
            name,
            function.get("arguments") if function else rest(as_object(action), "kind") or action,
            id=id_,
            extra=with_fields({}, security_risk=event.get("security_risk"), critic_result=event.get("critic_result")),
        )

    def _tell_observation(self, observation: JsonObject, id_: str | None, name: str | None) -> None:
        content = observation.get("content", observation.get("output"))
        error = observation.get("error")
        is_error = as_bool(observation.get("is_error"))
        if is_error is None and "error" in observation:
            is_error = bool(error)
        if content in (None, "", []):
            content = error or rest(observation, *_IN_OBSERVATION) or None
        self.draft.result(
            content,
            id=id_,
            name=name,
            is_error=is_error,
            error_kind="timeout" if is_error and observation.get("timeout") is True else None,
            exit_code=exit_code_of(observation),
        )

    def _error_kind(self, id_: str | None, name: str | None) -> ErrorKind | None:
        if id_ is None or id_ not in self._refused:
            return None
        if not self._refused[id_]:
            return "tool_error"
        if not self._tools:
            return None
        return "bad_arguments" if name in self._tools else "unknown_tool"

    def _tell_message(self, event: JsonObject) -> None:
        message = as_object(event.get("llm_message"))
        content: JsonValue = message.get("content")
        if event.get("extended_content"):
            content = [*(content if isinstance(content, list) else [content]), *as_list(event.get("extended_content"))]
        match event.get("source"):
            case "agent":
                at = text_or_none(event.get("timestamp"))
                self.draft.step(content, reasoning=reasoning_of(message), started_at=at)
            case "user":
                self.draft.message("user", content, name=text_or_none(event.get("sender")))
            case source:
                self.draft.message("other", content, name=as_text(source) or None)

    def _tell_system(self, event: JsonObject) -> None:
        for content in (event.get("system_prompt"), event.get("dynamic_context")):
            if content:
                self.draft.message("system", content)
        for tool in objects(event.get("tools")):
            definition = definition_of(tool)
            self._tools.add(as_text(as_object(definition.get("function")).get("name", definition.get("name"))))
            self.draft.tool(definition)


FORMAT = Format(
    name=_NAME,
    title="OpenHands 1.x: events of the software agent SDK",
    detect=detect,
    read=read,
    unpack=unpack,
)

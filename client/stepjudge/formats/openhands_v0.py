"""OpenHands 0.x (earlier OpenDevin): a stream of events, each an `action` with `args` or an `observation`.

Specification: event serialisation of OpenHands 0.x. Read are a list of events (a saved trajectory), a row of an
evaluation's output.jsonl with `history`, and the oldest histories: fields beside `action`, or pairs of action and
observation. What a delegate did between its start and its end is nested under the call that started it.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gathering import gathered
from stepjudge.formats.reading.openhands_actions import (
    OF_HARNESS,
    WITHIN,
    args_of,
    emission_of,
    is_emitted,
    is_user_message,
    message_of,
    nested,
)
from stepjudge.formats.reading.openhands_totals import totals
from stepjudge.formats.reading.shape import (
    as_integer,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
)
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Call, Trace
from stepjudge.value import JsonObject

_NAME = "openhands-v0"
_LOOKED_AT = 50
_STATES = ("agent_state_changed", "null", "recall", "recall_failure")
_ROW = ("history", "metrics", "instance_id", "metadata", "instruction")
_IN_ARGS = ("thought", "is_confirmed", "confirmation_state", "keep_prompt", "security_risk", "hidden", "blocking")


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in _flat(_history(document)[:_LOOKED_AT])]
    if any("role" in each or "kind" in each for each in head):
        return NO_FIT
    if isinstance(document, list):
        return Fit("certain") if any(_is_event(each) and "timestamp" in each for each in head) else NO_FIT
    return Fit("certain") if any(_is_event(each) for each in head) else NO_FIT


def _is_event(event: JsonObject) -> bool:
    """The oldest events have neither `args` nor `extras`."""
    if isinstance(event.get("action"), str):
        return "args" in event or "thought" in event or "wait_for_response" in event
    return isinstance(event.get("observation"), str) and ("extras" in event or "content" in event)


def _history(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(as_object(document).get("history"))


def _flat(history: list[JsonValue]) -> list[JsonValue]:
    return [event for each in history for event in (each if isinstance(each, list) else [each])]


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    row = {} if isinstance(document, list) else as_object(document)
    entries = _flat(_history(document))
    events = [dict(each) for each in objects(entries)]
    reading = _Reading()
    if len(events) < len(entries):
        reading.draft.note("an event that is no object was left out")
    reading.tell_all(nested(events))
    metadata = as_object(row.get("metadata"))
    yield reading.draft.build(
        trace_id=identifier(row.get("instance_id")),
        agent=text_or_none(metadata.get("agent_class")) or "openhands",
        model=text_or_none(as_object(metadata.get("llm_config")).get("model")) or reading.model,
        usage=totals(row.get("metrics")) or totals(reading.metrics),
        final_output=reading.final_output,
        extra=rest(row, *_ROW),
    )


class _Reading:
    def __init__(self) -> None:
        self.draft = Draft(_NAME)
        self.final_output: str | None = None
        self.model: str | None = None
        self.metrics: JsonValue = None
        self._ids: dict[str, str] = {}
        """Of actions by the event's id, the id of their call."""
        self._agent_spoke = True

    def tell_all(self, events: list[JsonObject]) -> None:
        for group in gathered(events, emission=emission_of, opens_turn=is_user_message):
            event = group[0]
            self.metrics = group[-1].get("llm_metrics") or self.metrics
            if "observation" in event:
                self._tell_observation(event)
            elif event.get("action") == "system":
                self._tell_system(args_of(event))
            elif event.get("action") == "message" and not self._is_of_agent(event):
                self._tell_message(event)
            elif is_emitted(event):
                self._tell_step(group)
            elif event.get("action") not in OF_HARNESS:
                self.draft.note(f"the action {event.get('action')!r} is not the agent's and was left out")

    def _is_of_agent(self, event: JsonObject) -> bool:
        """The oldest messages do not say who wrote them: after the agent's comes the user's."""
        source = event.get("source")
        return source == "agent" if source is not None else not self._agent_spoke

    def _tell_message(self, event: JsonObject) -> None:
        self._agent_spoke = False
        args, source = args_of(event), event.get("source")
        images = as_list(args.get("image_urls", args.get("images_urls")))
        content: JsonValue = [args.get("content"), *({"type": "image", "url": each} for each in images)]
        if source in (None, "user"):
            self.draft.message("user", content if images else args.get("content"))
        else:
            self.draft.message("other", content if images else args.get("content"), name=as_text(source) or None)

    def _tell_system(self, args: JsonObject) -> None:
        self.draft.message("system", args.get("content"))
        for tool in as_list(args.get("tools")):
            self.draft.tool(tool)

    def _tell_step(self, group: list[JsonObject]) -> None:
        first = group[0]
        args = args_of(first)
        response = as_object(as_object(first.get("tool_call_metadata")).get("model_response"))
        self.model = self.model or text_or_none(response.get("model"))
        message = message_of(first)
        speaks = first.get("action") == "message"
        self._agent_spoke = speaks
        self.draft.step(
            message.get("content") or args.get("thought") or (args.get("content") if speaks else None),
            calls=[] if speaks else self._calls(group),
            reasoning=as_text(message.get("reasoning_content")),
            model=text_or_none(response.get("model")),
            usage=read_usage(response.get("usage")),
            started_at=text_or_none(first.get("timestamp")),
        )
        if group[-1].get("action") in ("finish", "reject"):
            last = args_of(group[-1])
            said = last.get("final_thought") or as_object(last.get("outputs")).get("content") or last.get("thought")
            self.final_output = text_or_none(said)

    def _calls(self, group: list[JsonObject]) -> list[Call]:
        """Those that the model emitted, whether they became actions or not; then actions of which it is not known."""
        emitted = {identifier(call.get("id")): call for call in objects(message_of(group[0]).get("tool_calls"))}
        acted: dict[str | None, JsonObject] = {}
        calls: list[Call] = []
        for event in group:
            call_id = identifier(as_object(event.get("tool_call_metadata")).get("tool_call_id"))
            if (event_id := identifier(event.get("id"))) is not None:
                self._ids[event_id] = call_id or event_id
            if call_id in emitted:
                acted[call_id] = event
            else:
                calls.append(self._action(event, call_id))
        for id_, call in emitted.items():
            function = as_object(call.get("function"))
            delegate = self._delegate(acted.get(id_, {}))
            calls.append(
                self.draft.call(as_text(function.get("name")), function.get("arguments"), id=id_, subtraces=delegate)
            )
        return calls

    def _action(self, event: JsonObject, call_id: str | None) -> Call:
        name = text_or_none(as_object(event.get("tool_call_metadata")).get("function_name"))
        return self.draft.call(
            name or as_text(event.get("action")),
            rest(args_of(event), *_IN_ARGS),
            id=call_id or identifier(event.get("id")),
            subtraces=self._delegate(event),
        )

    def _delegate(self, event: JsonObject) -> list[Trace]:
        inner = list(objects(event.get(WITHIN)))
        if not inner:
            return []
        reading = _Reading()
        reading.tell_all(inner)
        agent = text_or_none(args_of(event).get("agent"))
        return [reading.draft.build(agent=agent, final_output=reading.final_output, may_be_empty=True)]

    def _tell_observation(self, event: JsonObject) -> None:
        kind = event.get("observation")
        if kind in _STATES:
            return
        extras = as_object(event.get("extras")) or event
        code = extras.get("exit_code", as_object(extras.get("metadata")).get("exit_code"))
        call_id = identifier(as_object(event.get("tool_call_metadata")).get("tool_call_id"))
        content = event.get("content")
        self.draft.result(
            content if content not in (None, "") else as_object(extras.get("outputs")) or None,
            id=call_id or self._ids.get(identifier(event.get("cause")) or ""),
            is_error=kind in ("error", "user_rejected"),
            error_kind="other" if kind == "user_rejected" else None,
            exit_code=as_integer(code),
        )


FORMAT = Format(
    name=_NAME,
    title="OpenHands 0.x: events of actions and observations, rows with `history`",
    detect=detect,
    read=read,
)

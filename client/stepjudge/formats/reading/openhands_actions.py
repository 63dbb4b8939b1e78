"""OpenHands actions (0.x) are events that the model, a user or the harness caused, with what they were given."""

from pydantic import JsonValue

from stepjudge.formats.reading.gathering import MAX_NESTING
from stepjudge.formats.reading.shape import as_list, as_object, identifier, rest
from stepjudge.value import JsonObject

OF_HARNESS = ("change_agent_state", "recall", "null", "condensation", "condensation_request", "pause", "resume")
_IN_EVENT = ("id", "timestamp", "source", "message", "cause", "action", "observation", "tool_call_metadata")
_ABOUT_EVENT = ("timeout", "llm_metrics", "is_confirmed", "action_risk", "confirmation_state", "security_risk")
WITHIN = "_delegate"
"""Where the events of a delegate are kept with the action that started it."""


def nested(events: list[JsonObject]) -> list[JsonObject]:
    """The events with those of a delegate taken out and kept with the action that started it."""
    top: list[JsonObject] = []
    open_: list[tuple[JsonObject, list[JsonValue]]] = []
    for event in events:
        if event.get("observation") == "delegate" and open_:
            open_.pop()
        level = open_[-1][1] if open_ else top
        level.append(event)
        if event.get("action") == "delegate" and len(open_) < MAX_NESTING:
            inner: list[JsonValue] = []
            event[WITHIN] = inner
            open_.append((event, inner))
    return top


def emission_of(event: JsonObject) -> str | None:
    if "action" not in event:
        return None
    return identifier(as_object(as_object(event.get("tool_call_metadata")).get("model_response")).get("id"))


def message_of(event: JsonObject) -> JsonObject:
    response = as_object(as_object(event.get("tool_call_metadata")).get("model_response"))
    return as_object(as_object((as_list(response.get("choices")) or [None])[0]).get("message"))


def is_user_message(event: JsonObject) -> bool:
    return event.get("action") == "message" and event.get("source") == "user"


def is_emitted(event: JsonObject) -> bool:
    return event.get("source") in (None, "agent") and event.get("action") not in OF_HARNESS


def args_of(event: JsonObject) -> JsonObject:
    args = event.get("args")
    return args if isinstance(args, dict) else rest(event, *_IN_EVENT, *_ABOUT_EVENT, "kernel_init_code", WITHIN)

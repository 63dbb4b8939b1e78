"""Copilot CLI events are told apart here: those of sub-agents, and those that belong to one emission."""

from collections import defaultdict

from stepjudge.formats.reading.shape import as_object, as_text, identifier, objects
from stepjudge.value import JsonObject


def parted(events: list[JsonObject]) -> tuple[list[JsonObject], dict[str, list[JsonObject]]]:
    """The events of the session, and those of sub-agents by the call that started them."""
    calls: dict[str, str] = {}
    own: list[JsonObject] = []
    of_call: defaultdict[str, list[JsonObject]] = defaultdict(list[JsonObject])
    for event in events:
        data, agent = as_object(event.get("data")), identifier(event.get("agentId"))
        if as_text(event.get("type")).startswith("subagent."):
            if agent is not None and (call := identifier(data.get("toolCallId"))):
                calls[agent] = call
            continue
        call = identifier(data.get("parentToolCallId")) or (calls.get(agent, agent) if agent is not None else None)
        (own if call is None else of_call[call]).append(event)
    return own, of_call


def emissions(events: list[JsonObject]) -> list[list[JsonObject]]:
    """Each event alone, but with a message what belongs to it: its tokens, and the start of calls of which, in older
    logs, no message tells."""
    messages = [as_object(each.get("data")) for each in events if each.get("type") == "assistant.message"]
    known = {
        identifier(each.get("toolCallId")) for message in messages for each in objects(message.get("toolRequests"))
    }
    known |= {_called(each) for each in events if each.get("type") == "tool.user_requested"}
    groups: list[list[JsonObject]] = []
    latest: list[JsonObject] | None = None
    for event in events:
        kind = event.get("type")
        belongs = kind == "assistant.usage" or (kind == "tool.execution_start" and _called(event) not in known)
        if belongs and latest is not None:
            latest.append(event)
            continue
        groups.append([event])
        if kind in ("assistant.message", "user.message"):
            latest = groups[-1] if kind == "assistant.message" else None
    return groups


def _called(event: JsonObject) -> str | None:
    return identifier(as_object(event.get("data")).get("toolCallId"))

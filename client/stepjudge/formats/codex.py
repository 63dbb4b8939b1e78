"""Codex sessions: rollouts of `response_item`, `event_msg` and other lines, and what `codex exec --json` prints.

Specification: the protocol of the Codex CLI (`RolloutItem`, `ResponseItem`, `EventMsg`; `exec_events` for the stream),
read as of version 0.146. A rollout repeats in events what stands in its items: the items are read. Rollouts of
sub-agents are files of their own that no call names.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.codex_exec import is_of_stream, read_stream
from stepjudge.formats.reading.codex_rollout import Rollout
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import as_list, as_object, objects
from stepjudge.trace import Trace

_NAME = "codex"
_LOOKED_AT = 64
_LINES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in as_list(document)[:_LOOKED_AT]]
    if any(each.get("type") in _LINES and isinstance(each.get("payload"), dict) for each in head):
        return Fit("certain")
    return Fit("certain") if any(is_of_stream(each) for each in head) else NO_FIT


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    lines = list(objects(document))
    if any(is_of_stream(line) for line in lines[:_LOOKED_AT]):
        yield read_stream(lines, _NAME)
    else:
        yield Rollout(lines, _NAME).trace()


FORMAT = Format(
    name=_NAME,
    title="Codex CLI: rollouts and exec --json",
    detect=detect,
    read=read,
)

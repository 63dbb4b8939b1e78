"""tau-bench results: one attempt at a task against a simulated user, with its reward.

Specification: sierra-research/tau-bench, the results that `run.py` writes (`task_id`, `reward`, `info`, `traj`, `trial`).
The simulated user's first message is the task. The environment answers a failed call with a text that begins `Error:` and
an unknown tool with `Unknown action NAME`: these are its own signals, and there is none for success.
"""

from collections.abc import Iterator
from functools import partial

from pydantic import JsonValue

from stepjudge.formats.reading.attempts import with_steps
from stepjudge.formats.reading.chat_message import chat_message
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.emission import Said
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import as_object, identifier, objects, rest
from stepjudge.trace import ErrorKind, Trace
from stepjudge.value import JsonObject

_NAME = "tau-bench"
_LOOKED_AT = 20


def detect(document: JsonValue) -> Fit:
    """A list of results is read as a whole, since some attempts in it may have failed before their first step."""
    if isinstance(document, list):
        fits = [_fit(as_object(each)) for each in document[:_LOOKED_AT]]
        return min(fits, key=lambda fit: fit.strength, default=NO_FIT)
    return _fit(as_object(document))


def _fit(outer: JsonObject) -> Fit:
    if not isinstance(outer.get("traj"), list) or "task_id" not in outer:
        return NO_FIT
    if "reward" not in outer and "info" not in outer:
        return Fit("near", "it has `task_id` and `traj`, but neither `reward` nor `info`")
    return Fit("certain")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    rows = objects(document) if isinstance(document, list) else [as_object(document)]
    yield from with_steps(partial(_trace, row) for row in rows)


def _trace(row: JsonObject) -> Trace:
    draft = Draft(_NAME)
    for message in objects(row.get("traj")):
        _tell(draft, chat_message(message))
    return draft.build(
        trace_id=_id(identifier(row.get("task_id")), identifier(row.get("trial"))), extra=rest(row, "traj")
    )


def _id(task: str | None, trial: str | None) -> str | None:
    return None if task is None else f"task-{task}/trial-{trial}" if trial is not None else f"task-{task}"


def _tell(draft: Draft, said: Said) -> None:
    match said.role:
        case "assistant":
            calls = [draft.call(each.name, each.arguments, id=each.id) for each in said.calls]
            draft.step(said.content, calls=calls, reasoning=said.reasoning)
        case "tool":
            kind = _error(said)
            draft.result(
                said.content, id=said.call_id, name=said.name, is_error=True if kind else None, error_kind=kind
            )
        case role:
            draft.message(role, said.content, name=said.name)


def _error(said: Said) -> ErrorKind | None:
    if said.content.text.startswith("Error:"):
        return "tool_error"
    return "unknown_tool" if said.name and said.content.text == f"Unknown action {said.name}" else None


FORMAT = Format(name=_NAME, title="tau-bench results", detect=detect, read=read)

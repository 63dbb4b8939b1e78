"""The canonical trace: stepjudge's own JSON, as `stepjudge convert` writes it. Reading it gives back what was written.

Specification: `stepjudge.trace.Trace`, whose JSON Schema is `Trace.model_json_schema()`.
"""

from collections.abc import Iterator

from pydantic import JsonValue, ValidationError

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import as_list, as_object
from stepjudge.trace import Trace

_SHOWN = 5


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if not isinstance(outer.get("trace_id"), str) or not isinstance(outer.get("steps"), list):
        return NO_FIT
    first = as_object((as_list(outer["steps"]) or [None])[0])
    if {"index", "turn", "llm_call"} <= first.keys():
        return Fit("certain")
    return Fit("near", "it has `trace_id` and `steps`, but its steps have no `index`, `turn` and `llm_call`")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    try:
        trace = Trace.model_validate(document)
    except ValidationError as error:
        raise UnreadableTrace(_faults(error)) from None
    if not trace.steps:
        raise UnreadableTrace("the trace has no steps: there is nothing to judge")
    yield trace


def _faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{_path(fault['loc'])}: {fault['msg']}" for fault in faults[:_SHOWN]]
    more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    return f"the trace does not fit its schema: {'; '.join(shown)}{more}"


def _path(location: tuple[int | str, ...]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


FORMAT = Format(name="stepjudge", title="stepjudge's canonical trace JSON", detect=detect, read=read)

"""A passage is a text of a trace as pages show it: the whole, or head and tail where it is long."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.trace import Call, Step, Trace

HEAD, TAIL = 4_000, 1_500


@dataclass(frozen=True)
class Passage:
    place: str
    """Such as `s3.c1.result`."""
    head: str
    left_out: int = 0
    """Characters between head and tail."""
    tail: str = ""


def passage(place: str, text: str, *, head: int = HEAD, tail: int = TAIL) -> Passage:
    if len(text) <= head + tail + 200:
        return Passage(place, text)
    return Passage(place, text[:head], len(text) - head - tail, text[-tail:])


def texts(trace: Trace) -> dict[str, str]:
    """Every text of a trace, by place."""
    found = {"system": trace.system, "task": trace.task}
    for step in trace.steps:
        found |= texts_of(step)
    return found


def texts_of(step: Step) -> dict[str, str]:
    """Every text of a step, by place, in the order in which they came."""
    place = f"s{step.index}"
    found = {f"{place}.before{number}": each.text for number, each in enumerate(step.before, start=1)}
    found[f"{place}.reasoning"] = step.reasoning
    found[f"{place}.message"] = step.message
    for number, call in enumerate(step.calls, start=1):
        found[f"{place}.c{number}.arguments"] = arguments(call)
        found[f"{place}.c{number}.result"] = call.result.text
    if step.observation:
        found[f"{place}.observation"] = step.observation.text
    return found


def arguments(call: Call) -> str:
    """One after the other, texts as they are; or as the model wrote them, where they were no JSON."""
    if call.arguments is None:
        return call.arguments_raw or ""
    return "\n".join(f"{name}: {_value(value)}" for name, value in call.arguments.items())


def _value(value: JsonValue) -> str:
    if isinstance(value, str):
        return f"\n{value}" if "\n" in value else value
    return json.dumps(value, indent=2, ensure_ascii=False)

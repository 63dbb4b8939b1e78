"""A needless repeat: a step that only looked something up is taken again at once, with the same result."""

import re
from functools import partial
from random import Random

from stepjudge.fault_injection.fault import FaultKind, Injected, Place
from stepjudge.trace import Call, Step, Trace
from stepjudge.trace_edit import renumbered

_READS = re.compile(
    r"(?i)^(?:search|read|list|find|grep|query|fetch|view|open|lookup|look_up|retrieve|describe|show|get)(?=_|[A-Z]|$)"
    r"|(?:_|(?<=[a-z]))(?:search|lookup|query|retrieval)$"
)
_CHANGES = re.compile(r"(?i)create|update|delete|write|save|send|set|add|remove|replace|insert|next|scroll|edit|post")


class NeedlessRepeat:
    kind: FaultKind = "needless_repeat"
    about = "a look-up is made again at once, with the same arguments and the same result"
    breaks: tuple[str, ...] = ("useful",)

    def places(self, trace: Trace) -> list[Place]:
        return [partial(_break, trace, step) for step in trace.steps if step.calls and all(map(_looks_up, step.calls))]


def _looks_up(call: Call) -> bool:
    reads = _READS.search(call.name) is not None and _CHANGES.search(call.name) is None
    return reads and call.result.state == "present" and call.result.is_error is not True


def _break(trace: Trace, step: Step, _random: Random) -> Injected | None:
    again = step.model_copy(update={"before": (), "calls": tuple(map(_without_id, step.calls))})
    steps = [*trace.steps[: step.index], again, *trace.steps[step.index :]]
    broken = trace.model_copy(update={"steps": renumbered(steps)})
    return Injected("needless_repeat", broken, step.index + 1, step.index, f"step {step.index} is taken twice")


def _without_id(call: Call) -> Call:
    return call.model_copy(update={"id": None})

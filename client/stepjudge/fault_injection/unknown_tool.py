"""An unknown tool: a call names a tool that was not offered, and the environment refuses it, as environments do."""

from functools import partial
from random import Random

from stepjudge.fault_injection.fault import FaultKind, Injected, Place, error
from stepjudge.trace import Trace
from stepjudge.trace_edit import with_call, with_step

_ENDINGS = ("_v2", "_plus", "_all", "_extended", "_fast")
_SHOWN = 20


class UnknownTool:
    kind: FaultKind = "unknown_tool"
    about = "a call names a tool that was not offered, and is refused"
    breaks: tuple[str, ...] = ("valid", "useful")

    def places(self, trace: Trace) -> list[Place]:
        offered = {tool.name for tool in trace.tools}
        return [
            partial(_break, trace, step.index, number) for step, number, call in trace.calls() if call.name in offered
        ]


def _break(trace: Trace, index: int, number: int, random: Random) -> Injected | None:
    offered = [tool.name for tool in trace.tools]
    step = trace.steps[index - 1]
    call = step.calls[number - 1]
    name = f"{call.name}{random.choice(_ENDINGS)}"
    if name in offered:
        return None
    refusal = f"Error: unknown tool '{name}'. Available tools: {', '.join(offered[:_SHOWN])}"
    refused = call.model_copy(update={"name": name, "result": error(trace, refusal, "unknown_tool")})
    broken = with_step(trace, with_call(step, number, refused))
    return Injected("unknown_tool", broken, index, index, f"call {number}: {call.name!r} became {name!r}")

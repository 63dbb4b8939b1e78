"""A fault is one way to break one step; a place is where a trace can be broken so."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal, Protocol

from stepjudge.trace import Result, Trace

FaultKind = Literal[
    "wrong_argument",
    "skipped_precondition",
    "against_observation",
    "needless_repeat",
    "unknown_tool",
    "false_claim",
    "swallowed_error",
]


@dataclass(frozen=True)
class Injected:
    """A broken trace, and which of its steps is at fault."""

    kind: FaultKind
    broken: Trace
    step: int
    """The step at fault, in the broken trace."""
    parent_step: int
    """The step that stands there in the clean parent; for a repeat, the step that is repeated."""
    what: str
    """What was done, in words."""
    touched: tuple[int, ...] = ()
    """Earlier steps whose results were changed, without a fault of the agent there."""


Place = Callable[[Random], Injected | None]
"""Breaks the trace here; null when chance brought nothing that fits."""


class Fault(Protocol):
    """One kind."""

    kind: FaultKind
    about: str
    """What is broken, in one line."""
    breaks: tuple[str, ...]
    """Criteria of the rubric `step` that the broken step does not meet."""

    def places(self, trace: Trace) -> list[Place]:
        """Every place of the trace where it fits, in the order of the steps."""
        ...


def error(trace: Trace, text: str, kind: Literal["unknown_tool", "timeout"]) -> Result:
    """An error as this trace's format would show it: with a flag only where its results have one."""
    flagged = any(call.result.is_error is not None for _, _, call in trace.calls())
    return Result(text=text, state="present", is_error=True if flagged else None, error_kind=kind if flagged else None)

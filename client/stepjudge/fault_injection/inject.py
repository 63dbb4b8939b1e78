"""Injecting draws places at random, by a seed, and breaks the trace there: the same seed breaks it in the same way."""

from collections.abc import Sequence
from random import Random

from stepjudge.digest import digest
from stepjudge.fault_injection.against_observation import AgainstObservation
from stepjudge.fault_injection.false_claim import FalseClaim
from stepjudge.fault_injection.fault import Fault, Injected
from stepjudge.fault_injection.needless_repeat import NeedlessRepeat
from stepjudge.fault_injection.skipped_precondition import SkippedPrecondition
from stepjudge.fault_injection.swallowed_error import SwallowedError
from stepjudge.fault_injection.unknown_tool import UnknownTool
from stepjudge.fault_injection.wrong_argument import WrongArgument
from stepjudge.trace import Trace

FAULTS: tuple[Fault, ...] = (
    WrongArgument(),
    SkippedPrecondition(),
    AgainstObservation(),
    NeedlessRepeat(),
    UnknownTool(),
    FalseClaim(),
    SwallowedError(),
)


MOST_STEPS = 300
"""Finding where a value came from takes time by the square of the steps: a longer trace is broken in its first ones."""


def injected(trace: Trace, faults: Sequence[Fault], *, seed: int, each: int = 1) -> list[Injected]:
    """Up to `each` broken traces per kind of fault; fewer where the trace has fewer places for it."""
    found: list[Injected] = []
    if len(trace.steps) > MOST_STEPS:
        trace = trace.model_copy(update={"steps": trace.steps[:MOST_STEPS], "after": (), "final_output": None})
        faults = [fault for fault in faults if fault.kind != "false_claim"]
    for fault in faults:
        random = Random(digest([seed, fault.kind, trace.trace_id, trace.task]))
        places = fault.places(trace)
        random.shuffle(places)
        made = 0
        for place in places:
            if made == each:
                break
            if broken := place(random):
                found.append(broken)
                made += 1
    return found

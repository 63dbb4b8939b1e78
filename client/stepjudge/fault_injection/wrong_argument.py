"""A wrong argument: a value that the agent had seen is replaced by one that nobody ever mentioned. Results stay."""

from functools import partial
from random import Random

from stepjudge.fault_injection.fault import FaultKind, Injected, Place
from stepjudge.mention import Path, leaves, lookalike, result_text, seen_before, stands_in, swapped, words_of
from stepjudge.trace import Trace
from stepjudge.trace_edit import with_call, with_step, with_value


class WrongArgument:
    kind: FaultKind = "wrong_argument"
    about = "an argument value that was known is replaced by one that nobody mentioned"
    breaks: tuple[str, ...] = ("valid", "arguments")

    def places(self, trace: Trace) -> list[Place]:
        found: list[Place] = []
        for step, number, call in trace.calls():
            if call.arguments_state != "ok":
                continue
            seen = seen_before(trace, step.index)
            for path, value in leaves(call.arguments or {}):
                # the longest word says most: a name rather than an article
                known = [word for word in words_of(value) if stands_in(word, seen)]
                if known:
                    found.append(partial(_break, trace, step.index, number, path, max(known, key=len)))
        return found


def _break(trace: Trace, index: int, number: int, path: Path, word: str, random: Random) -> Injected | None:
    step = trace.steps[index - 1]
    call = step.calls[number - 1]
    value = dict(leaves(call.arguments or {}))[path]
    other = lookalike(word, random, f"{seen_before(trace, index)}\n{result_text(step)}")
    if other is None:
        return None
    changed = with_call(step, number, with_value(call, path, swapped(value, word, other)))
    where = ".".join(map(str, path))
    return Injected(
        "wrong_argument", with_step(trace, changed), index, index, f"call {number}, {where}: {word!r} became {other!r}"
    )

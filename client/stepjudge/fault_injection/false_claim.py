"""A false final claim: in the last message, what was observed is replaced by something that nobody ever mentioned."""

import re
from functools import partial
from random import Random

from stepjudge.fault_injection.fault import FaultKind, Injected, Place
from stepjudge.mention import lookalike, seen_before, stands_in, swapped, words_of
from stepjudge.trace import Trace
from stepjudge.trace_edit import with_step

_MARKED = re.compile(r"(?is)<answer>(.{1,300}?)</answer>|\\boxed\{(.{1,300}?)\}|\banswer\W{1,6}(.{1,300})$")
_FEW = re.compile(r"[A-Z0-9]")


class FalseClaim:
    kind: FaultKind = "false_claim"
    about = "a name or number of the final message is replaced by one that nobody mentioned"
    breaks: tuple[str, ...] = ("valid",)

    def places(self, trace: Trace) -> list[Place]:
        if not trace.steps or trace.steps[-1].calls or not trace.steps[-1].message.strip():
            return []
        last = trace.steps[-1]
        seen = seen_before(trace, last.index)
        claimed = [word for word in words_of(_claim(last.message)) if _FEW.match(word) and stands_in(word, seen)]
        return [partial(_break, trace, word) for word in claimed]


def _claim(message: str) -> str:
    """The marked answer where there is one: a claim is changed where it matters."""
    marked = list(_MARKED.finditer(message))
    return next((text for text in marked[-1].groups() if text), message) if marked else message


def _break(trace: Trace, word: str, random: Random) -> Injected | None:
    last = trace.steps[-1]
    other = lookalike(word, random, f"{seen_before(trace, last.index)}\n{last.message}")
    if other is None:
        return None
    broken = with_step(trace, last.model_copy(update={"message": swapped(last.message, word, other)}))
    output = trace.final_output and swapped(trace.final_output, word, other)
    broken = broken.model_copy(update={"final_output": output})
    return Injected("false_claim", broken, last.index, last.index, f"{word!r} became {other!r}")

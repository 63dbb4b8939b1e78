"""Acting against an observation: of several values of one kind that a result holds, the agent takes another one."""

import re
from functools import partial
from random import Random

from stepjudge.fault_injection.fault import FaultKind, Injected, Place
from stepjudge.mention import (
    Path,
    is_name,
    leaves,
    opening_text,
    result_text,
    seen_before,
    stands_in,
    swapped,
    words_of,
)
from stepjudge.trace import Trace
from stepjudge.trace_edit import with_call, with_step, with_value

_RUNS = re.compile(r"[0-9]+|[A-Za-z]+|[^0-9A-Za-z]")


class AgainstObservation:
    kind: FaultKind = "against_observation"
    about = "an argument value that a result gave is replaced by another value of the same result"
    breaks: tuple[str, ...] = ("valid", "arguments")

    def places(self, trace: Trace) -> list[Place]:
        found: list[Place] = []
        task = opening_text(trace)
        for step, number, call in trace.calls():
            sources = [result_text(earlier) for earlier in trace.steps[: step.index - 1]]
            for path, value in leaves(call.arguments or {}):
                for word in words_of(value, shortest=4):
                    source = next((text for text in sources if stands_in(word, text)), None)
                    if source is None or stands_in(word, task) or not is_name(word, source):
                        continue
                    if _alike(word, source, value):
                        found.append(partial(_break, trace, step.index, number, path, word, source))
                        break
        return found


def _alike(word: str, source: str, value: str) -> list[str]:
    """Words of the source with the shape of this one that do not stand in the argument yet."""
    shape = re.compile(rf"(?<![A-Za-z0-9_]){_shape(word)}(?![A-Za-z0-9_])")
    others = [other for other in dict.fromkeys(shape.findall(source)) if other != word]
    return [other for other in others if is_name(other, source) and not stands_in(other, value)]


def _shape(word: str) -> str:
    """Digits for as many digits, about as many letters for letters with the same first case, all else as it stands."""
    parts: list[str] = []
    for run in _RUNS.findall(word):
        if run[0].isdigit():
            parts.append(rf"[0-9]{{{len(run)}}}")
        elif run[0].isalpha():
            first = "[A-Z]" if run[0].isupper() else "[a-z]"
            least, most = (len(run) - 3, len(run) + 1) if len(run) > 3 else (len(run) - 1, len(run) - 1)
            parts.append(rf"{first}[A-Za-z]{{{least},{most}}}")
        else:
            parts.append(re.escape(run))
    return "".join(parts)


def _break(
    trace: Trace, index: int, number: int, path: Path, word: str, source: str, random: Random
) -> Injected | None:
    step = trace.steps[index - 1]
    call = step.calls[number - 1]
    value = dict(leaves(call.arguments or {}))[path]
    later = [text for text in _alike(word, source, value) if stands_in(text, seen_before(trace, index))]
    if not later:
        return None
    other = random.choice(later)
    changed = with_call(step, number, with_value(call, path, swapped(value, word, other)))
    what = f"call {number}, {'.'.join(map(str, path))}: {word!r} became {other!r}, which the same result holds"
    return Injected("against_observation", with_step(trace, changed), index, index, what)

"""A repetition is a call that was made before: identical with nothing changed since, or nearly identical."""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from judge_service.facts.lookup import is_look_up, may_change_by_itself
from stepjudge.trace import Call, Result, Step
from stepjudge.verdict import Fact

_NEAR = 0.8

# Both bound the work per call. Calls with more words write whole files; exact repeats of those are still found.
_WINDOW = 64
_MOST_WORDS = 300
_LONGEST = 20_000

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class _Made:
    """A call as it was made last, with how often in a row nothing changed."""

    step: int
    number: int
    result: Result
    changes: int
    times: int


class Repetitions:
    """Remembers the calls so far, and counts what may have changed the world between them."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], _Made] = {}
        self._recent: dict[str, deque[tuple[int, int, frozenset[str]]]] = {}
        self._changes = 0

    def of(self, step: Step) -> Iterator[Fact]:
        # Whoever speaks in between may have changed something, or asks to look again.
        self._changes += len(step.before)
        for number, call in enumerate(step.calls, start=1):
            yield from self._of_call(step.index, number, call)

    def _of_call(self, index: int, number: int, call: Call) -> Iterator[Fact]:
        spelled = _spelled(call)
        if spelled is None:
            self._changes += 1
            return
        before = self._made.get((call.name, spelled))
        same = before is not None and _same(before.result, call.result)
        reads = is_look_up(call)
        repeated = before is not None and same and reads and self._unchanged(before, call)
        if not reads:
            self._changes += 1
        times = before.times + 1 if before is not None and repeated else 0
        self._made[call.name, spelled] = _Made(index, number, call.result, self._changes, times)
        near = self._nearest(index, number, call.name, spelled)
        if before is not None and same:
            detail = f"same call as {_place(before.step, before.number, index)}, with the same result"
            yield Fact(name="repeat" if repeated else "same_call", call=number, detail=detail, settles=repeated)
            if times > 1:
                yield Fact(name="third_try", call=number, detail=f"repeat number {times} with nothing changed")
        elif near is not None:
            yield near

    def _unchanged(self, before: _Made, call: Call) -> bool:
        return before.changes == self._changes and not may_change_by_itself(call)

    def _nearest(self, index: int, number: int, name: str, spelled: str) -> Fact | None:
        if len(spelled) > _LONGEST:
            return None
        words = frozenset(_WORD.findall(spelled.lower()))
        if not words or len(words) > _MOST_WORDS:
            return None
        recent = self._recent.setdefault(name, deque(maxlen=_WINDOW))
        similar = max(((_jaccard(words, other), step, call) for step, call, other in recent), default=(0.0, 0, 0))
        recent.append((index, number, words))
        if similar[0] < _NEAR:
            return None
        detail = f"{similar[0]:.2f} of the words shared with {_place(similar[1], similar[2], index)}"
        return Fact(name="near_duplicate", call=number, detail=detail)


def _spelled(call: Call) -> str | None:
    """The arguments in one spelling; None when the trace does not tell them."""
    if call.arguments_state == "ok":
        return json.dumps(call.arguments or {}, sort_keys=True, ensure_ascii=False)
    return call.arguments_raw if call.arguments_state == "unparsed" else None


def _same(one: Result, other: Result) -> bool:
    """Whether both are there and alike; what an attachment shows is not known."""
    if other.state not in ("present", "empty") or one.attachments or other.attachments:
        return False
    return (one.state, one.text, one.exit_code) == (other.state, other.text, other.exit_code)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    if min(len(one), len(other)) < _NEAR * max(len(one), len(other)):
        return 0.0
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _place(step: int, number: int, index: int) -> str:
    return (
        f"call {number} of this step" if step == index else f"step {step}" + (f", call {number}" if number > 1 else "")
    )

"""Pairing gives each result to the call it answers: by id, else by name, else by order, and never twice."""

from collections import defaultdict, deque
from dataclasses import dataclass
from functools import cached_property

from stepjudge.formats.reading.made import made
from stepjudge.trace import Call, Result


@dataclass
class OpenCall:
    """A call that may still get its result."""

    call: Call
    turn: int
    result: Result | None = None

    def closed(self) -> Call:
        return self.call if self.result is None else made(Call, **{**self.call.__dict__, "result": self.result})


class _Queue(deque[OpenCall]):
    """Calls that wait, the first first. One call waits in several queues; once answered it is passed over in all."""

    def next(self) -> OpenCall | None:
        while self and self[0].result is not None:
            self.popleft()
        return self[0] if self else None


class _OpenStep:
    """The calls of one step, by what a result without their id may tell of them."""

    def __init__(self, calls: list[OpenCall]) -> None:
        self._calls = calls

    # Each is made when it is first asked for: most results have the id of their call.
    @cached_property
    def _any(self) -> _Queue:
        return _Queue(self._calls)

    @cached_property
    def _without_id(self) -> _Queue:
        return _Queue(each for each in self._calls if each.call.id is None)

    @cached_property
    def _by_name(self) -> defaultdict[tuple[bool, str], _Queue]:
        queues: defaultdict[tuple[bool, str], _Queue] = defaultdict(_Queue)
        for each in self._calls:
            queues[False, each.call.name].append(each)
            if each.call.id is None:
                queues[True, each.call.name].append(each)
        return queues

    @property
    def first(self) -> OpenCall | None:
        return self._any.next()

    def find(self, name: str | None, *, without_id: bool) -> OpenCall | None:
        if name is not None:
            return self._by_name[without_id, name].next()
        return (self._without_id if without_id else self._any).next()


class Pairing:
    """The calls of a trace that wait for results."""

    def __init__(self) -> None:
        self._steps: list[_OpenStep] = []
        self._by_id: defaultdict[str, list[_Queue]] = defaultdict(list[_Queue])

    def add(self, calls: tuple[Call, ...], turn: int) -> list[OpenCall]:
        opened = [OpenCall(call, turn) for call in calls]
        if opened:
            self._steps.append(_OpenStep(opened))
        of_step: dict[str, _Queue] = {}
        for each in opened:
            id = each.call.id
            if id in of_step:
                of_step[id].append(each)
            elif id is not None:
                of_step[id] = _Queue((each,))
                self._by_id[id].append(of_step[id])
        return opened

    def answer(self, result: Result, *, id: str | None, name: str | None, turn: int) -> OpenCall | None:
        """The call that the result was given to; null when it answers none."""
        found = self._of_id(id) if id is not None else None
        if found is None:
            found = self._of_latest_step(name, turn, without_id=id is not None)
        if found is not None:
            found.result = result
        return found

    def _of_id(self, id: str) -> OpenCall | None:
        """In the latest step that has one, since ids repeat and an old call may have gone unanswered."""
        queues = self._by_id.get(id, [])
        while queues:
            found = queues[-1].next()
            if found is not None:
                return found
            queues.pop()
        return None

    def _of_latest_step(self, name: str | None, turn: int, *, without_id: bool) -> OpenCall | None:
        """A result that has an id is not given to a call with another one."""
        while self._steps and self._steps[-1].first is None:
            self._steps.pop()
        latest = self._steps[-1].first if self._steps else None
        if latest is None or latest.turn != turn:
            return None
        return self._steps[-1].find(name, without_id=without_id)

"""A limiter lets requests to one provider through: at its pace, within its quotas, and in turn between callers."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import get_args

from judge_service import provider_error
from judge_service.circuit import Circuit, CircuitOpen
from judge_service.model_settings import ModelSettings
from judge_service.pace import Pace
from judge_service.quota import Kind, Quota, read
from stepjudge.digest import digest

CALLER: ContextVar[object] = ContextVar("caller", default=None)
"""Who asks: callers take turns, so that a long trace does not keep a short one waiting."""


@dataclass(eq=False)
class Permit:
    """Leave to send one request. Say what came of it; an error that leaves the block says so by itself."""

    level: int
    started: float
    probe: bool = False
    """Whether it tries a provider that was down."""
    headers: Mapping[str, str] | None = None

    def answered(self, headers: Mapping[str, str]) -> None:
        self.headers = headers


@dataclass(eq=False)
class _Waiting:
    caller: object
    tokens: int
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    level: int = 0
    turned_away: bool = False


class Limiter:
    """For the tasks of one event loop."""

    def __init__(
        self, most: int, longest_hold_s: float, circuit: Circuit | None = None, name: str = "a provider"
    ) -> None:
        self.name = name
        self.pace = Pace(most)
        self.circuit = circuit or Circuit(opens_after=10, first_pause_s=5.0)
        self._last_failure = ""
        self._longest_hold_s = longest_hold_s
        self.quotas: dict[Kind, Quota] = {}
        self._held_until = 0.0
        self._queue: OrderedDict[object, deque[_Waiting]] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queue.values()))

    @asynccontextmanager
    async def permit(self, tokens: int) -> AsyncGenerator[Permit]:
        """Wait for one's turn, and hold it for the block. `tokens` is about the most that the request will use.

        Raises CircuitOpen at once while the provider is down.
        """
        if not self.circuit.admits(asyncio.get_running_loop().time()):
            raise self._open()
        probe = self.circuit.probing
        try:
            permit = Permit(await self._enter(tokens), asyncio.get_running_loop().time(), probe)
        except BaseException:
            if probe:
                self.circuit.left()
            raise
        try:
            yield permit
        except Exception as error:
            self._failed(error, permit, asyncio.get_running_loop().time())
            raise
        except BaseException:
            self.pace.left()
            if probe:
                self.circuit.left()
            raise
        else:
            now = asyncio.get_running_loop().time()
            self.circuit.answered(now)
            self.pace.answered(now, permit.level, permit.started)
            self._told(permit.headers or {}, now)
        finally:
            self._let_in()

    async def _enter(self, tokens: int) -> int:
        waiting = _Waiting(CALLER.get(), tokens)
        self._queue.setdefault(waiting.caller, deque()).append(waiting)
        self._let_in()
        try:
            await waiting.entered.wait()
        except BaseException:
            if not waiting.entered.is_set():
                self._forget(waiting)
            elif not waiting.turned_away:
                self.pace.left()
            self._let_in()
            raise
        if waiting.turned_away:
            raise self._open()
        return waiting.level

    def _let_in(self) -> None:
        """As many as may start now; a timer for the next one where only time is missing."""
        while self._queue:
            now = asyncio.get_running_loop().time()
            caller, line = next(iter(self._queue.items()))
            if (held := self._held(line[0].tokens, now)) > 0:
                return self._again_in(held)
            if not self.pace.room:
                self.pace.grow(now)
                if not self.pace.room:
                    return self._again_in(self.pace.next_in()) if self.pace.limit < self.pace.most else None
            waiting = line.popleft()
            self._queue.move_to_end(caller)
            if not line:
                del self._queue[caller]
            waiting.level = self.pace.started(now)
            for kind, quota in self.quotas.items():
                quota.take(waiting.tokens if kind == "tokens" else 1, now)
            waiting.entered.set()
        return None

    def _held(self, tokens: int, now: float) -> float:
        ready = [quota.ready_in(tokens if kind == "tokens" else 1, now) for kind, quota in self.quotas.items()]
        return max(self._held_until - now, *ready, 0.0)

    def _again_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # a wait below the resolution of the clock would come back at once, for ever
        self._timer = asyncio.get_running_loop().call_later(max(seconds, 0.001), self._let_in)

    def _failed(self, error: Exception, permit: Permit, now: float) -> None:
        self._count(error, permit, now)
        if not provider_error.overloaded(error):
            self.pace.left()
            return
        self.pace.refused(now, permit.level, permit.started)
        asked = provider_error.retry_after(error) or 0.0
        if asked <= self._longest_hold_s:  # whoever asks for longer refuses each request by itself
            self._held_until = max(self._held_until, now + asked)
        self._told(provider_error.headers(error), now)

    def _count(self, error: Exception, permit: Permit, now: float) -> None:
        """What a failure tells about whether the provider is up."""
        match provider_error.sign_of_life(error):
            case True:
                self.circuit.answered(now)
            case None:
                if permit.probe:
                    self.circuit.left()
            case False:
                self._last_failure = provider_error.words(error, ())
                if self.circuit.failed(now, permit.started, probe=permit.probe):
                    self._turn_away()

    def _turn_away(self) -> None:
        """Nobody waits for a provider that is down."""
        for line in self._queue.values():
            for waiting in line:
                waiting.turned_away = True
                waiting.entered.set()
        self._queue.clear()

    def pause(self) -> str | None:
        """That the circuit is open and until when, in words; null while it is closed."""
        if self.circuit.state == "closed":
            return None
        seconds = self.circuit.remaining_s(asyncio.get_running_loop().time())
        again = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="seconds").replace("+00:00", "Z")
        until = f"nothing is asked until {again}" if seconds else "the next request tries whether it is back"
        if self.circuit.state == "probing":
            until = "one request is trying whether it is back"
        return f"the circuit is open after {self.circuit.failures} failures in a row: {until}"

    def _open(self) -> CircuitOpen:
        return CircuitOpen(f"{self.pause() or 'the circuit was open'}; the last failure was: {self._last_failure}")

    def _told(self, headers: Mapping[str, str], now: float) -> None:
        for kind in get_args(Kind):
            if (told := read(headers, kind)) is None:
                continue
            size, left, full_in_s = told
            quota = self.quotas.setdefault(kind, Quota(size, left, size / 60, now))
            quota.told(size, left, full_in_s, now)

    def _forget(self, waiting: _Waiting) -> None:
        line = self._queue[waiting.caller]
        line.remove(waiting)
        if not line:
            del self._queue[waiting.caller]


class Limiters:
    """One limiter for each credential, address and model, shared by all judges of the process that use them."""

    def __init__(self) -> None:
        self._made: dict[str, Limiter] = {}

    def of(self, at: Sequence[str], settings: ModelSettings) -> Limiter:
        secret = settings.api_key.get_secret_value() if settings.api_key else ""
        name = digest([list(at), settings.model, digest(secret)])
        circuit = Circuit(settings.circuit_opens_after, settings.circuit_pause_s)
        shown = f"{settings.model} at {' or '.join(at)}" if at else settings.model
        return self._made.setdefault(name, Limiter(settings.max_in_flight, settings.max_wait_s, circuit, shown))

    @property
    def all(self) -> tuple[Limiter, ...]:
        return tuple(self._made.values())

"""The books are what a provider writes down about the requests it got: one line for each, and the sums."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, replace

from fakes.completion import NO_USAGE, Usage
from fakes.request import Request

NO_ANSWER = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what became of it."""

    request: Request
    received: float
    """By the monotonic clock."""
    status: int | None = None
    """None while it waits; 0 when it never got a whole answer (hung, cut, or the client left)."""
    fault: str | None = None
    answered: float | None = None
    usage: Usage = NO_USAGE


class Books:
    """Written by the provider's thread and read by any."""

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._exchanges: dict[int, Exchange] = {}
        self._statuses: Counter[int] = Counter()
        self._usage = NO_USAGE
        self.count = self.in_flight = self.in_flight_peak = self.disconnects = 0

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        with self._lock:
            return tuple(self._exchanges.values())

    @property
    def statuses(self) -> dict[int, int]:
        with self._lock:
            return dict(self._statuses)

    @property
    def usage(self) -> Usage:
        with self._lock:
            return self._usage

    def open(self, request: Request) -> None:
        with self._lock:
            self.count += 1
            self.in_flight += 1
            self.in_flight_peak = max(self.in_flight_peak, self.in_flight)
            if self._keep:
                self._exchanges[request.number] = Exchange(request, time.monotonic())

    def close(self, request: Request, *, status: int, fault: str | None, usage: Usage, left: bool = False) -> None:
        with self._lock:
            self.in_flight -= 1
            self.disconnects += left
            self._statuses[status] += 1
            self._usage += usage
            if self._keep:
                self._exchanges[request.number] = replace(
                    self._exchanges[request.number],
                    status=status,
                    fault=fault,
                    answered=time.monotonic(),
                    usage=usage,
                )

"""A loop of virtual time: sleeping costs nothing, so that hours of pacing are tested in a moment, and always alike."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Patient(selectors.DefaultSelector):
    """Instead of waiting, it says how long it would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("nothing will ever happen: every task waits for another")
        self.waited += max(timeout, 0.0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, selector: _Patient) -> None:
        self._patient = selector
        super().__init__(selector)

    def time(self) -> float:
        return self._patient.waited


def run(work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, in no time."""
    with asyncio.Runner(loop_factory=lambda: _Loop(_Patient())) as runner:
        return runner.run(work)

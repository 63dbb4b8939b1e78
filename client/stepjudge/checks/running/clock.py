"""A clock carries the time limit of a check into a thread, which nobody can stop from outside."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


@dataclass(frozen=True)
class Clock:
    """When the work must be done, on the monotonic clock."""

    end: float

    def left(self) -> float:
        """Seconds left, never 0 or less. Raises TimeoutError when there are none."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


async def in_thread(work: Callable[[Clock], T]) -> T:
    """What the blocking work returns. It is waited for even when cancelled: it looks at the clock, so it ends."""
    left = anyio.current_effective_deadline() - anyio.current_time()
    return await anyio.to_thread.run_sync(work, Clock(time.monotonic() + left))

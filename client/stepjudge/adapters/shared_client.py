"""A shared client is one per process and service address: every metric in every thread and event loop asks through it.

It lives in a thread with an event loop of its own. So connections are reused, and an embedded service started once, also
where a host makes a new event loop for each sample. A cancelled caller cancels its request; what is left is closed at exit.
"""

import atexit
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Unpack

from anyio import move_on_after, to_thread
from anyio.from_thread import start_blocking_portal

from stepjudge.client import AsyncJudgeClient, Document, ScoreOptions
from stepjudge.contract import Scorecard
from stepjudge.errors import JudgeUnreachable

Key = tuple[object, ...]


class SharedClient:
    """Started when made. Raises JudgeUnreachable when an embedded service cannot start."""

    def __init__(self, make: Callable[[], AsyncJudgeClient]) -> None:
        with ExitStack() as stack:  # what a failing start has opened is closed
            self._portal = stack.enter_context(start_blocking_portal(name="stepjudge"))
            self._client = stack.enter_context(self._portal.wrap_async_context_manager(make()))
            self._stack = stack.pop_all()

    def score(self, trace: Document, timeout_s: float, /, **options: Unpack[ScoreOptions]) -> Scorecard:
        """For callers without an event loop, or that may block theirs. Raises JudgeUnreachable after `timeout_s`."""
        future = self._portal.start_task_soon(partial(self._within, timeout_s, trace, **options))
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupted caller no longer pays
            raise

    async def ascore(self, trace: Document, timeout_s: float, /, **options: Unpack[ScoreOptions]) -> Scorecard:
        """For callers in any event loop."""
        return await self._portal.call_async(partial(self._within, timeout_s, trace, **options))

    async def _within(self, timeout_s: float, trace: Document, /, **options: Unpack[ScoreOptions]) -> Scorecard:
        """All of it counts: waiting for the first byte, an answer that trickles in, and an embedded service's work."""
        with move_on_after(timeout_s):
            return await self._client.score(trace, **options)
        raise JudgeUnreachable(f"no scorecard within {timeout_s:g} seconds (timeout_s)")

    def close(self) -> None:
        self._stack.close()


_clients: dict[Key, SharedClient] = {}
_lock = threading.Lock()
_of_parents: list[object] = []


def shared(key: Key, make: Callable[[], AsyncJudgeClient]) -> SharedClient:
    """The client of that key; made by the first who asks, while the others wait."""
    with _lock:
        if key not in _clients:
            _clients[key] = SharedClient(make)
        return _clients[key]


async def ashared(key: Key, make: Callable[[], AsyncJudgeClient]) -> SharedClient:
    """The same, without blocking the event loop while an embedded service starts."""
    return _clients.get(key) or await to_thread.run_sync(shared, key, make)


def close_clients() -> None:
    """Close what is open. The next to ask opens anew."""
    with _lock:
        clients = list(_clients.values())
        _clients.clear()
    for client in clients:
        client.close()


def _forget_parents() -> None:
    """In a forked child: the parent's threads do not exist here, and to close its event loops would disturb it."""
    global _lock
    _lock = threading.Lock()
    _of_parents.append(dict(_clients))
    _clients.clear()


atexit.register(close_clients)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents)

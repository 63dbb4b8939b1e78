"""A lease lets one process judge while others that share its cache wait for the verdict."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import anyio

from judge_service.cache import Cache
from stepjudge.verdict import Verdict

_PAUSE_S = 0.03
"""Between looks of one that waits, in seconds: as short as the shortest judge call."""

_PAUSE_PER_WAITER_S = 0.002
"""So that a process looks for 500 verdicts a second at most, however many of its requests wait."""


class Recorded(Protocol):
    """Where a verdict is found for certain, also when the cache lost it."""

    async def remembered(self, keys: Sequence[str]) -> dict[str, Verdict]: ...


class Leases:
    """Leases on verdict keys, through the cache that processes share."""

    def __init__(self, cache: Cache, ledger: Recorded) -> None:
        self._cache = cache
        self._ledger = ledger
        self._waiting = 0

    async def alone(self, key: str, judge: Callable[[], Awaitable[Verdict]]) -> tuple[Verdict, bool]:
        """The verdict, and whether this process made the call.

        When the one that judges dies, its lease ends and another takes over.
        """
        waited = False
        while not await self._claimed(key):
            waited = True
            await self._pause()
            if verdict := await self._cache.get(key):
                return verdict, False
        try:
            if verdict := await self._landed(key, sure=waited):
                return verdict, False
            return await judge(), True
        finally:
            with anyio.CancelScope(shield=True):
                await self._cache.release(key)

    async def _claimed(self, key: str) -> bool:
        # a cancelled caller must not leave without knowing that it got the lease
        claimed = False
        with anyio.CancelScope(shield=True):
            claimed = await self._cache.claim(key)
        return claimed  # noqa: RET504 (a scope may swallow what is returned inside)

    async def _landed(self, key: str, *, sure: bool) -> Verdict | None:
        """The verdict that landed before the lease was taken. What the cache may have lost is in the ledger."""
        if verdict := await self._cache.get(key):
            return verdict
        if sure or not self._cache.well:
            return (await self._ledger.remembered([key])).get(key)
        return None

    async def _pause(self) -> None:
        self._waiting += 1
        try:
            await anyio.sleep(_PAUSE_S + _PAUSE_PER_WAITER_S * self._waiting)
        finally:
            self._waiting -= 1

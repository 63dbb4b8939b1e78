"""A purse is what a whole evaluation may spend on judges: what is granted to one trace is not granted to another."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio


@dataclass
class Grant:
    """What one trace may spend, and what it came to."""

    usd: float
    spent: float = 0.0


class Purse:
    """A limit in USD over requests that run at once; no limit when null."""

    def __init__(self, limit_usd: float | None) -> None:
        self.limit_usd = limit_usd
        self._spent = 0.0
        self._granted: list[float] = []
        self._changed = anyio.Condition()

    @asynccontextmanager
    async def grant(self, estimate: float | None) -> AsyncGenerator[Grant]:
        """Twice the estimate, for there may be re-asks, or all that is left; waits for money that is only set aside.

        A null estimate means that the price is not known: nothing is counted, and nothing is set aside.
        """
        wanted = 2 * (estimate or 0.0)
        async with self._changed:
            while self._granted and self._left() < wanted:
                await self._changed.wait()
            grant = Grant(self._left() if estimate is None else min(wanted, self._left()))
            aside = min(wanted, grant.usd)
            self._granted.append(aside)
        try:
            yield grant
        finally:
            with anyio.CancelScope(shield=True):
                async with self._changed:
                    self._granted.remove(aside)
                    self._spent += grant.spent
                    self._changed.notify_all()

    def _left(self) -> float:
        return max(0.0, (self.limit_usd or 0.0) - self._spent - sum(self._granted))

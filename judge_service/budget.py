"""A budget is about what a request may spend on models: estimates are reserved, so tasks together do not overrun it.

It cannot see what has no price, what an estimate of tokens missed, or tries that were billed without a reply.
"""

import math

import anyio


class Budget:
    """A limit in USD; no limit when null. Safe for the tasks of one event loop."""

    def __init__(self, limit_usd: float | None, within: "Budget | None" = None) -> None:
        """`within` is a larger budget, shared with others, that this one must keep to as well."""
        self._limit = limit_usd
        self._within = within
        self._reserved: list[float] = []
        self._changed = anyio.Condition()
        self.spent = 0.0

    async def reserve(self, estimate: float | None) -> bool:
        """Set the estimate aside; false when it does not fit. Waits while money that is only reserved decides.

        A null estimate (the price is not known) always fits: what has no price cannot be counted against a limit.
        """
        if not await self._reserve(estimate):
            return False
        try:
            fits = self._within is None or await self._within.reserve(estimate)
        except BaseException:
            await self._settle(estimate, None)
            raise
        if not fits:
            await self._settle(estimate, None)
        return fits

    async def settle(self, estimate: float | None, cost: float | None) -> None:
        """Put the reservation back and count what it really cost."""
        await self._settle(estimate, cost)
        if self._within is not None:
            await self._within.settle(estimate, cost)

    def limit(self, limit_usd: float) -> None:
        """Set another limit: settings may change while the service runs."""
        self._limit = limit_usd

    @property
    def reserved(self) -> bool:
        """Whether something is set aside."""
        return bool(self._reserved)

    async def _reserve(self, estimate: float | None) -> bool:
        if estimate is None or self._limit is None:
            return True
        async with self._changed:
            while self.spent + estimate <= self._limit:
                # a running total would keep rounding errors, and a waiter would wait for ever for those to go
                if self.spent + math.fsum(self._reserved) + estimate <= self._limit:
                    self._reserved.append(estimate)
                    return True
                await self._changed.wait()
            return False

    async def _settle(self, estimate: float | None, cost: float | None) -> None:
        with anyio.CancelScope(shield=True):
            async with self._changed:
                if estimate is not None and self._limit is not None:
                    self._reserved.remove(estimate)
                self.spent += cost or 0.0
                self._changed.notify_all()

"""A flight is one judge call that several requests wait for: the first one makes it, the others share its verdict."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from judge_service.lease import Leases
from stepjudge.verdict import Verdict


@dataclass
class _Flight:
    landed: anyio.Event = field(default_factory=anyio.Event)
    verdict: Verdict | None = None


class Flights:
    """Calls under way, by verdict key. For the tasks of one event loop; with leases, also across processes."""

    def __init__(self, leases: Leases | None = None) -> None:
        self._leases = leases
        self._under_way: dict[str, _Flight] = {}

    async def fly(
        self, key: str, judge: Callable[[], Awaitable[Verdict]], *, shared: bool = True
    ) -> tuple[Verdict, bool]:
        """The verdict, and whether this caller made the call. What costs nothing need not be `shared` by processes.

        A caller whose call failed or was cancelled hands over to one that waits; so does a verdict that is not to be
        remembered, since its cause (a budget, say) was the other request's.
        """
        while flight := self._under_way.get(key):
            await flight.landed.wait()
            if flight.verdict is not None and flight.verdict.remembered:
                return flight.verdict, False
        flight = self._under_way[key] = _Flight()
        try:
            if shared and self._leases:
                flight.verdict, own = await self._leases.alone(key, judge)
                return flight.verdict, own
            flight.verdict = await judge()
            return flight.verdict, True
        finally:
            del self._under_way[key]
            flight.landed.set()

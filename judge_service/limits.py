"""Limits hold each key to what its settings grant: so many requests a minute and at once, and so much money a day.

Requests are counted in this process: each replica grants them anew. Money is counted in the ledger's database, so that
replicas share it and a restart does not forget it; what a process spent in the last moment before it was killed is lost.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import anyio
from sqlalchemy.exc import SQLAlchemyError

from judge_service.allowance import Allowance, Refused
from judge_service.budget import Budget
from judge_service.errors import TooManyRequests
from judge_service.metrics import Metrics
from judge_service.settings import ApiKey
from judge_service.spending import Spending

log = logging.getLogger(__name__)

_SAVE_EACH_S = 2.0


@dataclass
class _Day:
    """What a key may still spend on one day."""

    budget: Budget
    told: float = 0.0
    """The sum that the store told last; what the budget has spent beyond is not stored yet."""
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Two tasks must not store the same money twice."""


class Limits:
    """For the tasks of one event loop."""

    def __init__(self, spending: Spending, metrics: Metrics) -> None:
        self._spending = spending
        self._metrics = metrics
        self._allowances: dict[str, Allowance] = {}
        self._days: dict[tuple[str, str], _Day] = {}
        self._saving = anyio.CancelScope()

    @asynccontextmanager
    async def admitted(self, holder: str, key: ApiKey) -> AsyncGenerator[Budget | None]:
        """For the time of one request: what it may spend of the key's money, null for any. Raises TooManyRequests."""
        allowance = self._allowances.setdefault(holder, Allowance())
        now = anyio.current_time()
        if refused := allowance.enter(key.requests_per_minute, key.requests_at_once, now):
            raise self._refusal(holder, refused)
        try:
            yield await self._purse(holder, key)
        finally:
            allowance.leave()

    async def running(self) -> None:
        """Store what was spent, every few seconds, until `stop`; then what is left."""
        with self._saving:
            while True:
                await anyio.sleep(_SAVE_EACH_S)
                await self._save_all()
        await self._save_all()

    def stop(self) -> None:
        self._saving.cancel()

    async def _purse(self, holder: str, key: ApiKey) -> Budget | None:
        if key.usd_per_day is None:
            return None
        today = _today()
        day = self._days.setdefault((holder, today), _Day(Budget(key.usd_per_day)))
        day.budget.limit(key.usd_per_day)
        await self._save(holder, today, day)
        if day.budget.spent >= key.usd_per_day:
            raise self._refusal(holder, Refused("usd_per_day", _until_tomorrow_s()))
        return day.budget

    async def _save_all(self) -> None:
        today = _today()
        for (holder, date), day in tuple(self._days.items()):
            if day.budget.spent > day.told + 1e-9:
                await self._save(holder, date, day)
            elif date < today and not day.budget.reserved:
                del self._days[holder, date]

    async def _save(self, holder: str, date: str, day: _Day) -> None:
        """Store what is not stored yet, and hear what other replicas have spent."""
        with anyio.CancelScope(shield=True):
            async with day.lock:
                own = day.budget.spent - day.told
                try:
                    if own > 1e-9:
                        told = await anyio.to_thread.run_sync(self._spending.add, holder, date, own)
                    else:
                        told = await anyio.to_thread.run_sync(self._spending.of, holder, date)
                except SQLAlchemyError as error:
                    log.warning("what %r spent could not be stored yet: %s", holder, type(error).__name__)
                    return
                day.budget.spent += told - day.told - own
                day.told = told

    def _refusal(self, holder: str, refused: Refused) -> TooManyRequests:
        self._metrics.refused(refused.limit)
        return TooManyRequests(f"the key {holder!r} has reached its {refused.limit}", refused.retry_after_s)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _until_tomorrow_s() -> float:
    now = datetime.now(UTC)
    return ((now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0) - now).total_seconds()

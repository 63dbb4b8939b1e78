"""The feed is what watchers hear: verdicts as they land in the ledger, whichever replica judged them, and what is under way.

One task of each process reads the ledger by sequence number, once a second and only while somebody watches; all watchers
read from its ring. A watcher that is slow or comes back late misses what has left the ring, and is told how much. Numbers
are given in the order of commits, because whoever appends holds the ledger's newest seal until then.
"""

import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass

import anyio
import orjson
import sqlalchemy as sa
from pydantic import JsonValue
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.errors import LedgerUnavailable
from judge_service.under_way import Progress, UnderWay

log = logging.getLogger(__name__)

EACH_S = 1.0
RING = 1_000
"""Verdicts that are kept for watchers."""

_BATCH = 500
_TABLE = schema.verdicts


@dataclass(frozen=True)
class LandedVerdict:
    sequence: int
    verdict_id: str
    created_at: str
    rubric: str
    judge: str
    step: int
    answers: Mapping[str, tuple[str, ...]]
    """By criterion: one word per call, or one for the step."""
    undetermined: int
    cost_usd: float | None


@dataclass(frozen=True)
class Heard:
    """What a watcher hears at once."""

    missed: int
    """Verdicts that it will not hear of."""
    verdicts: tuple[LandedVerdict, ...]
    under_way: tuple[Progress, ...]


class Feed:
    def __init__(self, engine: sa.Engine, under_way: UnderWay) -> None:
        self._engine = engine
        self._under_way = under_way
        self._ring: deque[LandedVerdict] = deque(maxlen=RING)
        self._newest: int | None = None
        self._progress: tuple[Progress, ...] = ()
        self._watchers = 0
        self._wanted = anyio.Event()
        self._came = anyio.Event()
        self._reading = anyio.CancelScope()

    @property
    def watchers(self) -> int:
        return self._watchers

    async def running(self) -> None:
        """Read, each second, while somebody watches; until `stop`."""
        with self._reading:
            while True:
                if not self._watchers:
                    self._newest = None  # what lands meanwhile is read again from the ledger's end
                    self._wanted = anyio.Event()
                    await self._wanted.wait()
                try:
                    await anyio.to_thread.run_sync(self._read)
                except (SQLAlchemyError, LedgerUnavailable) as error:
                    log.warning("the feed cannot read the ledger: %s", error)
                self._came.set()
                self._came = anyio.Event()
                await anyio.sleep(EACH_S)

    def stop(self) -> None:
        self._reading.cancel()

    async def hear(self, after: int | None, *, ended: Callable[[], bool]) -> AsyncGenerator[Heard]:
        """What lands after this number (from now on when null), about once a second, until `ended`."""
        self._watchers += 1
        self._wanted.set()
        try:
            while not ended():
                came = self._came
                with anyio.move_on_after(EACH_S * 3):
                    await came.wait()
                if self._newest is None:
                    continue
                if after is None or after > self._newest:
                    after = self._newest
                new = tuple(each for each in self._ring if each.sequence > after)
                missed = max(0, self._newest - after - len(new))
                after = self._newest
                yield Heard(missed, new, self._progress)
        finally:
            self._watchers -= 1

    def _read(self) -> None:
        self._progress = tuple(self._under_way.every())
        with self._engine.connect() as connection:
            if self._newest is None:
                newest = connection.scalar(sa.select(sa.func.max(_TABLE.c.sequence))) or 0
                self._ring.clear()
                after = max(0, newest - RING)
            else:
                after = self._newest
            while True:
                query = sa.select(_TABLE.c.sequence, _TABLE.c.record).where(_TABLE.c.sequence > after)
                rows = connection.execute(query.order_by(_TABLE.c.sequence).limit(_BATCH)).all()
                for number, text in rows:
                    after = number
                    if (verdict := _landed(number, text)) is not None:
                        self._ring.append(verdict)
                if len(rows) < _BATCH:
                    break
        self._newest = after


def told(verdict: LandedVerdict) -> dict[str, JsonValue]:
    """As JSON."""
    return {**vars(verdict), "answers": {name: [*each] for name, each in verdict.answers.items()}}


def _landed(number: int, text: str) -> LandedVerdict | None:
    """Null for a damaged record: `audit show` says that it is."""
    try:
        record = orjson.loads(text)
        verdict = record["verdict"]
        answers: dict[str, tuple[str, ...]] = {}
        for each in verdict["answers"]:
            answers[each["criterion"]] = (*answers.get(each["criterion"], ()), each["answer"])
        return LandedVerdict(
            number,
            verdict["verdict_id"],
            record["created_at"],
            record["rubric"],
            verdict["judge"],
            verdict["step"],
            answers,
            sum(each["answer"] == "undetermined" for each in verdict["answers"]),
            verdict["spent"]["cost_usd"],
        )
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None

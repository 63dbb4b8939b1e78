"""A scoring under way is a request that judges work at: how many of its steps have landed, and what it has spent so far.

Each replica tells of its own in a table that all can read, once a second, and only of those that take longer than that.
"""

import logging
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import anyio
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.chain import timestamp
from judge_service.database import insert, words
from judge_service.errors import LedgerUnavailable

log = logging.getLogger(__name__)

EACH_S = 1.0
_FORGOTTEN = timedelta(minutes=1)
_HEARD_OF = timedelta(seconds=15)
"""What was not heard of for longer is not shown: the replica that worked at it is gone."""

_TABLE = schema.under_way


@dataclass
class Progress:
    scoring: str
    trace_id: str
    rubric: str
    """`name@version`."""
    judge: str
    total: int
    """Steps."""
    started_at: str
    done: int = 0
    cost_usd: float | None = 0.0
    """Of this request; null when a price is not known."""
    ended: bool = False

    def landed(self, cost_usd: float | None) -> None:
        self.done += 1
        self.cost_usd = None if None in (cost_usd, self.cost_usd) else (self.cost_usd or 0.0) + (cost_usd or 0.0)


class UnderWay:
    """The scorings of this process; `running` tells of them."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._mine: dict[str, Progress] = {}
        self._told: set[str] = set()
        self._telling = anyio.CancelScope()

    @contextmanager
    def scoring(self, trace_id: str, rubric: str, judge: str, total: int) -> Generator[Progress]:
        """Count a scoring while it lasts."""
        now = timestamp(datetime.now(UTC))
        mine = Progress(uuid.uuid4().hex, trace_id[:1_000], rubric, judge, total, now)
        self._mine[mine.scoring] = mine
        try:
            yield mine
        finally:
            mine.ended = True
            if mine.scoring not in self._told:
                del self._mine[mine.scoring]  # it was over before anybody was told of it

    async def running(self) -> None:
        """Tell, each second, until `stop`. Trouble with it spoils no scoring."""
        with self._telling:
            while True:
                await anyio.sleep(EACH_S)
                if self._mine:
                    await self._tell()
        if self._told:
            for each in self._mine.values():
                each.ended = True
            await self._tell()

    def stop(self) -> None:
        self._telling.cancel()

    def every(self) -> list[Progress]:
        """Those of all replicas that are under way or have just ended, oldest first. Blocks. Raises LedgerUnavailable."""
        since = timestamp(datetime.now(UTC) - _HEARD_OF)
        names = list(Progress.__dataclass_fields__)
        query = sa.select(*(_TABLE.c[name] for name in names)).where(_TABLE.c.seen_at >= since)
        try:
            with self._engine.connect() as connection:
                return [Progress(**row) for row in connection.execute(query.order_by(_TABLE.c.started_at)).mappings()]
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error

    async def _tell(self) -> None:
        mine = list(self._mine.values())
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._write, mine)
        except SQLAlchemyError as error:
            log.warning("what is under way could not be told: %s", words(error))
        for each in mine:
            self._told.add(each.scoring)
            if each.ended:
                self._mine.pop(each.scoring, None)
                self._told.discard(each.scoring)

    def _write(self, mine: Sequence[Progress]) -> None:
        now = datetime.now(UTC)
        rows = [
            {**vars(each), "trace_id": each.trace_id.encode("utf-8", "replace").decode(), "seen_at": timestamp(now)}
            for each in sorted(mine, key=lambda each: each.scoring)
        ]
        with self._engine.begin() as connection:
            new = insert(connection, _TABLE)
            changed = {name: new.excluded[name] for name in ("done", "cost_usd", "seen_at", "ended")}
            connection.execute(new.on_conflict_do_update(index_elements=["scoring"], set_=changed), rows)
            connection.execute(sa.delete(_TABLE).where(_TABLE.c.seen_at < timestamp(now - _FORGOTTEN)))

"""The ledger is the permanent record: every verdict with all an auditor needs, the states judged, the rubrics used."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar, TypeVarTuple

import anyio
import sqlalchemy as sa
from anyio.streams.memory import MemoryObjectReceiveStream
from pydantic import JsonValue, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.chain import Chain, keep_chain, read_chain
from judge_service.database import insert, may_pass, named, open_database, words
from judge_service.errors import LedgerUnavailable
from judge_service.seal import Sealing, row_digest, seal
from stepjudge.digest import digest
from stepjudge.rubric import Rubric
from stepjudge.value import JsonObject
from stepjudge.verdict import Verdict, VerdictRecord

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_BATCH = 500
"""Most records in one transaction."""


@dataclass
class _Entry:
    """A record on its way to the disk."""

    row: Mapping[str, JsonValue]
    written: anyio.Event
    error: SQLAlchemyError | None = None
    tries: int = 0


class Ledger:
    """Verdicts and states in a database. `running` is its writer: many verdicts share one commit."""

    def __init__(self, engine: sa.Engine, *, patience_s: float = 15.0) -> None:
        """`patience_s` is how long a verdict waits for a database server that went away."""
        self._engine = engine
        self._patience_s = patience_s
        self.fence_key = self._fence_key()
        self._send, self._receive = anyio.create_memory_object_stream[_Entry](10_000)

    @property
    def name(self) -> str:
        """A short name that tells this ledger from all others, and gives nothing of the fence key away."""
        return digest(self.fence_key)[7:23]

    @classmethod
    def open(cls, url: str, *, pool: int = 10) -> Self:
        """Connect, and bring the tables up to date. Raises LedgerUnavailable."""
        engine = open_database(url, pool=pool)
        try:
            return cls(engine)
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"cannot open the ledger {named(url)}: {words(error)}") from error

    @property
    def engine(self) -> sa.Engine:
        """The database, for labels, which are kept in it too."""
        return self._engine

    async def running(self) -> None:
        """Write what is appended, until `close`; then write what is left and return."""
        async with self._receive:
            async for first in self._receive:
                batch = [first, *_waiting(self._receive)]
                await anyio.to_thread.run_sync(self._write, batch)
                for entry in batch:
                    entry.written.set()

    def close(self) -> None:
        """Take no more records. What was appended is still written."""
        self._send.close()

    def dispose(self) -> None:
        """Let go of the database, when nothing is under way any more."""
        self._send.close()
        self._receive.close()
        self._engine.dispose()

    async def append(self, record: VerdictRecord) -> None:
        """Store a verdict; on disk when this returns. Raises LedgerUnavailable."""
        entry = _Entry(_row(record), anyio.Event())
        await self._send.send(entry)
        await entry.written.wait()
        if entry.error:
            raise LedgerUnavailable(f"the verdict could not be stored: {words(entry.error)}") from entry.error

    async def keep(self, chain: Chain, *rubrics: Rubric) -> None:
        """Store the states and the rubrics that verdicts will refer to. What is there already stays."""
        await anyio.to_thread.run_sync(self._keep, chain, rubrics)

    async def remembered(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """The newest verdict of each key that may be answered again."""
        return await _read(self._remembered, keys) if keys else {}

    async def record(self, verdict_id: str) -> VerdictRecord | None:
        """Everything about one verdict."""
        return await _read(self._record, verdict_id)

    async def page(self, *, before: int | None, limit: int) -> list[tuple[int, VerdictRecord]]:
        """Records with their sequence numbers, newest first, older than `before`."""
        return await _read(self._page, before, limit)

    async def chain(self, state: str, step: str) -> tuple[JsonObject, list[JsonObject]] | None:
        """The opening and the contents of all steps up to `step`, taken at `state`; null when one is missing."""
        return await _read(self._chain, state, step)

    async def rubric(self, digest: str) -> Rubric | None:
        return await _read(self._rubric, digest)

    def ready(self) -> None:
        """Raises SQLAlchemyError when the database does not answer."""
        with self._engine.connect() as connection:
            connection.execute(sa.text("select 1"))

    def _write(self, batch: Sequence[_Entry]) -> None:
        """Store them in one transaction; should that be refused, each in one of its own, so that one spoils no other."""
        try:
            self._insert(batch)
        except SQLAlchemyError as error:
            if len(batch) == 1:
                batch[0].error = error
                return
            for entry in batch:
                self._write([entry])

    def _insert(self, batch: Sequence[_Entry]) -> None:
        """Raises SQLAlchemyError, after some waiting when the server went away: verdicts are paid for by now."""
        give_up = time.monotonic() + self._patience_s
        while True:
            try:
                with self._engine.begin() as connection:
                    # a commit whose answer was lost with the connection may have taken place
                    new = [entry.row for entry in batch if entry.tries == 0 or not self._stored(connection, entry)]
                    if new:
                        seal(connection, [_sealing(row) for row in new])
                        connection.execute(sa.insert(schema.verdicts), new)
                return
            except SQLAlchemyError as error:
                if not may_pass(error, self._engine) or time.monotonic() > give_up:
                    raise
            for entry in batch:
                entry.tries += 1
            time.sleep(0.2)

    def _stored(self, connection: sa.Connection, entry: _Entry) -> bool:
        verdicts = schema.verdicts
        query = sa.select(verdicts.c.sequence).where(verdicts.c.verdict_id == entry.row["verdict_id"])
        return connection.scalar(query) is not None

    def _keep(self, chain: Chain, rubrics: Sequence[Rubric]) -> None:
        try:
            with self._engine.begin() as connection:
                keep_chain(connection, chain, rubrics)
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the trace could not be stored: {words(error)}") from error

    def _remembered(self, keys: Sequence[str]) -> dict[str, Verdict]:
        table = schema.verdicts
        found: dict[str, Verdict] = {}
        with self._engine.connect() as connection:
            for start in range(0, len(keys), _BATCH):
                wanted = table.c.key.in_(keys[start : start + _BATCH])
                rows = connection.execute(
                    sa.select(table.c.record).where(wanted, table.c.remembered).order_by(table.c.sequence)
                )
                for (text,) in rows:
                    if (verdict := _readable(text)) is not None:
                        found[verdict.key] = verdict
        return found

    def _record(self, verdict_id: str) -> VerdictRecord | None:
        query = sa.select(schema.verdicts.c.record).where(schema.verdicts.c.verdict_id == verdict_id)
        text = self._scalar(query)
        return None if text is None else VerdictRecord.model_validate_json(text)

    def _page(self, before: int | None, limit: int) -> list[tuple[int, VerdictRecord]]:
        table = schema.verdicts
        query = sa.select(table.c.sequence, table.c.record).order_by(table.c.sequence.desc()).limit(limit)
        if before is not None:
            query = query.where(table.c.sequence < before)
        with self._engine.connect() as connection:
            return [(number, VerdictRecord.model_validate_json(text)) for number, text in connection.execute(query)]

    def _chain(self, state: str, step: str) -> tuple[JsonObject, list[JsonObject]] | None:
        with self._engine.connect() as connection:
            return read_chain(connection, state, step)

    def _rubric(self, digest: str) -> Rubric | None:
        text = self._scalar(sa.select(schema.rubrics.c.content).where(schema.rubrics.c.digest == digest))
        return None if text is None else Rubric.model_validate_json(text)

    def _fence_key(self) -> str:
        """The key of the fence, made when there is none yet."""
        meta = schema.meta
        made = {"name": "fence_key", "value": secrets.token_hex(32)}
        with self._engine.begin() as connection:
            new = insert(connection, meta).on_conflict_do_nothing().returning(meta.c.value)
            if (value := connection.scalar(new, made)) is not None:
                seal(connection, [Sealing("meta", "fence_key", digest(value))])
        stored = self._scalar(sa.select(meta.c.value).where(meta.c.name == "fence_key"))
        assert stored is not None
        return stored

    def _scalar(self, query: sa.Select[str]) -> str | None:
        with self._engine.connect() as connection:
            return connection.scalar(query)


async def _read(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Read in a thread. Raises LedgerUnavailable where the database does not answer or a record is damaged."""
    try:
        return await anyio.to_thread.run_sync(work, *arguments)
    except SQLAlchemyError as error:
        raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error
    except ValueError as error:
        raise LedgerUnavailable(f"a record of the ledger is damaged: {error}") from error


def _waiting(stream: MemoryObjectReceiveStream[_Entry]) -> list[_Entry]:
    entries: list[_Entry] = []
    while len(entries) < _BATCH - 1:
        try:
            entries.append(stream.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            break
    return entries


def _readable(text: str) -> Verdict | None:
    """A damaged record is none to answer with; `audit show` says that it is damaged."""
    try:
        return VerdictRecord.model_validate_json(text).verdict
    except ValidationError:
        return None


def _row(record: VerdictRecord) -> dict[str, JsonValue]:
    verdict = record.verdict
    return {
        "verdict_id": verdict.verdict_id,
        "key": verdict.key,
        "remembered": verdict.remembered,
        "created_at": record.created_at,
        "rubric": record.rubric,
        "rubric_digest": record.rubric_digest,
        "judge": verdict.judge,
        "judge_digest": record.judge_digest,
        "state_digest": record.state_digest,
        "step_digest": record.step_digest,
        "undetermined": verdict.undetermined,
        "cost_usd": verdict.spent.cost_usd,
        "record": record.model_dump_json(),
    }


def _sealing(row: Mapping[str, JsonValue]) -> Sealing:
    return Sealing("verdict", str(row["verdict_id"]), row_digest(row))

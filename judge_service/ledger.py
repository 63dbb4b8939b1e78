"""The ledger is the permanent record: every verdict with all an auditor needs, the states judged, the rubrics used."""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar, TypeVarTuple, cast

import anyio
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from anyio.streams.memory import MemoryObjectReceiveStream
from pydantic import ValidationError
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.errors import LedgerUnavailable
from stepjudge.digest import canonical
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

    row: Mapping[str, object]
    written: anyio.Event
    error: SQLAlchemyError | None = None


@dataclass(frozen=True)
class Chain:
    """A trace as the ledger stores it: its opening, the contents of its steps, and the digests that tie them."""

    opening: JsonObject
    contents: tuple[JsonObject, ...]
    states: tuple[str, ...]
    """One more than there are steps."""
    steps: tuple[str, ...]


class Ledger:
    """Verdicts and states in a database. `running` is its writer: many verdicts share one commit."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._send, self._receive = anyio.create_memory_object_stream[_Entry](10_000)
        self.fence_key = self._meta("fence_key", secrets.token_hex(32))

    @classmethod
    def open(cls, url: str) -> Self:
        """Connect, and bring the tables up to date. Raises LedgerUnavailable."""
        try:
            engine = _engine(url)
            _migrate(engine)
            return cls(engine)
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"cannot open the ledger {_named(url)}: {_words(error)}") from error
        except CommandError as error:
            raise LedgerUnavailable(
                f"the ledger {_named(url)} was made by another version of stepjudge: {error}"
            ) from error
        except ModuleNotFoundError as error:
            raise LedgerUnavailable(
                f"the ledger {_named(url)} needs a database driver: pip install {error.name}"
            ) from error

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
            raise LedgerUnavailable(f"the verdict could not be stored: {_words(entry.error)}") from entry.error

    async def keep(self, chain: Chain, rubric: Rubric) -> None:
        """Store the states and the rubric that verdicts will refer to. What is there already stays."""
        await anyio.to_thread.run_sync(self._keep, chain, rubric)

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
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.insert(schema.verdicts), [entry.row for entry in batch])
        except SQLAlchemyError as error:
            for entry in batch:
                entry.error = error

    def _keep(self, chain: Chain, rubric: Rubric) -> None:
        parents = [None, *chain.states[:-1]]
        rows = [
            {"digest": digest, "parent": parent, "step": step}
            for digest, parent, step in zip(chain.states, parents, [None, *chain.steps], strict=True)
        ]
        contents = dict(zip(chain.steps, chain.contents, strict=True))
        try:
            with self._engine.begin() as connection:
                self._add(connection, schema.openings, [{"digest": chain.states[0], "content": _text(chain.opening)}])
                self._add(connection, schema.steps, [{"digest": d, "content": _text(c)} for d, c in contents.items()])
                self._add(connection, schema.states, list({row["digest"]: row for row in rows}.values()))
                self._add(connection, schema.rubrics, [_rubric_row(rubric)])
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the trace could not be stored: {_words(error)}") from error

    def _add(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert what is not there yet."""
        insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        if rows:
            connection.execute(insert(table).on_conflict_do_nothing(), list(rows))

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
        digests = [step]
        with self._engine.connect() as connection:
            while True:
                query = sa.select(schema.states.c.parent, schema.states.c.step).where(schema.states.c.digest == state)
                row = connection.execute(query).one_or_none()
                if row is None:
                    return None
                if row.parent is None:
                    break
                digests.append(row.step)
                state = row.parent
            opening = connection.scalar(sa.select(schema.openings.c.content).where(schema.openings.c.digest == state))
            contents = [
                connection.scalar(sa.select(schema.steps.c.content).where(schema.steps.c.digest == digest))
                for digest in reversed(digests)
            ]
        if opening is None or None in contents:
            return None
        return json.loads(opening), [json.loads(str(content)) for content in contents]

    def _rubric(self, digest: str) -> Rubric | None:
        text = self._scalar(sa.select(schema.rubrics.c.content).where(schema.rubrics.c.digest == digest))
        return None if text is None else Rubric.model_validate_json(text)

    def _meta(self, name: str, value: str) -> str:
        """The stored value of that name, set to `value` when there is none yet."""
        with self._engine.begin() as connection:
            self._add(connection, schema.meta, [{"name": name, "value": value}])
        stored = self._scalar(sa.select(schema.meta.c.value).where(schema.meta.c.name == name))
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
        raise LedgerUnavailable(f"the ledger cannot be read: {_words(error)}") from error
    except ValueError as error:
        raise LedgerUnavailable(f"a record of the ledger is damaged: {error}") from error


def _named(url: str) -> str:
    """The address, without its password."""
    try:
        return repr(sa.make_url(url))
    except SQLAlchemyError:
        return "(not an address)"


def _engine(url: str) -> sa.Engine:
    engine = sa.create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _tune_sqlite)
    return engine


def _tune_sqlite(connection: object, _record: object) -> None:
    """Readers beside one writer; a commit is on the disk when it returns; wait for another process's commit."""
    cursor = cast("sa.PoolProxiedConnection", connection).cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _migrate(engine: sa.Engine) -> None:
    config = Config()
    config.set_main_option("script_location", "judge_service:migrations")
    with engine.connect() as connection:
        # two processes may open a new ledger at once: the second waits here, then finds nothing to do
        begin = "BEGIN IMMEDIATE" if engine.dialect.name == "sqlite" else "SELECT pg_advisory_xact_lock(5262)"
        connection.exec_driver_sql(begin)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()


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


def _row(record: VerdictRecord) -> dict[str, object]:
    verdict = record.verdict
    return {
        "verdict_id": verdict.verdict_id,
        "key": verdict.key,
        "remembered": verdict.remembered,
        "created_at": record.created_at,
        "rubric": record.rubric,
        "rubric_digest": record.rubric_digest,
        "judge": verdict.judge,
        "undetermined": verdict.undetermined,
        "cost_usd": verdict.spent.cost_usd,
        "record": record.model_dump_json(),
    }


def _rubric_row(rubric: Rubric) -> dict[str, object]:
    return {"digest": rubric.digest, "reference": rubric.reference, "content": rubric.model_dump_json()}


def _text(content: JsonObject) -> str:
    return canonical(content).decode()


def _words(error: SQLAlchemyError) -> str:
    """The database's own sentence, without the statement and its parameters."""
    return str(getattr(error, "orig", None) or error)

"""The register enters each scoring in the ledger's table of contents, and its steps' words in the index to search by.

It is made of what the verdicts say and can be lost without loss: nothing is judged by it, and trouble with it spoils no
scoring.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import sqlalchemy as sa
from anyio.streams.memory import MemoryObjectReceiveStream
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import insert, words
from judge_service.scoring import Scoring

T = TypeVar("T")

log = logging.getLogger(__name__)

_BATCH = 100
_ROWS = 400

_SCORINGS, _STEPS, _PASSAGES = schema.scorings, schema.trace_steps, schema.passages


@dataclass
class _Entry:
    scoring: Scoring
    written: anyio.Event = field(default_factory=anyio.Event)


class Register:
    """`running` is its writer: many scorings share one commit."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._send, self._receive = anyio.create_memory_object_stream[_Entry](1_000)

    async def enter(self, scoring: Scoring) -> None:
        """Enter a scoring; it is in the list when this returns, if it can be."""
        entry = _Entry(scoring)
        await self._send.send(entry)
        await entry.written.wait()

    async def running(self) -> None:
        """Write what is entered, until `close`; then write what is left and return."""
        async with self._receive:
            async for first in self._receive:
                batch = [first, *_waiting(self._receive)]
                try:
                    await anyio.to_thread.run_sync(enter_all, self._engine, [entry.scoring for entry in batch])
                except SQLAlchemyError as error:
                    log.warning("%d scorings could not be listed: %s", len(batch), words(error))
                for entry in batch:
                    entry.written.set()

    def close(self) -> None:
        self._send.close()

    def dispose(self) -> None:
        self._send.close()
        self._receive.close()


def enter_all(engine: sa.Engine, scorings: Sequence[Scoring]) -> None:
    """In one transaction. Raises SQLAlchemyError."""
    texts = {digest: text for scoring in scorings for digest, text in scoring.texts.items()}
    with engine.begin() as connection:
        _add_words(connection, texts)
        for scoring in scorings:
            _enter(connection, scoring)


def _enter(connection: sa.Connection, scoring: Scoring) -> None:
    _take_the_place(connection, scoring)
    connection.execute(sa.insert(_SCORINGS), dict(scoring.row))
    trace = scoring.states[-1]
    rows = [
        {"trace_digest": trace, "step": number, "step_digest": step}
        for number, step in enumerate(scoring.steps, start=1)
    ]
    connection.execute(insert(connection, _STEPS).on_conflict_do_nothing(), rows)


def _take_the_place(connection: sa.Connection, scoring: Scoring) -> None:
    """Remove earlier scorings of the same, or of the beginning of this trace by the same judge, if this one covers them."""
    same = [_SCORINGS.c[name] == scoring.row[name] for name in ("trace_id", "rubric_digest", "judge_digest")]
    query = sa.select(_SCORINGS.c.sequence, _SCORINGS.c.trace_digest, _SCORINGS.c.tones).where(*same)
    states = {state: length for length, state in enumerate(scoring.states)}
    tones = str(scoring.row["tones"])
    covered = [
        row
        for row in connection.execute(query)
        if row.trace_digest in states
        and all(new != "." for old, new in zip(row.tones, tones, strict=False) if old != ".")
    ]
    if not covered:
        return
    connection.execute(sa.delete(_SCORINGS).where(_SCORINGS.c.sequence.in_([row.sequence for row in covered])))
    ended = {row.trace_digest for row in covered} - {scoring.states[-1]}
    if ended:
        listed = sa.select(_SCORINGS.c.trace_digest)
        gone = sa.and_(_STEPS.c.trace_digest.in_(ended), _STEPS.c.trace_digest.not_in(listed))
        connection.execute(sa.delete(_STEPS).where(gone))


def _add_words(connection: sa.Connection, texts: Mapping[str, str]) -> None:
    """In the order of digests, so that two transactions that add the same never wait for each other crosswise."""
    for some in _slices(sorted(texts)):
        new = insert(connection, _PASSAGES).on_conflict_do_nothing().values([{"digest": each} for each in some])
        added = connection.execute(new.returning(_PASSAGES.c.number, _PASSAGES.c.digest)).all()
        if added:
            column = "rowid" if connection.dialect.name == "sqlite" else "number"
            statement = sa.text(f"INSERT INTO passage_words ({column}, text) VALUES (:number, :text)")
            connection.execute(statement, [{"number": row.number, "text": texts[row.digest]} for row in added])


def sweep(connection: sa.Connection) -> None:
    """Take out what retention has removed from the ledger: scorings, and the words of steps that are gone."""
    for table in (_SCORINGS, _STEPS):
        connection.execute(sa.delete(table).where(table.c.trace_digest.not_in(sa.select(schema.states.c.digest))))
    gone = sa.select(_PASSAGES.c.number).where(_PASSAGES.c.digest.not_in(sa.select(schema.steps.c.digest)))
    column = "rowid" if connection.dialect.name == "sqlite" else "number"
    numbers = list(connection.scalars(gone))
    if numbers:
        connection.execute(
            sa.text(f"DELETE FROM passage_words WHERE {column} = :number"), [{"number": each} for each in numbers]
        )
    for some in _slices(numbers):
        connection.execute(sa.delete(_PASSAGES).where(_PASSAGES.c.number.in_(some)))


def _slices(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[start : start + _ROWS] for start in range(0, len(items), _ROWS))


def _waiting(stream: MemoryObjectReceiveStream[_Entry]) -> list[_Entry]:
    entries: list[_Entry] = []
    while len(entries) < _BATCH - 1:
        try:
            entries.append(stream.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            break
    return entries

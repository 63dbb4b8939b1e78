"""The pile holds the questions that go to providers in batches, and the replies that came back, on the disk.

A question is known by the digest of everything that its reply depends on, so the same one is never sent twice: it is open
until a batch takes it, waits while that is under way, and has a reply or an error afterwards.
"""

import sqlite3
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["sending", "sent", "done"]
"""`sending` is written before a provider is asked, so that a killed process can find out what became of it."""

TRIES = 3
"""Batches that a question is sent in before it counts as failed."""

KEPT_S = 30 * 86_400.0
"""How long replies are kept: as long as providers keep theirs."""

_TABLES = """
create table if not exists questions (
    digest text primary key, judge text not null, body blob, batch text, status integer, reply blob,
    tries integer not null default 0, said text not null default '', at real not null
) strict, without rowid;
create index if not exists questions_of_batch on questions (batch);
create index if not exists open_questions on questions (judge) where batch is null and status is null;
create table if not exists batches (
    name text primary key, judge text not null, address text not null, provider_id text, state text not null,
    told text not null default '', questions integer not null, at real not null
) strict, without rowid;
"""


@dataclass(frozen=True)
class Letter:
    """What came of a question."""

    status: int
    """The HTTP status of its line; 0 when no batch answered it in as many tries as it is given."""
    body: bytes
    said: str = ""


@dataclass(frozen=True)
class Sent:
    """A batch as it is written down."""

    name: str
    """Ours; the provider keeps it with the batch."""
    judge: str
    address: str
    provider_id: str | None
    state: State
    told: str
    """The provider's own word for its state."""
    questions: int
    at: float


class Pile:
    """One file, for all processes that share the folder. It opens with the first question."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def letter(self, digest: str) -> Letter | None:
        """What came of a question; null while there is nothing."""
        with self._using() as db:
            row = db.execute("select status, reply, said from questions where digest = ?", (digest,)).fetchone()
        return None if row is None or row[0] is None else Letter(row[0], row[1] or b"", row[2])

    def lay(self, digest: str, judge: str, body: bytes) -> None:
        """Put a question on the pile, unless it lies there or is under way."""
        with self._using() as db:
            query = "insert into questions (digest, judge, body, at) values (?, ?, ?, ?) on conflict do nothing"
            db.execute(query, (digest, judge, body, time.time()))

    def forget(self, digest: str) -> None:
        """Let a question be asked anew: its error was told, and may be gone the next time."""
        with self._using() as db:
            db.execute("delete from questions where digest = ? and status is not null", (digest,))

    def reopen(self, digest: str, said: str) -> None:
        """The reply was no reply: the question goes with the next batch, or fails for good."""
        with self._using() as db:
            db.execute("update questions set batch = null, status = null, reply = null where digest = ?", (digest,))
            self._fail(db, "digest = ?", (digest,), said)

    def open_questions(self) -> dict[str, int]:
        """How many questions wait to be sent, by judge."""
        with self._using() as db:
            query = "select judge, count(*) from questions where batch is null and status is null group by judge"
            return dict(db.execute(query).fetchall())

    def take(self, judge: str, address: str, name: str, *, most: int, most_bytes: int) -> int:
        """Write down, durably, that a batch with the next open questions is being sent. How many it has."""
        with self._using(durably=True) as db:
            query = "select digest, length(body) from questions where judge = ? and batch is null and status is null"
            taken, size = list[tuple[str, str]](), 0
            for digest, length in db.execute(query, (judge,)):
                if taken and (len(taken) == most or size + length > most_bytes):
                    break
                taken.append((name, digest))
                size += length
            if taken:
                db.executemany("update questions set batch = ?, tries = tries + 1 where digest = ?", taken)
                row = (name, judge, address, "sending", len(taken), time.time())
                insert = "insert into batches (name, judge, address, state, questions, at) values (?, ?, ?, ?, ?, ?)"
                db.execute(insert, row)
        return len(taken)

    def bodies(self, name: str) -> Iterator[tuple[str, bytes]]:
        """(digest, body) of a batch's questions."""
        with self._using() as db:
            yield from db.execute("select digest, body from questions where batch = ?", (name,)).fetchall()

    def sent(self, name: str, provider_id: str, told: str) -> None:
        with self._using(durably=True) as db:
            query = "update batches set provider_id = ?, state = 'sent', told = ? where name = ?"
            db.execute(query, (provider_id, told, name))

    def tell(self, name: str, told: str) -> None:
        with self._using() as db:
            db.execute("update batches set told = ? where name = ?", (told, name))

    def batches(self) -> tuple[Sent, ...]:
        """Newest first."""
        query = "select name, judge, address, provider_id, state, told, questions, at from batches order by at desc"
        with self._using() as db:
            return tuple(Sent(*row) for row in db.execute(query))

    def done(self, name: str, told: str, replies: Sequence[tuple[str, int, bytes]]) -> int:
        """A batch has ended: keep its (digest, status, body) lines, and open what has none. How many have a reply.

        The first line of a question counts; lines that nobody asked for do not.
        """
        with self._using(durably=True) as db:
            query = "update questions set status = ?, reply = ?, body = null where digest = ? and batch = ? and status is null"
            kept = sum(
                db.execute(query, (status, body, digest, name)).rowcount
                for digest, status, body in replies
                if 200 <= status < 500 and status not in (408, 409, 425, 429)
            )
            said = next((body.decode(errors="replace")[:300] for _, status, body in replies if status >= 400), told)
            db.execute("update questions set batch = null where batch = ? and status is null", (name,))
            self._fail(db, "batch is null and status is null", (), said)
            db.execute("update batches set state = 'done', told = ? where name = ?", (told, name))
            db.execute("delete from questions where status is not null and at < ?", (time.time() - KEPT_S,))
            db.execute("delete from batches where state = 'done' and at < ?", (time.time() - KEPT_S,))
        return kept

    def never_sent(self, name: str) -> None:
        """The provider knows no such batch: its questions are open again, and this counts as no try."""
        with self._using(durably=True) as db:
            db.execute("update questions set batch = null, tries = tries - 1 where batch = ?", (name,))
            db.execute("delete from batches where name = ?", (name,))

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _fail(self, db: sqlite3.Connection, which: str, values: tuple[object, ...], said: str) -> None:
        """Those of them that were sent often enough have failed."""
        failed = f"update questions set status = 0, said = ? where {which} and tries >= {TRIES}"
        db.execute(failed, (said, *values))

    @contextmanager
    def _using(self, *, durably: bool = False) -> Generator[sqlite3.Connection]:
        with self._lock:
            db = self._db = self._db or self._opened()
            # a question that is lost before it is sent is laid again; what was sent must never be forgotten
            db.execute(f"pragma synchronous = {'full' if durably else 'normal'}")
            db.execute("begin immediate")
            try:
                yield db
            except BaseException:
                db.execute("rollback")
                raise
            db.execute("commit")

    def _opened(self) -> sqlite3.Connection:
        self._path.touch(mode=0o600)
        db = sqlite3.connect(self._path, timeout=60, isolation_level=None, check_same_thread=False)
        db.execute("pragma journal_mode = wal")
        db.executescript(_TABLES)
        return db

"""The sql check: what a query reads from a database that the attempt left."""

import json
import os
import sys
from pathlib import Path
from typing import Literal, Self
from urllib.parse import unquote

from pydantic import Field, JsonValue, model_validator

from stepjudge.checks.check import CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import ValueCondition, alike, shown
from stepjudge.checks.running.process import run_process
from stepjudge.checks.running.root import Inside, Root
from stepjudge.checks.running.scratch import Scratch, scratch
from stepjudge.digest import canonical

ROWS = Path(__file__).with_name("running") / "rows.py"
MAX_DATABASE_BYTES = 2**30
MAX_ANSWER_BYTES = 64 * 2**20


class Sql(Check):
    """One query, in a transaction that is read-only where the database has such, and rolled back everywhere."""

    kind: Literal["sql"] = "sql"
    sqlite: Inside | None = None
    """A SQLite file of the environment. A copy of it is read."""
    url: str | None = None
    """Any other database, as SQLAlchemy names it."""
    url_env: str | None = None
    """The environment variable that holds the URL: a password does not belong into a suite."""
    query: str = Field(min_length=1, max_length=100_000)
    parameters: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """For `:name` in the query."""
    rows: tuple[tuple[JsonValue, ...], ...] | None = None
    """All rows that it reads. Dates are text as in ISO 8601, bytes are hex digits."""
    ordered: bool = False
    """Whether the rows must come in that order."""
    scalar: ValueCondition | None = None
    """Of the one value of the one row that it reads."""
    count: int | None = Field(default=None, ge=0)
    """How many rows it reads."""
    max_rows: int = Field(default=10_000, gt=0, le=1_000_000)

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if sum(each is not None for each in (self.sqlite, self.url, self.url_env)) != 1:
            raise ValueError("give one of sqlite, url and url_env")
        if self.url is not None and self.url.startswith("sqlite"):
            raise ValueError("url: name a SQLite file by `sqlite`, as a path below the environment's root")
        if self.rows is None and self.scalar is None and self.count is None:
            raise ValueError("say what must be read: rows, scalar or count")
        return self

    async def run(self, scene: Scene) -> Finding:
        async with scratch(None) as made:
            url = await self._url(scene, made)
            asked = {"url": url, "query": self.query, "parameters": self.parameters, "limit": self.max_rows}
            ended = await run_process(
                [sys.executable, "-P", str(ROWS)],
                cwd=made.root,
                env=os.environ,  # our own code and a database's driver, which finds its settings there
                stdin=json.dumps(asked).encode(),
                limit=MAX_ANSWER_BYTES,
            )
            if ended.status != 0 or ended.stdout.cut:
                why = "the answer is too long" if ended.stdout.cut else ended.stderr.end.strip().rpartition("\n")[2]
                raise CannotCheck(f"the query gave no answer: {why or ended.how}")
            answer = json.loads(ended.stdout.text)
            return await in_thread(lambda clock: self._found(answer, made, clock))

    async def _url(self, scene: Scene, made: Scratch) -> str:
        if self.sqlite is not None:
            root, path = Root.of(scene), self.sqlite
            return await in_thread(lambda clock: _copied(root, path, made, clock))
        if self.url is not None:
            return self.url
        url = os.environ.get(self.url_env or "")
        if not url:
            raise CannotCheck(f"the environment variable {self.url_env!r} does not hold the database's URL")
        if unquote(url).startswith("sqlite"):
            raise CannotCheck(f"{self.url_env!r} names a SQLite file: give it by `sqlite`")
        return url

    def _found(self, answer: dict[str, JsonValue], made: Scratch, clock: Clock) -> Finding:
        if "failed" in answer:
            raise CannotCheck(f"the query gave no answer: {made.tidy(str(answer['failed']))}")
        rows: list[list[JsonValue]] = answer["rows"]  # pyright: ignore[reportAssignmentType]
        if len(rows) > self.max_rows:
            raise CannotCheck(f"the query reads more than {self.max_rows:,} rows")
        unmet: list[str] = []
        if self.count is not None and len(rows) != self.count:
            unmet.append(f"reads {len(rows)} rows, not {self.count}")
        if self.rows is not None:
            unmet += self._unlike(rows, [list(row) for row in self.rows])
        if self.scalar is not None:
            single = len(rows) == 1 and len(rows[0]) == 1
            unmet += self.scalar.unmet(rows[0], clock) if single else ["reads no single value"]
        evidence = CheckEvidence.of("rows", "\n".join(shown(row) for row in rows[:200]))
        reason = f"the query {'; '.join(unmet) or f'reads {len(rows)} rows, as it must'}"
        return Finding(outcome="fail" if unmet else "pass", reason=reason, evidence=(evidence,))

    def _unlike(self, rows: list[list[JsonValue]], expected: list[list[JsonValue]]) -> list[str]:
        found, wanted = [shown(row) for row in rows], [shown(row) for row in expected]
        if not self.ordered:
            rows, expected = sorted(rows, key=_order), sorted(expected, key=_order)
        if len(rows) == len(expected) and all(alike(row, other) for row, other in zip(rows, expected, strict=True)):
            return []
        missing = [row for row in wanted if row not in found]
        return [f"reads other rows: {f'{missing[0]} is missing' if missing else 'more of them, or in another order'}"]


def _order(row: list[JsonValue]) -> bytes:
    return canonical(row)


def _copied(root: Root, path: str, made: Scratch, clock: Clock) -> str:
    if root.kind(path) != "file":
        raise CannotCheck(f"there is no database {path!r}")
    for ending in ("", "-wal", "-journal"):  # what was committed may still stand in the log beside it
        clock.left()
        if root.kind(path + ending) == "file":
            (made.out / f"database{ending}").write_bytes(root.read(path + ending, MAX_DATABASE_BYTES))
    return f"sqlite:///{made.out / 'database'}"

"""A stored trace is what the ledger keeps of one: its opening, its steps, and the digests that tie verdicts to them."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple

import anyio
import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LedgerUnavailable
from judge_service.state import restored
from stepjudge.rubric import Rubric
from stepjudge.trace import Step, Trace
from stepjudge.value import JsonObject
from stepjudge.verdict import VerdictRecord

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_ROWS = 400
_MOST_RUBRICS = 1_000
_MOST_VERDICTS = 100
"""Of one step."""


@dataclass(frozen=True)
class StoredTrace:
    trace: Trace
    """As far as a judge reads it."""
    states: tuple[str, ...]
    """One more than there are steps."""
    steps: tuple[str, ...]


class Stored:
    """Every method may raise LedgerUnavailable."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    async def trace(self, state: str) -> StoredTrace | None:
        """The trace that ends at this state; null when it is not there, or not any more."""
        return await self._read(self._trace, state)

    async def step(self, digest: str) -> Step | None:
        """One step, numbered 1."""
        return await self._read(self._step, digest)

    async def opening(self, digest: str) -> Trace | None:
        """What stands before the first step, as a trace without steps."""
        return await self._read(self._opening, digest)

    async def verdicts(self, state: str, step: str) -> list[VerdictRecord]:
        """What was said of a step, newest first. Damaged records are passed over: `audit show` says that they are."""
        return await self._read(self._verdicts, state, step)

    async def rubrics(self, *, but: Collection[str] = ()) -> list[Rubric]:
        """Every rubric that something was judged by, without those of these digests."""
        return await self._read(self._rubrics, but)

    def _rubrics(self, but: Collection[str]) -> list[Rubric]:
        table = schema.rubrics
        query = sa.select(table.c.content).where(table.c.digest.not_in(sorted(but))).order_by(table.c.reference)
        with self._engine.connect() as connection:
            return [Rubric.model_validate_json(text) for text in connection.scalars(query.limit(_MOST_RUBRICS))]

    def _trace(self, state: str) -> StoredTrace | None:
        with self._engine.connect() as connection:
            links = _links(connection, state)
            if not links or links[0][2] is not None:
                return None
            opening = connection.scalar(_content(schema.openings, links[0][0]))
            digests = [link[1] for link in links[1:]]
            contents = _contents(connection, digests)
        if opening is None or any(digest not in contents for digest in digests):
            return None
        trace = restored(json.loads(opening), [contents[digest] for digest in digests])
        return StoredTrace(trace, tuple(link[0] for link in links), tuple(digests))

    def _step(self, digest: str) -> Step | None:
        with self._engine.connect() as connection:
            text = connection.scalar(_content(schema.steps, digest))
        return None if text is None else Step.model_validate({**json.loads(text), "index": 1, "llm_call": 1})

    def _opening(self, digest: str) -> Trace | None:
        with self._engine.connect() as connection:
            text = connection.scalar(_content(schema.openings, digest))
        return None if text is None else restored(json.loads(text), [])

    def _verdicts(self, state: str, step: str) -> list[VerdictRecord]:
        table = schema.verdicts
        query = sa.select(table.c.record).where(table.c.state_digest == state, table.c.step_digest == step)
        found: list[VerdictRecord] = []
        with self._engine.connect() as connection:
            for text in connection.scalars(query.order_by(table.c.sequence.desc()).limit(_MOST_VERDICTS)):
                try:
                    found.append(VerdictRecord.model_validate_json(text))
                except ValidationError:
                    continue
        return found

    async def _read(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        try:
            return await anyio.to_thread.run_sync(work, *arguments)
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error
        except ValueError as error:
            raise LedgerUnavailable(f"a record of the ledger is damaged: {error}") from error


def _links(connection: sa.Connection, state: str) -> list[tuple[str, str, str | None]]:
    """(state, the step that led there, the state before it), from the opening on."""
    states = schema.states
    first = sa.select(states.c.digest, states.c.parent, states.c.step, sa.literal(0).label("depth"))
    up = first.where(states.c.digest == state).cte("up", recursive=True)
    above = sa.select(states.c.digest, states.c.parent, states.c.step, up.c.depth + 1)
    up = up.union_all(above.join(up, states.c.digest == up.c.parent))
    rows = connection.execute(sa.select(up).order_by(up.c.depth.desc()))
    return [(row.digest, row.step, row.parent) for row in rows]


def _content(table: sa.Table, digest: str) -> sa.Select[str]:
    return sa.select(table.c.content).where(table.c.digest == digest)


def _contents(connection: sa.Connection, digests: Sequence[str]) -> dict[str, JsonObject]:
    steps, wanted = schema.steps, sorted(set(digests))
    found: dict[str, JsonObject] = {}
    for start in range(0, len(wanted), _ROWS):
        some = sa.select(steps.c.digest, steps.c.content).where(steps.c.digest.in_(wanted[start : start + _ROWS]))
        found.update({row.digest: json.loads(row.content) for row in connection.execute(some)})
    return found

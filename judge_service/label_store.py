"""The label store keeps people's answers in the ledger's database. It only ever appends."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar, TypeVarTuple

import anyio
import sqlalchemy as sa
from pydantic import JsonValue
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LabelConflict, LedgerUnavailable, RefusedLabel
from judge_service.seal import Sealing, row_digest, seal
from stepjudge.label import Label, fault

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

AHEAD = timedelta(minutes=5)
"""How far a label's time may lie ahead, as clocks differ: the latest one holds, so none may be the latest for years."""

_BATCH = 500
_TABLE = schema.labels


@dataclass(frozen=True)
class Wanted:
    """Which labels are asked for; null is any."""

    rubric: str | None = None
    """Name of the rubric, whatever its version."""
    criterion: str | None = None
    annotator: str | None = None
    state_digest: str | None = None
    step_digest: str | None = None

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        columns = {
            _TABLE.c.rubric_name: self.rubric,
            _TABLE.c.criterion: self.criterion,
            _TABLE.c.annotator: self.annotator,
            _TABLE.c.state_digest: self.state_digest,
            _TABLE.c.step_digest: self.step_digest,
        }
        return [column == value for column, value in columns.items() if value is not None]


class LabelStore:
    """Labels by sequence number."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    async def add(self, labels: Sequence[Label]) -> tuple[tuple[Label, ...], int]:
        """Store all of them or none; gives them with ids and times, and how many were there already.

        Raises RefusedLabel when one names a label that it cannot replace or settle or is of the future, LabelConflict when an id is taken by
        other content, LedgerUnavailable.
        """
        return await anyio.to_thread.run_sync(self._add, labels)

    async def page(self, wanted: Wanted, *, before: int | None, limit: int) -> list[tuple[int, Label]]:
        """Labels with their sequence numbers, newest first, older than `before`."""
        return await _read(self._page, wanted, before, limit)

    async def every(self, wanted: Wanted) -> list[Label]:
        """All of them, oldest first."""
        return await _read(self._every, wanted)

    def of_rubric(self, name: str) -> list[Label]:
        """All labels of a rubric, oldest first. Blocks. Raises LedgerUnavailable."""
        return _guarded(self._every, Wanted(rubric=name))

    def newest(self) -> int:
        """The sequence number of the newest label; 0 when there is none. Blocks. Raises LedgerUnavailable."""
        return _guarded(self._newest)

    def _add(self, labels: Sequence[Label]) -> tuple[tuple[Label, ...], int]:
        now = datetime.now(UTC)
        written = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        stamped = tuple(_stamped(label, written) for label in labels)
        try:
            with self._engine.begin() as connection:
                stored = self._stored(connection, _names(stamped))
                fresh = _fresh(stamped, stored)
                _refuse_future(fresh, now + AHEAD)
                if fresh:
                    seal(connection, [Sealing("label", label.label_id, row_digest(_row(label))) for label in fresh])
                    connection.execute(sa.insert(_TABLE), [_row(label) for label in fresh])
        except IntegrityError as error:  # another request stored one of these ids in between
            raise LabelConflict("a label with one of these ids was stored meanwhile: send them again") from error
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the labels could not be stored: {words(error)}") from error
        return stamped, len(stamped) - len(fresh)

    def _stored(self, connection: sa.Connection, ids: Sequence[str]) -> dict[str, Label]:
        found: dict[str, Label] = {}
        for start in range(0, len(ids), _BATCH):
            query = sa.select(_TABLE.c.record).where(_TABLE.c.label_id.in_(ids[start : start + _BATCH]))
            for text in connection.scalars(query):
                label = Label.model_validate_json(text)
                found[label.label_id] = label
        return found

    def _page(self, wanted: Wanted, before: int | None, limit: int) -> list[tuple[int, Label]]:
        query = sa.select(_TABLE.c.sequence, _TABLE.c.record).where(*wanted.conditions())
        if before is not None:
            query = query.where(_TABLE.c.sequence < before)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(_TABLE.c.sequence.desc()).limit(limit))
            return [(number, Label.model_validate_json(text)) for number, text in rows]

    def _every(self, wanted: Wanted) -> list[Label]:
        query = sa.select(_TABLE.c.record).where(*wanted.conditions()).order_by(_TABLE.c.sequence)
        with self._engine.connect() as connection:
            return [Label.model_validate_json(text) for text in connection.scalars(query)]

    def _newest(self) -> int:
        with self._engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.max(_TABLE.c.sequence))) or 0


def _fresh(labels: Sequence[Label], stored: Mapping[str, Label]) -> list[Label]:
    """Those that are not there yet. A label may name one that stands before it in the same request."""
    known = dict(stored)
    fresh: list[Label] = []
    for label in labels:
        there = known.get(label.label_id)
        if there is not None and there != label:
            raise LabelConflict(f"label {label.label_id!r} is stored with other content: labels are never edited")
        if there is None:
            if wrong := fault(label, known):
                raise RefusedLabel(wrong)
            fresh.append(label)
            known[label.label_id] = label
    return fresh


def _refuse_future(labels: Sequence[Label], latest: datetime) -> None:
    for label in labels:
        if label.moment > latest:
            raise RefusedLabel(
                f"label {label.label_id!r} is dated {label.created_at}, in the future: set the clock, or leave the time out"
            )


def _names(labels: Sequence[Label]) -> list[str]:
    """Every id that is given or named."""
    return sorted(set(_ids(labels)))


def _ids(labels: Sequence[Label]) -> Iterator[str]:
    for label in labels:
        yield label.label_id
        yield from label.adjudicates
        if label.supersedes:
            yield label.supersedes


def _stamped(label: Label, now: str) -> Label:
    return label.model_copy(
        update={"label_id": label.label_id or uuid.uuid4().hex, "created_at": label.created_at or now}
    )


def _row(label: Label) -> dict[str, JsonValue]:
    return {
        "label_id": label.label_id,
        "created_at": label.created_at,
        "state_digest": label.state_digest,
        "step_digest": label.step_digest,
        "rubric_name": label.rubric_name,
        "criterion": label.criterion,
        "annotator": label.annotator,
        "record": label.model_dump_json(),
    }


async def _read(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    return await anyio.to_thread.run_sync(_guarded, work, *arguments)


def _guarded(work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Raises LedgerUnavailable where the database does not answer or a record is damaged."""
    try:
        return work(*arguments)
    except SQLAlchemyError as error:
        raise LedgerUnavailable(f"the labels cannot be read: {words(error)}") from error
    except ValueError as error:
        raise LedgerUnavailable(f"a label of the ledger is damaged: {error}") from error

"""A seal ties a record of the ledger to all records before it: whoever edits or removes one, breaks what follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa
from pydantic import JsonValue

from judge_service import schema
from judge_service.database import insert
from stepjudge.digest import digest

Kind = Literal["act", "label", "meta", "verdict"]

FIRST = digest("the first seal")
"""What stands before the first seal."""

_HEAD = "head"
"""Name of the newest seal among the settings of the store."""


@dataclass(frozen=True)
class Sealing:
    """A record to be sealed."""

    kind: Kind
    reference: str
    """The record's own id."""
    content: str
    """Digest of all that the record says."""


def row_digest(row: Mapping[str, JsonValue], *, but: Sequence[str] = ("sequence",)) -> str:
    """The digest of a row: of every column but those."""
    return digest({name: value for name, value in row.items() if name not in but})


def next_seal(before: str, sealing: Sealing) -> str:
    return digest([before, sealing.kind, sealing.reference, sealing.content])


def seal(connection: sa.Connection, sealings: Sequence[Sealing]) -> None:
    """Seal records that this transaction writes. Call it before other statements of the transaction that lock rows."""
    newest = hold(connection)
    rows: list[dict[str, str]] = []
    for sealing in sealings:
        newest = next_seal(newest, sealing)
        rows.append({**vars(sealing), "seal": newest})
    connection.execute(sa.insert(schema.seals), rows)
    connection.execute(sa.update(schema.meta).where(schema.meta.c.name == _HEAD).values(value=newest))


def hold(connection: sa.Connection) -> str:
    """The newest seal. Others that seal wait until this transaction ends, so that seals stand in one order."""
    meta = schema.meta
    held = sa.update(meta).where(meta.c.name == _HEAD).values(value=meta.c.value).returning(meta.c.value)
    newest = connection.scalar(held)
    if newest is None:
        connection.execute(insert(connection, meta).on_conflict_do_nothing(), {"name": _HEAD, "value": FIRST})
        newest = connection.scalar(held)
    assert newest is not None
    return newest


def head(connection: sa.Connection) -> str:
    """The newest seal."""
    return connection.scalar(sa.select(schema.meta.c.value).where(schema.meta.c.name == _HEAD)) or FIRST

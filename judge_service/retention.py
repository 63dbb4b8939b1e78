"""Retention removes old verdicts, and the steps that nothing needs any more. Each removal is a recorded act."""

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from judge_service import register, schema
from judge_service.chain import FRESH, timestamp
from judge_service.database import words
from judge_service.errors import LedgerUnavailable
from judge_service.removal import Act, Removed
from judge_service.seal import Sealing, hold, row_digest, seal
from judge_service.version import VERSION

_BATCH = 500
"""Verdicts of one act, which is one transaction: those that append wait for it."""


def old(connection: sa.Connection, before: datetime) -> int:
    """How many verdicts retention would remove."""
    query = sa.select(sa.func.count()).select_from(schema.verdicts).where(_old(timestamp(before)))
    return connection.scalar(query) or 0


def prune(engine: sa.Engine, before: datetime, removed: Callable[[Sequence[str]], None]) -> None:
    """Remove verdicts made before that time, except those of steps that people have labelled.

    Their seals stay, so that the ledger can still be verified. `removed` is called with the keys of each batch.
    Raises LedgerUnavailable.
    """
    try:
        while keys := _batch(engine, timestamp(before)):
            removed(keys)
        with engine.begin() as connection:
            _sweep(connection)
        if engine.dialect.name == "sqlite":
            _give_back_space(engine)
    except SQLAlchemyError as error:
        raise LedgerUnavailable(f"the ledger could not be pruned: {words(error)}") from error


def _old(before: str) -> sa.ColumnElement[bool]:
    verdicts, labels = schema.verdicts, schema.labels
    labelled = sa.exists().where(
        labels.c.state_digest == verdicts.c.state_digest, labels.c.step_digest == verdicts.c.step_digest
    )
    return sa.and_(verdicts.c.created_at < before, ~labelled)


def _batch(engine: sa.Engine, before: str) -> list[str]:
    """The keys of the verdicts that were removed; none when nothing is left to remove."""
    verdicts, seals, acts = schema.verdicts, schema.seals, schema.acts
    sealed = sa.and_(seals.c.kind == "verdict", seals.c.reference == verdicts.c.verdict_id)
    query = sa.select(verdicts.c.verdict_id, verdicts.c.key).join(seals, sealed).where(_old(before))
    with engine.begin() as connection:
        hold(connection)  # another one that prunes would remove the same
        rows = connection.execute(query.order_by(seals.c.sequence).limit(_BATCH)).all()
        if not rows:
            return []
        ids = [row.verdict_id for row in rows]
        count = Removed()
        for each in ids:
            count.add(each)
        act = Act(created_at=timestamp(datetime.now(UTC)), before=before, service_version=VERSION, removed=count.value)
        row = {"act_id": uuid.uuid4().hex, "content": act.model_dump_json()}
        seal(connection, [Sealing("act", row["act_id"], row_digest(dict(row)))])
        connection.execute(sa.insert(acts), row)
        of_these = sa.and_(seals.c.kind == "verdict", seals.c.reference.in_(ids))
        connection.execute(sa.update(seals).where(of_these).values(removed_by=row["act_id"]))
        connection.execute(sa.delete(verdicts).where(verdicts.c.verdict_id.in_(ids)))
    return [row.key for row in rows]


def _sweep(connection: sa.Connection) -> None:
    """Remove states, steps and openings that no verdict, label or request under way needs."""
    states, steps, openings = schema.states, schema.steps, schema.openings
    if connection.dialect.name == "postgresql":
        # nobody may keep a step while it is being found superfluous
        connection.execute(sa.text("LOCK TABLE openings, steps, states IN SHARE ROW EXCLUSIVE MODE"))
    else:
        hold(connection)
    needed = [
        sa.select(states.c.digest).where(states.c.kept_at >= timestamp(datetime.now(UTC) - FRESH)),
        *(_ends(table) for table in (schema.verdicts, schema.labels)),
    ]
    seeds = sa.union(*needed).subquery()
    live = sa.select(seeds.c.digest).cte("live", recursive=True)
    parents = sa.select(states.c.parent).join(live, live.c.digest == states.c.digest)
    live = live.union(parents.where(states.c.parent.is_not(None)))
    connection.execute(sa.delete(states).where(states.c.digest.not_in(sa.select(live.c.digest))))
    used = sa.select(states.c.step).where(states.c.step.is_not(None))
    connection.execute(sa.delete(steps).where(steps.c.digest.not_in(used)))
    connection.execute(sa.delete(openings).where(openings.c.digest.not_in(sa.select(states.c.digest))))
    register.sweep(connection)


def _ends(table: sa.Table) -> sa.Select[tuple[str]]:
    """The states right after the steps of these records."""
    states = schema.states
    step = sa.and_(states.c.parent == table.c.state_digest, states.c.step == table.c.step_digest)
    return sa.select(states.c.digest).join(table, step)


def _give_back_space(engine: sa.Engine) -> None:
    """What SQLite removes stands in its file until it is written anew."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

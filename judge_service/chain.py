"""A chain is a trace as the ledger stores it: its opening, the contents of its steps, and the digests that tie them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from pydantic import JsonValue

from judge_service import schema
from judge_service.database import insert
from stepjudge.digest import canonical
from stepjudge.rubric import Rubric
from stepjudge.value import JsonObject

FRESH = timedelta(days=1)
"""What was needed within this time is not removed: longer than any request takes."""


@dataclass(frozen=True)
class Chain:
    opening: JsonObject
    contents: tuple[JsonObject, ...]
    states: tuple[str, ...]
    """One more than there are steps."""
    steps: tuple[str, ...]


def keep_chain(connection: sa.Connection, chain: Chain, rubrics: Sequence[Rubric]) -> None:
    """Store what verdicts will refer to. What is there already stays; that its states are needed again is noted."""
    now = datetime.now(UTC)
    parents = [None, *chain.states[:-1]]
    states = [
        {"digest": digest, "parent": parent, "step": step, "kept_at": timestamp(now)}
        for digest, parent, step in zip(chain.states, parents, [None, *chain.steps], strict=True)
    ]
    steps = dict(zip(chain.steps, chain.contents, strict=True))
    _add(connection, schema.openings, [{"digest": chain.states[0], "content": _text(chain.opening)}])
    _add(connection, schema.steps, [{"digest": digest, "content": _text(step)} for digest, step in steps.items()])
    _add(connection, schema.states, states, fresh_since=timestamp(now - FRESH))
    written = [
        {"digest": rubric.digest, "reference": rubric.reference, "content": rubric.model_dump_json()}
        for rubric in rubrics
    ]
    _add(connection, schema.rubrics, written)


def read_chain(connection: sa.Connection, state: str, step: str | None) -> tuple[JsonObject, list[JsonObject]] | None:
    """The opening and the contents of all steps up to `state`, and of `step` taken there; null when one is missing."""
    digests = [] if step is None else [step]
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


def timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, which sorts as text."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _add(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, JsonValue]], *, fresh_since: str = ""
) -> None:
    """Insert what is not there yet; with `fresh_since`, note that older rows are needed again.

    In the order of digests, so that two transactions that add the same rows never wait for each other crosswise.
    """
    statement = insert(connection, table)
    if fresh_since:
        old = table.c.kept_at < fresh_since
        kept_at = {"kept_at": statement.excluded.kept_at}
        statement = statement.on_conflict_do_update(index_elements=["digest"], set_=kept_at, where=old)
    else:
        statement = statement.on_conflict_do_nothing()
    if rows:
        distinct = {str(row["digest"]): row for row in rows}
        connection.execute(statement, [distinct[digest] for digest in sorted(distinct)])


def _text(content: JsonObject) -> str:
    return canonical(content).decode()

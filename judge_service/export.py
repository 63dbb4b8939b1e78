"""An export is the ledger as lines of JSON, one per row, each with the name of its table."""

import json
from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LedgerUnavailable
from stepjudge.value import JsonObject

TABLES = {
    table.name: table
    for table in (
        schema.rubrics,
        schema.openings,
        schema.steps,
        schema.states,
        schema.verdicts,
        schema.labels,
        schema.acts,
        schema.seals,
    )
}
"""All but the settings of the store: the key of its fence stays with it."""

_JSON = ("content", "record")
"""Columns that hold JSON; of seals, `content` is a digest."""


def rows(engine: sa.Engine, names: Sequence[str]) -> int:
    """How many lines there will be."""
    counts = [sa.select(sa.func.count()).select_from(TABLES[name]).scalar_subquery() for name in names]
    with engine.connect() as connection:
        return sum(connection.execute(sa.select(*counts)).one())


def export(engine: sa.Engine, names: Sequence[str]) -> Iterator[str]:
    """The rows of these tables as lines, a few at a time. Raises LedgerUnavailable."""
    try:
        with engine.connect() as connection:
            for name in names:
                table = TABLES[name]
                query = sa.select(table).order_by(*table.primary_key.columns)
                for row in connection.execution_options(yield_per=200).execute(query).mappings():
                    yield json.dumps({"table": name, "row": _opened(dict(row))}, ensure_ascii=False)
    except SQLAlchemyError as error:
        raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error


def _opened(row: JsonObject) -> JsonObject:
    """The row, with the JSON in it as JSON; a damaged one stays text."""
    for name in _JSON:
        text = row.get(name)
        if isinstance(text, str) and text.startswith("{"):
            try:
                row[name] = json.loads(text)
            except ValueError:
                continue
    return row

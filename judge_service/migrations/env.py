"""Alembic runs this module: it migrates over the connection that the ledger hands it."""
# pyright: basic

from alembic import context

from judge_service.schema import metadata


def _ours(_item: object, name: str | None, kind: str, _reflected: bool, _compare_to: object) -> bool:
    """The index of words is each database's own, and SQLite keeps it in several tables."""
    return not (kind == "table" and name is not None and name.startswith("passage_words"))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    include_object=_ours,
)
context.run_migrations()

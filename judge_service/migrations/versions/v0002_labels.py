"""Labels; and verdicts that can be found by their step and by who judged it."""
# pyright: basic

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ADDED = ("judge_digest", "state_digest", "step_digest")
_BATCH = 500


def upgrade() -> None:
    op.create_table(
        "labels",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("label_id", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("state_digest", sa.String(80), nullable=False),
        sa.Column("step_digest", sa.String(80), nullable=False),
        sa.Column("rubric_name", sa.String(200), nullable=False),
        sa.Column("criterion", sa.String(100), nullable=False),
        sa.Column("annotator", sa.String(100), nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("labels_by_rubric", "labels", ["rubric_name", "criterion", "sequence"])
    op.create_index("labels_by_step", "labels", ["state_digest", "step_digest"])
    for name in _ADDED:
        op.add_column("verdicts", sa.Column(name, sa.String(80), nullable=True))
    _fill(op.get_bind())
    op.create_index("verdicts_by_step", "verdicts", ["state_digest", "step_digest"])
    op.create_index("verdicts_by_pair", "verdicts", ["rubric_digest", "judge_digest", "sequence"])


def downgrade() -> None:
    for name in ("verdicts_by_step", "verdicts_by_pair"):
        op.drop_index(name, "verdicts")
    for name in _ADDED:
        op.drop_column("verdicts", name)
    op.drop_table("labels")


def _fill(connection: sa.Connection) -> None:
    """Copy the digests out of the records. A damaged record keeps none: it can be found by its id as before."""
    table = sa.table("verdicts", *(sa.column(name) for name in ("sequence", "record", *_ADDED)))
    fill = sa.update(table).where(table.c.sequence == sa.bindparam("number"))
    last = 0
    while True:
        query = sa.select(table.c.sequence, table.c.record).where(table.c.sequence > last).order_by(table.c.sequence)
        rows = connection.execute(query.limit(_BATCH)).all()
        if not rows:
            return
        last = rows[-1].sequence
        found = [(row.sequence, _read(row.record)) for row in rows]
        known = [{"number": number, **digests} for number, digests in found if digests]
        if known:
            connection.execute(fill.values({name: sa.bindparam(name) for name in _ADDED}), known)


def _read(text: str) -> dict[str, str] | None:
    try:
        record = json.loads(text)
        digests = {name: record[name] for name in _ADDED}
    except (ValueError, KeyError, TypeError):
        return None
    return digests if all(isinstance(each, str) and len(each) <= 80 for each in digests.values()) else None

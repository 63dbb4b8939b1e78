"""Seals over all records, acts of operators, and when a state was last needed."""

import sqlalchemy as sa
from alembic import op

from stepjudge.digest import digest

revision = "0003"
down_revision = "0002"

_RECORDS = (
    (
        "verdict",
        "verdicts",
        "verdict_id",
        (
            "verdict_id",
            "key",
            "remembered",
            "created_at",
            "rubric",
            "rubric_digest",
            "judge",
            "judge_digest",
            "state_digest",
            "step_digest",
            "undetermined",
            "cost_usd",
            "record",
        ),
    ),
    (
        "label",
        "labels",
        "label_id",
        (
            "label_id",
            "created_at",
            "state_digest",
            "step_digest",
            "rubric_name",
            "criterion",
            "annotator",
            "record",
        ),
    ),
)
"""(kind, table, id, columns) of what is sealed."""


def upgrade() -> None:
    op.add_column("states", sa.Column("kept_at", sa.String(40), nullable=False, server_default=""))
    op.create_table(
        "seals",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("reference", sa.String(80), nullable=False),
        sa.Column("content", sa.String(80), nullable=False),
        sa.Column("seal", sa.String(80), nullable=False),
        sa.Column("removed_by", sa.String(64), nullable=True),
        sqlite_autoincrement=True,
    )
    op.create_index("seals_by_record", "seals", ["kind", "reference"], unique=True)
    op.create_table(
        "acts", sa.Column("act_id", sa.String(64), primary_key=True), sa.Column("content", sa.Text, nullable=False)
    )
    _seal_what_is_there(op.get_bind())


def downgrade() -> None:
    op.drop_table("acts")
    op.drop_table("seals")
    op.execute("DELETE FROM meta WHERE name = 'head'")
    op.drop_column("states", "kept_at")


def _seal_what_is_there(connection: sa.Connection) -> None:
    head = digest("the first seal")
    fence = connection.execute(sa.text("SELECT value FROM meta WHERE name = 'fence_key'")).scalar()
    if fence is not None:
        head = _sealed(connection, head, "meta", "fence_key", digest(fence))
    for kind, table, name, columns in _RECORDS:
        last = 0
        while rows := _page(connection, table, last):
            for row in rows:
                record = {column: row[column] for column in columns}
                if "remembered" in record:
                    record["remembered"] = bool(record["remembered"])  # SQLite keeps it as a number
                head = _sealed(connection, head, kind, row[name], digest(record))
            last = rows[-1]["sequence"]
    connection.execute(sa.text("INSERT INTO meta (name, value) VALUES ('head', :head)"), {"head": head})


def _page(connection: sa.Connection, table: str, after: int) -> list[sa.RowMapping]:
    query = sa.text(f"SELECT * FROM {table} WHERE sequence > :after ORDER BY sequence LIMIT 500")
    return list(connection.execute(query, {"after": after}).mappings())


def _sealed(connection: sa.Connection, head: str, kind: str, reference: str, content: str) -> str:
    seal = digest([head, kind, reference, content])
    connection.execute(
        sa.text("INSERT INTO seals (kind, reference, content, seal) VALUES (:kind, :reference, :content, :seal)"),
        {"kind": kind, "reference": reference, "content": content, "seal": seal},
    )
    return seal

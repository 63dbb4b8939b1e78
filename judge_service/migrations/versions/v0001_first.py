"""First tables: meta, openings, steps, states, rubrics, verdicts."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "meta", sa.Column("name", sa.String(64), primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
    for name in ("openings", "steps"):
        op.create_table(
            name,
            sa.Column("digest", sa.String(80), primary_key=True),
            sa.Column("content", sa.Text, nullable=False),
        )
    op.create_table(
        "states",
        sa.Column("digest", sa.String(80), primary_key=True),
        sa.Column("parent", sa.String(80), nullable=True),
        sa.Column("step", sa.String(80), nullable=True),
    )
    op.create_table(
        "rubrics",
        sa.Column("digest", sa.String(80), primary_key=True),
        sa.Column("reference", sa.String(200), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "verdicts",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("verdict_id", sa.String(64), nullable=False, unique=True),
        sa.Column("key", sa.String(80), nullable=False),
        sa.Column("remembered", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("rubric", sa.String(200), nullable=False),
        sa.Column("rubric_digest", sa.String(80), nullable=False),
        sa.Column("judge", sa.String(200), nullable=False),
        sa.Column("undetermined", sa.Integer, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=True),
        sa.Column("record", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("verdicts_by_key", "verdicts", ["key", "sequence"])


def downgrade() -> None:
    for name in ("verdicts", "rubrics", "states", "steps", "openings", "meta"):
        op.drop_table(name)

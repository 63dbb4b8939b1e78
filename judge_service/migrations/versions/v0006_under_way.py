"""Scorings that are under way, for those who watch."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "under_way",
        sa.Column("scoring", sa.String(40), primary_key=True),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("rubric", sa.String(200), nullable=False),
        sa.Column("judge", sa.String(200), nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=True),
        sa.Column("started_at", sa.String(40), nullable=False),
        sa.Column("seen_at", sa.String(40), nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("under_way")

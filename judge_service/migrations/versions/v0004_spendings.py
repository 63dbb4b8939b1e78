"""What keys have spent, by day."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "spendings",
        sa.Column("holder", sa.String(200), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("usd", sa.Float, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("spendings")

"""A list of scorings, and the words of steps to search by."""
# pyright: basic

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "scorings",
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("trace_digest", sa.String(80), nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("source_format", sa.Text, nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("rubric", sa.String(200), nullable=False),
        sa.Column("rubric_digest", sa.String(80), nullable=False),
        sa.Column("judge", sa.String(200), nullable=False),
        sa.Column("judge_digest", sa.String(80), nullable=False),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("steps", sa.Integer, nullable=False),
        sa.Column("tones", sa.Text, nullable=False),
        sa.Column("answers", sa.Text, nullable=False),
        sa.Column("said", sa.String(80), nullable=False),
        sa.Column("undetermined", sa.Integer, nullable=False),
        sa.Column("ungrounded", sa.Integer, nullable=False),
        sa.Column("confidence", sa.Float, nullable=True),
        sa.Column("addresses_judge", sa.Boolean, nullable=False),
        sa.Column("split", sa.Boolean, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=True),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("verdicts", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("scorings_by_trace", "scorings", ["trace_digest"])
    op.create_index("scorings_by_id", "scorings", ["trace_id"])
    op.create_table(
        "trace_steps",
        sa.Column("trace_digest", sa.String(80), primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("step_digest", sa.String(80), nullable=False),
    )
    op.create_index("trace_steps_by_step", "trace_steps", ["step_digest"])
    op.create_table(
        "passages",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("digest", sa.String(80), nullable=False, unique=True),
        sqlite_autoincrement=True,
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute("""CREATE VIRTUAL TABLE passage_words USING fts5(text, tokenize="unicode61 remove_diacritics 2")""")
    else:
        op.execute(
            "CREATE TABLE passage_words (number integer PRIMARY KEY, text text NOT NULL, "
            "words tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED)"
        )
        op.execute("CREATE INDEX passage_words_by_word ON passage_words USING gin (words)")


def downgrade() -> None:
    for name in ("passage_words", "passages", "trace_steps", "scorings"):
        op.drop_table(name)

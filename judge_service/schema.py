"""The ledger's tables. Steps and states are stored once by digest; verdicts are only ever appended."""

from sqlalchemy import Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

meta = Table("meta", metadata, Column("name", String(64), primary_key=True), Column("value", Text, nullable=False))
"""Settings of the store itself, such as the key of the fence."""

openings = Table(
    "openings", metadata, Column("digest", String(80), primary_key=True), Column("content", Text, nullable=False)
)
"""What stands before the first step: system prompt, task, tools."""

steps = Table(
    "steps", metadata, Column("digest", String(80), primary_key=True), Column("content", Text, nullable=False)
)

states = Table(
    "states",
    metadata,
    Column("digest", String(80), primary_key=True),
    Column("parent", String(80), nullable=True),
    Column("step", String(80), nullable=True),
)
"""A state is its parent and one step more; the first one of a trace has neither, and is the digest of an opening."""

rubrics = Table(
    "rubrics",
    metadata,
    Column("digest", String(80), primary_key=True),
    Column("reference", String(200), nullable=False),
    Column("content", Text, nullable=False),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("verdict_id", String(64), nullable=False, unique=True),
    Column("key", String(80), nullable=False),
    Column("remembered", Boolean, nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("rubric", String(200), nullable=False),
    Column("rubric_digest", String(80), nullable=False),
    Column("judge", String(200), nullable=False),
    Column("undetermined", Integer, nullable=False),
    Column("cost_usd", Float, nullable=True),
    Column("record", Text, nullable=False),
    Index("verdicts_by_key", "key", "sequence"),
    sqlite_autoincrement=True,
)

"""The ledger's tables. Steps and states are stored once by digest; verdicts and labels are only ever appended."""

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
    Column("kept_at", String(40), nullable=False, server_default=""),
)
"""A state is its parent and one step more; the first one of a trace has neither, and is the digest of an opening.

`kept_at` is when it was last needed, to about a day: what was needed lately may be about to be judged.
"""

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
    Column("judge_digest", String(80), nullable=True),
    Column("state_digest", String(80), nullable=True),
    Column("step_digest", String(80), nullable=True),
    Column("undetermined", Integer, nullable=False),
    Column("cost_usd", Float, nullable=True),
    Column("record", Text, nullable=False),
    Index("verdicts_by_key", "key", "sequence"),
    Index("verdicts_by_step", "state_digest", "step_digest"),
    Index("verdicts_by_pair", "rubric_digest", "judge_digest", "sequence"),
    sqlite_autoincrement=True,
)

labels = Table(
    "labels",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("label_id", String(64), nullable=False, unique=True),
    Column("created_at", String(40), nullable=False),
    Column("state_digest", String(80), nullable=False),
    Column("step_digest", String(80), nullable=False),
    Column("rubric_name", String(200), nullable=False),
    Column("criterion", String(100), nullable=False),
    Column("annotator", String(100), nullable=False),
    Column("record", Text, nullable=False),
    Index("labels_by_rubric", "rubric_name", "criterion", "sequence"),
    Index("labels_by_step", "state_digest", "step_digest"),
    sqlite_autoincrement=True,
)
"""People's answers. A label is found by the content of its step, so it holds for every run that has that step."""

seals = Table(
    "seals",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("kind", String(20), nullable=False),
    Column("reference", String(80), nullable=False),
    Column("content", String(80), nullable=False),
    Column("seal", String(80), nullable=False),
    Column("removed_by", String(64), nullable=True),
    Index("seals_by_record", "kind", "reference", unique=True),
    sqlite_autoincrement=True,
)
"""One for each record, in the order of writing. A record that retention removed leaves its seal, with the act's id."""

spendings = Table(
    "spendings",
    metadata,
    Column("holder", String(200), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("usd", Float, nullable=False),
)
"""What a key has spent on models, by day in UTC."""

acts = Table(
    "acts",
    metadata,
    Column("act_id", String(64), primary_key=True),
    Column("content", Text, nullable=False),
)
"""What an operator did to the ledger, such as to remove old verdicts."""

scorings = Table(
    "scorings",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("trace_digest", String(80), nullable=False),
    Column("trace_id", Text, nullable=False),
    Column("source_format", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("rubric", String(200), nullable=False),
    Column("rubric_digest", String(80), nullable=False),
    Column("judge", String(200), nullable=False),
    Column("judge_digest", String(80), nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("steps", Integer, nullable=False),
    Column("tones", Text, nullable=False),
    Column("answers", Text, nullable=False),
    Column("said", String(80), nullable=False),
    Column("undetermined", Integer, nullable=False),
    Column("ungrounded", Integer, nullable=False),
    Column("confidence", Float, nullable=True),
    Column("addresses_judge", Boolean, nullable=False),
    Column("split", Boolean, nullable=False),
    Column("cost_usd", Float, nullable=True),
    Column("seconds", Float, nullable=False),
    Column("verdicts", Text, nullable=False),
    Index("scorings_by_trace", "trace_digest"),
    Index("scorings_by_id", "trace_id"),
    sqlite_autoincrement=True,
)
"""One trace as one judge scored it by one rubric: a table of contents of the ledger, made of what the verdicts say.

It is no record: a later scoring of the same, or of the trace when it has grown, takes the place of an earlier one.
"""

trace_steps = Table(
    "trace_steps",
    metadata,
    Column("trace_digest", String(80), primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("step_digest", String(80), nullable=False),
    Index("trace_steps_by_step", "step_digest"),
)
"""Which steps each trace of `scorings` has."""

passages = Table(
    "passages",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("digest", String(80), nullable=False, unique=True),
    sqlite_autoincrement=True,
)
"""Steps that can be searched. Their words stand in `passage_words`, which each database keeps in its own way."""

under_way = Table(
    "under_way",
    metadata,
    Column("scoring", String(40), primary_key=True),
    Column("trace_id", Text, nullable=False),
    Column("rubric", String(200), nullable=False),
    Column("judge", String(200), nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("cost_usd", Float, nullable=True),
    Column("started_at", String(40), nullable=False),
    Column("seen_at", String(40), nullable=False),
    Column("ended", Boolean, nullable=False),
)
"""Scorings that take longer than a moment, told by the replica that works at them each second, for those who watch.

No record: a row goes a minute after its scoring was last heard of.
"""

"""The listing reads the ledger's table of contents: which traces were scored, found by filters and by words of their steps."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, TypeVarTuple

import anyio
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LedgerUnavailable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_TABLE, _STEPS, _PASSAGES = schema.scorings, schema.trace_steps, schema.passages
_MOST_WORDS = 12
_MOST_HITS = 2_000
"""Steps with the words: those of common words would be all there are."""


@dataclass(frozen=True)
class Sought:
    """Which scorings are asked for; null and false are any."""

    words: str = ""
    """All of which stand in one step."""
    rubric: str | None = None
    """Digest of a version."""
    judge: str | None = None
    """Its name."""
    answer: str | None = None
    """`useful=no`: some step has it."""
    undetermined: bool = False
    ungrounded: bool = False
    confidence: float | None = None
    """Some answer has a lower one."""
    disagreement: bool = False
    """Another judge said otherwise of the same trace, or members of the court did."""
    addresses_judge: bool = False
    since: str | None = None
    until: str | None = None
    """Days, such as `2026-12-01`."""
    cost_usd: float | None = None
    """At least."""
    seconds: float | None = None
    """Of the judge, at least."""


@dataclass(frozen=True)
class Listed:
    """One scoring."""

    sequence: int
    trace_digest: str
    trace_id: str
    source_format: str
    task: str
    rubric: str
    rubric_digest: str
    judge: str
    judge_digest: str
    created_at: str
    steps: int
    tones: str
    undetermined: int
    ungrounded: int
    confidence: float | None
    addresses_judge: bool
    split: bool
    cost_usd: float | None
    seconds: float
    verdicts: tuple[str | None, ...]
    """Ids by step."""


class Listing:
    """Every method may raise LedgerUnavailable."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    async def page(self, sought: Sought, *, before: int | None, limit: int) -> list[Listed]:
        """Newest first, older than `before`."""
        return await self._read(self._page, sought, before, limit)

    async def of_trace(self, trace_digest: str) -> list[Listed]:
        """Every scoring that ends at this state, newest first."""
        return await self._read(self._of_trace, trace_digest)

    async def rubrics_and_judges(self) -> tuple[list[tuple[str, str]], list[str]]:
        """What to choose from: (reference, digest) of rubrics, names of judges."""
        return await self._read(self._choices)

    async def criteria(self) -> list[str]:
        """What answers can be sought, such as `useful=no`."""
        return await self._read(self._answers)

    async def hits(self, traces: Sequence[str], text: str) -> dict[str, int]:
        """For each of these traces, the first step in which the words stand."""
        return await self._read(self._hits, traces, text)

    def _page(self, sought: Sought, before: int | None, limit: int) -> list[Listed]:
        query = sa.select(_TABLE).where(*self._conditions(sought))
        if before is not None:
            query = query.where(_TABLE.c.sequence < before)
        return self._listed(query.order_by(_TABLE.c.sequence.desc()).limit(limit), sought.words)

    def _of_trace(self, trace_digest: str) -> list[Listed]:
        query = sa.select(_TABLE).where(_TABLE.c.trace_digest == trace_digest)
        return self._listed(query.order_by(_TABLE.c.sequence.desc()))

    def _choices(self) -> tuple[list[tuple[str, str]], list[str]]:
        rubrics = sa.select(_TABLE.c.rubric, _TABLE.c.rubric_digest).distinct().order_by(_TABLE.c.rubric)
        judges = sa.select(_TABLE.c.judge).distinct().order_by(_TABLE.c.judge)
        with self._engine.connect() as connection:
            return [(row[0], row[1]) for row in connection.execute(rubrics)], list(connection.scalars(judges))

    def _answers(self) -> list[str]:
        with self._engine.connect() as connection:
            found = connection.scalars(sa.select(_TABLE.c.answers).distinct())
            return sorted({word for text in found for word in text.split()})

    def _hits(self, traces: Sequence[str], text: str) -> dict[str, int]:
        query = (
            sa.select(_STEPS.c.trace_digest, sa.func.min(_STEPS.c.step))
            .where(_STEPS.c.trace_digest.in_(traces), _STEPS.c.step_digest.in_(self._matching()))
            .group_by(_STEPS.c.trace_digest)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query, {"words": self._question(text)})
            return {row[0]: row[1] for row in rows}

    def _listed(self, query: sa.Select[*tuple[object, ...]], text: str = "") -> list[Listed]:
        with self._engine.connect() as connection:
            rows = connection.execute(query, {"words": self._question(text)} if text else {}).mappings()
            return [_of_row(row) for row in rows]

    def _conditions(self, sought: Sought) -> Iterator[sa.ColumnElement[bool]]:
        if sought.words:
            with_words = sa.select(_STEPS.c.trace_digest).where(_STEPS.c.step_digest.in_(self._matching()))
            yield _TABLE.c.trace_digest.in_(with_words)
        if sought.rubric:
            yield _TABLE.c.rubric_digest == sought.rubric
        if sought.judge:
            yield _TABLE.c.judge == sought.judge
        if sought.answer:
            yield _TABLE.c.answers.contains(f" {sought.answer} ", autoescape=True)
        if sought.undetermined:
            yield _TABLE.c.undetermined > 0
        if sought.ungrounded:
            yield _TABLE.c.ungrounded > 0
        if sought.confidence is not None:
            yield _TABLE.c.confidence < sought.confidence
        if sought.disagreement:
            other = _TABLE.alias("other")
            otherwise = sa.exists().where(
                other.c.trace_digest == _TABLE.c.trace_digest,
                other.c.judge_digest != _TABLE.c.judge_digest,
                other.c.said != _TABLE.c.said,
            )
            yield sa.or_(_TABLE.c.split, otherwise)
        if sought.addresses_judge:
            yield _TABLE.c.addresses_judge
        if sought.since:
            yield _TABLE.c.created_at >= sought.since
        if sought.until:
            yield _TABLE.c.created_at < f"{sought.until}U"  # after every time of that day, which goes on with a T
        if sought.cost_usd is not None:
            yield _TABLE.c.cost_usd >= sought.cost_usd
        if sought.seconds is not None:
            yield _TABLE.c.seconds >= sought.seconds

    def _matching(self) -> sa.Select[str]:
        """Digests of the newest steps with the words, which are bound later."""
        newest = f"ORDER BY {{}} DESC LIMIT {_MOST_HITS}"
        if self._engine.dialect.name == "sqlite":
            numbers = sa.text(
                f"SELECT rowid FROM passage_words WHERE passage_words MATCH :words {newest.format('rowid')}"
            )
        else:
            numbers = sa.text(
                f"SELECT number FROM passage_words WHERE words @@ to_tsquery('simple', :words) {newest.format('number')}"
            )
        return sa.select(_PASSAGES.c.digest).where(_PASSAGES.c.number.in_(numbers))  # type: ignore[arg-type]

    def _question(self, text: str) -> str:
        """What each database asks for all of the words, of which the last may be the beginning of one."""
        found = re.findall(r"\w+", text)[:_MOST_WORDS] or ["_"]
        if self._engine.dialect.name == "sqlite":
            return " ".join(f'"{word}"' for word in found) + "*"
        return " & ".join(f"'{word}'" for word in found) + ":*"

    async def _read(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        try:
            return await anyio.to_thread.run_sync(work, *arguments)
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error


def _of_row(row: sa.RowMapping) -> Listed:
    told: dict[str, Any] = {name: row[name] for name in Listed.__dataclass_fields__}
    told["verdicts"] = tuple(json.loads(told["verdicts"]))
    return Listed(**told)

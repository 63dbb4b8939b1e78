"""A tally is what the ledger has of each judge under each version of a rubric: how much, since when, for how much."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LedgerUnavailable

_TABLE = schema.verdicts


@dataclass(frozen=True)
class Tally:
    rubric: str
    """`name@version`."""
    rubric_digest: str
    judge: str
    judge_digest: str
    verdicts: int
    undetermined: int
    """Answers."""
    cost_usd: float
    """Of those whose price is known."""
    unpriced: int
    """Verdicts whose price is not known."""
    first: str
    last: str
    """RFC 3339, UTC."""

    @property
    def pair(self) -> tuple[str, str]:
        return self.rubric_digest, self.judge_digest

    @property
    def rubric_name(self) -> str:
        return self.rubric.partition("@")[0]


class Tallies:
    """Tallies of one ledger. What was counted is kept: each time only what is new is read."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()  # two requests would count the same rows twice
        self._found: dict[tuple[str, str], Tally] = {}
        self._oldest = self._newest = 0

    def all(self) -> tuple[Tally, ...]:
        """Every judge under every version of a rubric, most verdicts first. Blocks. Raises LedgerUnavailable."""
        try:
            with self._lock, self._engine.connect() as connection:
                oldest, newest = connection.execute(
                    sa.select(sa.func.min(_TABLE.c.sequence), sa.func.max(_TABLE.c.sequence))
                ).one()
                if oldest != self._oldest:  # retention has removed some
                    self._found, self._newest, self._oldest = {}, 0, oldest
                for row in connection.execute(_since(self._newest, newest or 0)):
                    new = Tally(*row)
                    before = self._found.get(new.pair)
                    self._found[new.pair] = new if before is None else _added(before, new)
                self._newest = newest or 0
                return tuple(sorted(self._found.values(), key=lambda each: (-each.verdicts, each.rubric, each.judge)))
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error

    def one(self, rubric_digest: str, judge_digest: str) -> Tally | None:
        return next((each for each in self.all() if each.pair == (rubric_digest, judge_digest)), None)


def judges_of(tallies: Sequence[Tally]) -> tuple[str, ...]:
    """Their names."""
    return tuple(sorted({each.judge for each in tallies}))


def _since(after: int, until: int) -> sa.Select[*tuple[Any, ...]]:
    names = (_TABLE.c.rubric, _TABLE.c.rubric_digest, _TABLE.c.judge, _TABLE.c.judge_digest)
    priced = sa.func.coalesce(_TABLE.c.cost_usd, 0.0)
    unpriced = sa.case((_TABLE.c.cost_usd.is_(None), 1), else_=0)
    return (
        sa.select(
            *names,
            sa.func.count(),
            sa.func.sum(_TABLE.c.undetermined),
            sa.func.sum(priced),
            sa.func.sum(unpriced),
            sa.func.min(_TABLE.c.created_at),
            sa.func.max(_TABLE.c.created_at),
        )
        .where(_TABLE.c.sequence > after, _TABLE.c.sequence <= until, _TABLE.c.judge_digest.is_not(None))
        .group_by(*names)
    )


def _added(one: Tally, more: Tally) -> Tally:
    return Tally(
        one.rubric,
        one.rubric_digest,
        one.judge,
        one.judge_digest,
        one.verdicts + more.verdicts,
        one.undetermined + more.undetermined,
        one.cost_usd + more.cost_usd,
        one.unpriced + more.unpriced,
        min(one.first, more.first),
        max(one.last, more.last),
    )

"""Spending is what the holders of keys have paid for models, by day: kept in the ledger's database, which replicas share."""

from typing import Any

import sqlalchemy as sa

from judge_service.database import insert
from judge_service.schema import spendings


class Spending:
    """Its methods block, and raise SQLAlchemyError."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def of(self, holder: str, day: str) -> float:
        """USD, of all replicas together."""
        with self._engine.connect() as connection:
            return float(connection.scalar(_spent(holder, day)) or 0.0)

    def add(self, holder: str, day: str, usd: float) -> float:
        """Count more, and tell the new sum."""
        with self._engine.begin() as connection:
            row = insert(connection, spendings).values(holder=holder, day=day, usd=usd)
            more = {"usd": spendings.c.usd + row.excluded.usd}
            connection.execute(row.on_conflict_do_update(index_elements=["holder", "day"], set_=more))
            return float(connection.scalar(_spent(holder, day)) or 0.0)


def _spent(holder: str, day: str) -> sa.Select[Any]:
    return sa.select(spendings.c.usd).where(spendings.c.holder == holder, spendings.c.day == day)

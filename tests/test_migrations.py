"""Migrations go up and down on both databases, and leave what is in the tables."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from judge_service.chain import Chain
from judge_service.database import alembic, open_database
from judge_service.seal import FIRST, Sealing, head, next_seal

from ledgers import opened, record
from rubrics_for_tests import SMALL

KEPT = ("openings", "rubrics", "states", "steps", "verdicts")


@contextmanager
def migrating(url: str) -> Generator[tuple[Config, sa.Connection]]:
    """Alembic over a connection of its own."""
    engine = open_database(url)
    with engine.connect() as connection:
        yield alembic(connection), connection
        connection.commit()
    engine.dispose()


def counts(connection: sa.Connection) -> dict[str, int]:
    return {name: connection.execute(sa.text(f"SELECT count(*) FROM {name}")).scalar_one() for name in KEPT}


@pytest.fixture
async def full(ledger_url: str) -> str:
    """The address of a ledger with something in its tables."""
    async with opened(ledger_url) as ledger:
        await ledger.keep(Chain({}, ({"message": "t"},), ("s", "s1"), ("t",)), SMALL)
        async with anyio.create_task_group() as group:
            for number in range(700):
                group.start_soon(ledger.append, record(number, key=f"k{number}"))
    return ledger_url


@pytest.mark.parametrize("revision", ["0002", "0001"])
async def test_rows_outlive_the_way_down_and_up_again(full: str, revision: str) -> None:
    with migrating(full) as (config, connection):
        before = counts(connection)
        command.downgrade(config, revision)
        connection.commit()
        assert counts(connection) == before

    async with opened(full) as ledger:
        assert await ledger.record("v699") == record(699, key="k699")
        await ledger.append(record(700))
    with migrating(full) as (_, connection):
        seals = connection.execute(sa.text("SELECT kind, reference, content, seal FROM seals ORDER BY sequence")).all()
        seal = FIRST
        for kind, reference, content, expected in seals:
            seal = next_seal(seal, Sealing(kind, reference, content))
            assert seal == expected
        assert (len(seals), seal) == (702, head(connection)), "what was there is sealed again, and so is what follows"


def test_nothing_is_left_after_the_way_down(ledger_url: str) -> None:
    with migrating(ledger_url) as (config, connection):
        command.downgrade(config, "base")
        connection.commit()
        assert sa.inspect(connection).get_table_names() == ["alembic_version"]
    open_database(ledger_url).dispose()


def test_the_migrated_tables_are_those_of_the_schema(ledger_url: str) -> None:
    with migrating(ledger_url) as (config, _):
        command.check(config)  # raises when a migration is missing

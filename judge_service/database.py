"""The database under a ledger: SQLite by default, PostgreSQL where configured; tables are brought up to date on opening."""

from typing import Any, cast

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from judge_service.errors import LedgerUnavailable

_MIGRATING = 5_262
"""Name of the advisory lock under which PostgreSQL's tables are brought up to date."""


def open_database(url: str, *, pool: int = 10) -> sa.Engine:
    """Connect, and bring the tables up to date. Raises LedgerUnavailable."""
    try:
        engine = _engine(url, pool)
        _migrate(engine)
        return engine
    except SQLAlchemyError as error:
        raise LedgerUnavailable(f"cannot open the ledger {named(url)}: {words(error)}") from error
    except CommandError as error:
        raise LedgerUnavailable(f"the ledger {named(url)} was made by another version of stepjudge: {error}") from error
    except ModuleNotFoundError as error:
        extra = "'stepjudge[postgres]'" if error.name == "psycopg" else error.name
        raise LedgerUnavailable(f"the ledger {named(url)} needs a database driver: pip install {extra}") from error


def alembic(connection: sa.Connection) -> Config:
    """Alembic's configuration, over this connection."""
    config = Config()
    config.set_main_option("script_location", "judge_service:migrations")
    config.attributes["connection"] = connection
    return config


def insert(connection: sa.Connection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that may say what to do about a row that is there already."""
    # two dialects' statements with one interface
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else cast(Any, sqlite.insert(table))


def named(url: str) -> str:
    """The address, without its password."""
    try:
        return repr(sa.make_url(url))
    except SQLAlchemyError:
        return "(not an address)"


def words(error: SQLAlchemyError) -> str:
    """The database's own sentence, without the statement and its parameters."""
    return str(getattr(error, "orig", None) or error).strip()


def may_pass(error: SQLAlchemyError, engine: sa.Engine) -> bool:
    """Whether the server went away, so that it may come back. SQLite has no server, and waits for locks by itself."""
    return engine.dialect.name != "sqlite" and isinstance(error, OperationalError | InterfaceError)


def _engine(url: str, pool: int) -> sa.Engine:
    address = sa.make_url(url)
    if address.drivername in ("postgres", "postgresql"):
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite":
        engine = sa.create_engine(address)
        event.listen(engine, "connect", _tune_sqlite)
        return engine
    usual = {"connect_timeout": "10", "application_name": "stepjudge"}
    return sa.create_engine(
        address,
        connect_args={name: value for name, value in usual.items() if name not in address.query},
        pool_size=pool,
        max_overflow=pool,
        pool_pre_ping=True,  # connections of before a restart are found dead, and made anew
        pool_recycle=1_800,
    )


def _tune_sqlite(connection: object, _record: object) -> None:
    """Readers beside one writer; a commit is on the disk when it returns; wait for another process's commit."""
    cursor = cast("sa.PoolProxiedConnection", connection).cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _migrate(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        # two processes may open a new ledger at once: the second waits here, then finds nothing to do
        begin = "BEGIN IMMEDIATE" if engine.dialect.name == "sqlite" else f"SELECT pg_advisory_xact_lock({_MIGRATING})"
        connection.exec_driver_sql(begin)
        command.upgrade(alembic(connection), "head")
        connection.commit()

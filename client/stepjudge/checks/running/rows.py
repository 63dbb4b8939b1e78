# pyright: basic
"""Rows are what one query reads from a database. Run as a script by `sql.py`, so that it can be ended in time.

Reads `{"url", "query", "parameters", "limit"}` as JSON from standard input, answers `{"columns", "rows"}` or
`{"failed"}`. Alone knows SQLAlchemy; on the standard library otherwise.
"""

import json
import sqlite3
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def main() -> None:
    asked = json.load(sys.stdin)
    try:
        import sqlalchemy
        import sqlalchemy.exc
    except ModuleNotFoundError:
        answer = {"failed": "SQL needs the package sqlalchemy: pip install 'stepjudge[evaluate]'"}
    else:
        try:
            answer = _read(asked, sqlalchemy)
        except (sqlalchemy.exc.SQLAlchemyError, ImportError, OSError) as error:
            answer = {"failed": f"{type(error).__name__}: {getattr(error, 'orig', None) or error}"}
    json.dump(answer, sys.stdout)


def _read(asked: dict[str, Any], sqlalchemy: Any) -> dict[str, Any]:
    engine = sqlalchemy.create_engine(asked["url"], poolclass=sqlalchemy.pool.NullPool)
    dialect = engine.dialect.name
    options = {"postgresql_readonly": True} if dialect == "postgresql" else {}
    with engine.connect().execution_options(**options) as connection:
        if dialect == "sqlite":
            _lock(connection.connection.driver_connection)
        elif dialect in ("mysql", "mariadb", "oracle"):
            connection.execute(sqlalchemy.text("SET TRANSACTION READ ONLY"))
        try:
            found = connection.execute(sqlalchemy.text(asked["query"]), asked["parameters"])
            if not found.returns_rows:
                return {"failed": "the query reads nothing"}
            rows = found.fetchmany(asked["limit"] + 1)
            return {"columns": list(found.keys()), "rows": [[_plain(value) for value in row] for row in rows]}
        finally:
            connection.rollback()


def _lock(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA query_only = ON")
    database.execute("PRAGMA trusted_schema = OFF")  # a view of the attempt's could call functions with side effects
    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
    allowed.add(sqlite3.SQLITE_TRANSACTION)

    def judge(action: int, *_: object) -> int:
        return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY

    database.set_authorizer(judge)


def _plain(value: object) -> Any:
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case date() | datetime() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case _:
            return str(value)


if __name__ == "__main__":
    main()

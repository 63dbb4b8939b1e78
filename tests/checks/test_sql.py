"""The sql check, on real SQLite databases, some of them made by someone hostile."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from checks.checking import checked, outcome, written


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    with sqlite3.connect(tmp_path / "root" / "shop.db") as database:
        database.executescript(
            "create table orders (id integer, state text, total numeric, day date);"
            "insert into orders values (1, 'open', 10.5, '2019-05-14'), (2, 'refunded', 20, null);"
        )
    database.close()
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"query": "select count(*) from orders", "scalar": {"equals": 2}}, "pass"),
        ({"query": "select count(*) from orders", "scalar": {"equals": 3}}, "fail"),
        (
            {"query": "select total from orders where id = :id", "parameters": {"id": 1}, "scalar": {"equals": 10.5}},
            "pass",
        ),
        ({"query": "select id, state from orders", "rows": [[2, "refunded"], [1, "open"]]}, "pass"),
        (
            {
                "query": "select id, state from orders order by id",
                "rows": [[2, "refunded"], [1, "open"]],
                "ordered": True,
            },
            "fail",
        ),
        ({"query": "select id from orders", "rows": [[1]]}, "fail"),
        ({"query": "select id from orders", "rows": [[1], [2], [2]]}, "fail"),
        ({"query": "select day from orders", "rows": [["2019-05-14"], [None]]}, "pass"),
        ({"query": "select x'00ff'", "scalar": {"equals": "00ff"}}, "pass"),
        ({"query": "select id from orders", "count": 2}, "pass"),
        ({"query": "select id from orders where id > 2", "count": 0}, "pass"),
        ({"query": "select id from orders", "scalar": {"equals": 1}}, "fail"),
        ({"query": "select id from orders", "count": 2, "max_rows": 1}, "error"),
        ({"query": "select nothing from orders", "count": 2}, "error"),
        ({"query": "delete from orders", "count": 0}, "error"),
        ({"query": "delete from orders returning id", "count": 2}, "error"),
        ({"query": "attach '{attached}' as other", "count": 0}, "error"),
        ({"query": "pragma writable_schema = on", "count": 0}, "error"),
        ({"query": "select load_extension('/tmp/x')", "count": 1}, "error"),
        ({"query": "select 1; delete from orders", "count": 1}, "error"),
    ],
)
async def test_a_query_reads_what_it_must_and_changes_nothing(
    root: Path, fields: dict[str, Any], expected: str
) -> None:
    before = (root / "shop.db").read_bytes()
    attached = root.parent / "attached.db"
    fields = {**fields, "query": fields["query"].replace("{attached}", str(attached))}
    result = await checked({"kind": "sql", "sqlite": "shop.db", **fields}, root)
    assert result.outcome == expected, result
    assert "broke" not in result.reason
    assert (root / "shop.db").read_bytes() == before
    assert not attached.exists()


async def test_what_was_committed_to_the_write_ahead_log_is_read(root: Path) -> None:
    database = sqlite3.connect(root / "shop.db")
    try:
        database.execute("pragma journal_mode = wal")
        database.execute("insert into orders values (3, 'new', 1, null)")
        database.commit()
        assert (root / "shop.db-wal").stat().st_size > 0
        document = {"kind": "sql", "sqlite": "shop.db", "query": "select id from orders", "count": 3}
        assert await outcome(document, root) == "pass"
    finally:
        database.close()


async def test_a_query_that_never_ends_is_ended(root: Path) -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    began = time.monotonic()
    assert (
        await outcome({"kind": "sql", "sqlite": "shop.db", "query": endless, "count": 1, "timeout_s": 2}, root)
        == "error"
    )
    assert time.monotonic() - began < 20


async def test_a_database_that_is_none_or_lies_outside_is_an_error(root: Path, tmp_path: Path) -> None:
    written(root, **{"text.db": "no database at all" * 1_000})
    (root / "link.db").symlink_to(tmp_path / "other.db")
    for name in ("text.db", "link.db", "absent.db"):
        document = {"kind": "sql", "sqlite": name, "query": "select count(*) from orders", "count": 1}
        assert await outcome(document, root) == "error"
    assert not (root / "absent.db").exists()


async def test_a_url_can_be_kept_out_of_the_suite_but_names_no_file(root: Path) -> None:
    document = {"kind": "sql", "url_env": "STEPJUDGE_TEST_URL", "query": "select 1", "count": 1}
    assert "does not hold the database's URL" in (await checked(document, root)).reason
    os.environ["STEPJUDGE_TEST_URL"] = "sqlite:////etc/passwd"
    try:
        assert "names a SQLite file" in (await checked(document, root)).reason
        os.environ["STEPJUDGE_TEST_URL"] = "nosuch://user:the-secret@127.0.0.1/x"
        result = await checked(document, root)
        assert result.outcome == "error"
        assert "the-secret" not in result.model_dump_json()
    finally:
        del os.environ["STEPJUDGE_TEST_URL"]

"""The ledger: what was answered is on the disk, stays as it was, and can be checked."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from judge_service.errors import LedgerUnavailable
from judge_service.ledger import Ledger
from stepjudge.client import JudgeClient
from stepjudge.verdict import Answer, Verdict, VerdictRecord

TRACE = {
    "messages": [
        {"role": "user", "content": "What is the capital of Peru?"},
        {"role": "assistant", "content": "Let me think about Peru."},
        {"role": "assistant", "content": "Lima."},
    ]
}


def record(number: int, key: str = "k") -> VerdictRecord:
    verdict = Verdict(
        verdict_id=f"v{number}",
        key=key,
        step=1,
        rubric="r",
        judge="rules",
        answers=(Answer(criterion="valid", answer="yes", reason=str(number)),),
    )
    return VerdictRecord(
        verdict=verdict,
        rubric="step@1.0.0",
        rubric_digest="r",
        judge={"kind": "rules"},
        judge_digest="j",
        prompt_version="1",
        prompt_digests=(),
        state_digest="s",
        step_digest="t",
        created_at="2026-12-01T00:00:00.000Z",
        service_version="0",
    )


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Ledger]:
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.sqlite3'}")
    async with anyio.create_task_group() as group:
        group.start_soon(ledger.running)
        yield ledger
        ledger.close()
    ledger.dispose()


@contextmanager
def migrating(url: str) -> Generator[tuple[Config, sa.Connection]]:
    """Alembic over a connection of its own."""
    config = Config()
    config.set_main_option("script_location", "judge_service:migrations")
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        yield config, connection
    engine.dispose()


async def test_what_is_appended_is_there_after_reopening(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger, anyio.create_task_group() as group:
        for number in range(300):
            group.start_soon(ledger.append, record(number))
    async with opened(tmp_path) as ledger:
        rows = await ledger.page(before=None, limit=1_000)
        assert {row.verdict.verdict_id for _, row in rows} == {f"v{number}" for number in range(300)}
        assert await ledger.record("v7") == record(7)


async def test_the_newest_verdict_of_a_key_is_remembered(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        for number in range(3):
            await ledger.append(record(number))
        found = await ledger.remembered(["k", "other"])
        assert {key: verdict.verdict_id for key, verdict in found.items()} == {"k": "v2"}


async def test_a_verdict_that_cannot_be_stored_is_refused_and_others_are_not_lost(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.append(record(1))
        with pytest.raises(LedgerUnavailable, match="UNIQUE"):
            await ledger.append(record(1))
        await ledger.append(record(2))
        assert len(await ledger.page(before=None, limit=10)) == 2


def test_a_ledger_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").write_bytes(b"this is no database, it is a letter" * 100)
    with pytest.raises(LedgerUnavailable, match="not a database"):
        Ledger.open(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")


def test_verdicts_survive_the_deletion_of_the_cache(tmp_path: Path) -> None:
    with JudgeClient.embedded(data_dir=tmp_path) as client:
        first = client.score(TRACE)
    for file in (tmp_path / "cache").iterdir():
        file.unlink()
    with JudgeClient.embedded(data_dir=tmp_path) as client:
        again = client.score(TRACE)
    assert [step.verdict_id for step in again.steps] == [step.verdict_id for step in first.steps]
    assert again.cached_steps == len(again.steps)


def test_a_killed_process_loses_no_verdict_that_it_answered(tmp_path: Path) -> None:
    program = (
        "import json, os, signal, sys\n"
        "from stepjudge import JudgeClient\n"
        "def landed(event):\n"
        "    print(event.step.verdict_id, flush=True)\n"
        "    if event.done == 2:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "with JudgeClient.embedded(data_dir=sys.argv[1]) as client:\n"
        "    client.score(json.loads(sys.argv[2]), on_step=landed)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), json.dumps(TRACE)], capture_output=True, text=True, check=False
    )
    answered = killed.stdout.split()
    assert (killed.returncode, len(answered)) == (-9, 2)

    with JudgeClient.embedded(data_dir=tmp_path) as client:
        assert all(client.audit(verdict_id).state_matches for verdict_id in answered)


def test_two_processes_open_a_new_ledger_at_once(tmp_path: Path) -> None:
    program = "import sys; from judge_service.ledger import Ledger; print(Ledger.open(sys.argv[1]).fence_key)"
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    openers = [
        subprocess.Popen([sys.executable, "-c", program, url], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    keys = {opener.communicate()[0] for opener in openers}
    assert [opener.returncode for opener in openers] == [0, 0, 0]
    assert len(keys) == 1, "all of them fence with the same key"


def test_migrations_go_down_and_up_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    Ledger.open(url).dispose()
    with migrating(url) as (config, connection):
        command.downgrade(config, "base")
        connection.commit()
        assert sa.inspect(connection).get_table_names() == ["alembic_version"]
    Ledger.open(url).dispose()


def test_the_migrated_tables_are_those_of_the_schema(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    Ledger.open(url).dispose()
    with migrating(url) as (config, _):
        command.check(config)  # raises when a migration is missing


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("steps", "replace(content, 'Lima', 'Quito')"),
        ("openings", "replace(content, 'Peru', 'Chile')"),
    ],
)
def test_a_tampered_state_does_not_match(tmp_path: Path, table: str, change: str) -> None:
    with JudgeClient.embedded(data_dir=tmp_path) as client:
        verdict_id = client.score(TRACE).steps[-1].verdict_id
        assert client.audit(verdict_id).state_matches
        with sqlite3.connect(tmp_path / "ledger.sqlite3") as database:
            database.execute(f"UPDATE {table} SET content = {change}")
        database.close()
        assert not client.audit(verdict_id).state_matches

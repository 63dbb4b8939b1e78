"""The ledger: what was answered is on the disk, stays as it was, and can be checked."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from judge_service import schema
from judge_service.chain import Chain
from judge_service.database import open_database
from judge_service.errors import LedgerUnavailable
from judge_service.ledger import Ledger
from judge_service.seal import FIRST, Sealing, head, next_seal
from stepjudge.client import JudgeClient
from stepjudge.value import JsonObject

from ledgers import opened, record
from rubrics_for_tests import SMALL
from traces import HOSTILE

TRACE = {
    "messages": [
        {"role": "user", "content": "What is the capital of Peru?"},
        {"role": "assistant", "content": "Let me think about Peru."},
        {"role": "assistant", "content": "Lima."},
    ]
}


async def test_what_is_appended_is_there_after_reopening(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger, anyio.create_task_group() as group:
        for number in range(300):
            group.start_soon(ledger.append, record(number))
    async with opened(ledger_url) as ledger:
        rows = await ledger.page(before=None, limit=1_000)
        assert {row.verdict.verdict_id for _, row in rows} == {f"v{number}" for number in range(300)}
        assert await ledger.record("v7") == record(7)


async def test_the_newest_verdict_of_a_key_is_remembered(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        for number in range(3):
            await ledger.append(record(number))
        found = await ledger.remembered(["k", "other"])
        assert {key: verdict.verdict_id for key, verdict in found.items()} == {"k": "v2"}


async def test_a_verdict_that_cannot_be_stored_is_refused_and_others_are_not_lost(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.append(record(1))
        with pytest.raises(LedgerUnavailable, match=r"(?i)unique"):
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


def test_processes_open_a_new_ledger_at_once(ledger_url: str) -> None:
    program = "import sys; from judge_service.ledger import Ledger; print(Ledger.open(sys.argv[1]).fence_key)"
    command = [sys.executable, "-c", program, ledger_url]
    openers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    keys = {opener.communicate()[0] for opener in openers}
    assert [opener.returncode for opener in openers] == [0, 0, 0]
    assert len(keys) == 1, "all of them fence with the same key"


async def test_one_bad_verdict_of_many_at_once_is_refused_alone(ledger_url: str) -> None:
    refused: list[str] = []

    async def append(ledger: Ledger, number: int) -> None:
        try:
            await ledger.append(record(number))
        except LedgerUnavailable as error:
            refused.append(str(error))

    async with opened(ledger_url) as ledger:
        await ledger.append(record(5))
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(append, ledger, number)
        assert len(await ledger.page(before=None, limit=100)) == 20
    assert len(refused) == 1


async def test_hostile_text_is_stored_as_it_is(ledger_url: str) -> None:
    opening: JsonObject = {"task": "".join(HOSTILE)}
    said: JsonObject = {"message": "".join(HOSTILE), "calls": []}
    chain = Chain(opening, (said,), ("s0", "s1"), ("t1",))
    async with opened(ledger_url) as ledger:
        await ledger.keep(chain, SMALL)
        await ledger.keep(chain, SMALL)
        assert await ledger.chain("s0", "t1") == (opening, [said])


async def test_replicas_that_keep_the_same_steps_do_not_lock_each_other_out(ledger_url: str) -> None:
    steps = [f"t{number}" for number in range(200)]
    states = [f"s{number}" for number in range(201)]
    contents: tuple[JsonObject, ...] = tuple({"message": step} for step in steps)
    forth = Chain({}, contents, tuple(states), tuple(steps))
    back = Chain({}, contents[::-1], tuple(states[::-1]), tuple(steps[::-1]))
    async with opened(ledger_url) as one, opened(ledger_url) as other, anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(one.keep, forth, SMALL)
            group.start_soon(other.keep, back, SMALL)


async def test_replicas_that_append_at_once_leave_one_row_of_seals(ledger_url: str) -> None:
    async with opened(ledger_url) as one, opened(ledger_url) as other, anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon((one if number % 2 else other).append, record(number))
    engine = open_database(ledger_url)
    with engine.connect() as connection:
        rows = connection.execute(sa.select(schema.seals).order_by(schema.seals.c.sequence)).all()
        newest = head(connection)
    engine.dispose()
    before = FIRST
    for row in rows:
        assert row.seal == next_seal(before, Sealing(row.kind, row.reference, row.content))
        before = row.seal
    assert (len(rows), before) == (101, newest), "a hundred verdicts and the key of the fence"


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

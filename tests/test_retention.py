"""Keeping the ledger: what is old goes and leaves a trace, exports are whole, backups can be restored."""

import json
import os
import shutil
import sqlite3
import subprocess
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from judge_service import schema
from judge_service.chain import Chain
from judge_service.database import open_database
from judge_service.export import export
from judge_service.label_store import LabelStore
from judge_service.retention import prune
from judge_service.verify import Fault, Verification
from stepjudge.cli.main import stepjudge
from stepjudge.client import JudgeClient
from stepjudge.digest import digest
from stepjudge.label import Label
from stepjudge.value import JsonObject

from judged import SMALL
from ledgers import opened, record
from rubrics_for_tests import SMALL as RUBRIC
from servers import Postgres

COUNTED = ("openings", "steps", "states", "verdicts", "labels", "acts")
LATER = datetime.now(UTC) + timedelta(days=1)


def command(*words: object) -> Result:
    return CliRunner().invoke(stepjudge, ["ledger", *map(str, words)])


def counts(engine: sa.Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            name: connection.execute(sa.select(sa.func.count()).select_from(schema.metadata.tables[name])).scalar_one()
            for name in COUNTED
        }


def faults(url: str) -> list[Fault]:
    engine = open_database(url)
    found = list(Verification(engine).faults())
    engine.dispose()
    return found


def scored(folder: Path, url: str) -> list[str]:
    with JudgeClient.embedded(data_dir=folder, ledger_url=url) as client:
        return [step.verdict_id for step in client.score(SMALL).steps]


def needed_long_ago(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.update(schema.states).values(kept_at="2020-01-01T00:00:00.000Z"))


def test_pruning_leaves_nothing_but_the_seals_and_the_act(tmp_path: Path, ledger_url: str) -> None:
    first = scored(tmp_path, ledger_url)
    engine = open_database(ledger_url)
    needed_long_ago(engine)
    engine.dispose()

    options = ("--data-dir", tmp_path, "--ledger-url", ledger_url)
    done = command("prune", "--older-than", "0d", "--yes", *options)

    assert done.stdout.startswith("removed 3 verdicts")
    assert counts(engine) == {"openings": 0, "steps": 0, "states": 0, "verdicts": 0, "labels": 0, "acts": 1}
    engine.dispose()
    assert faults(ledger_url) == []
    again = scored(tmp_path, ledger_url)
    assert not set(again) & set(first), "the cache does not answer with verdicts that cannot be audited any more"
    assert faults(ledger_url) == []


def test_what_was_pruned_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    scored(tmp_path, url)
    engine = open_database(url)
    needed_long_ago(engine)
    assert b"misty in Lima" in (tmp_path / "ledger.sqlite3").read_bytes()
    prune(engine, LATER, lambda _keys: None)
    engine.dispose()
    assert b"misty in Lima" not in b"".join(path.read_bytes() for path in tmp_path.glob("ledger.sqlite3*"))


async def test_labelled_steps_and_their_verdicts_stay(tmp_path: Path, ledger_url: str) -> None:
    await anyio.to_thread.run_sync(scored, tmp_path, ledger_url)
    engine = open_database(ledger_url)
    with engine.connect() as connection:
        row = connection.execute(sa.select(schema.verdicts).order_by(schema.verdicts.c.sequence)).mappings().first()
    assert row is not None
    step = json.loads(row["record"])["verdict"]["step"]
    label = Label(
        state_digest=row["state_digest"],
        step_digest=row["step_digest"],
        task_digest=row["state_digest"],
        step=step,
        rubric=row["rubric"],
        rubric_digest=row["rubric_digest"],
        criterion="valid",
        answer="yes",
        annotator="ann",
    )
    await LabelStore(engine).add([label])
    needed_long_ago(engine)
    prune(engine, LATER, lambda _keys: None)
    assert counts(engine) == {
        "openings": 1, "steps": step, "states": step + 1, "verdicts": 1, "labels": 1, "acts": 1
    }  # fmt: skip
    engine.dispose()
    assert faults(ledger_url) == []


async def test_steps_of_a_request_under_way_stay(ledger_url: str) -> None:
    steps: tuple[JsonObject, ...] = ({"message": "a"}, {"message": "b"})
    names = tuple(digest(step) for step in steps)
    opening: JsonObject = {"task": "t"}
    start = digest(opening)
    middle = digest([start, names[0]])
    chain = Chain(opening, steps, (start, middle, digest([middle, names[1]])), names)
    engine = open_database(ledger_url)
    async with opened(ledger_url) as ledger:
        await ledger.keep(chain, RUBRIC)
        needed_long_ago(engine)
        await ledger.keep(chain, RUBRIC)  # needed again: its verdicts are about to come
        prune(engine, LATER, lambda _keys: None)
        assert counts(engine)["states"] == 3
        needed_long_ago(engine)
        prune(engine, LATER, lambda _keys: None)
        assert counts(engine)["states"] == 0
    engine.dispose()


async def test_many_verdicts_go_in_acts_of_bounded_size(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger, anyio.create_task_group() as group:
        for number in range(1_100):
            group.start_soon(ledger.append, record(number, key=f"k{number}"))
    engine = open_database(ledger_url)
    batches: list[int] = []
    prune(engine, LATER, lambda keys: batches.append(len(keys)))
    assert (batches, counts(engine)["acts"]) == ([500, 500, 100], 3)
    engine.dispose()
    assert faults(ledger_url) == []


def test_an_export_holds_every_row(tmp_path: Path, ledger_url: str) -> None:
    scored(tmp_path, ledger_url)
    file = tmp_path / "ledger.jsonl"
    assert command("export", "--ledger-url", ledger_url, "-o", file).exit_code == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    tables = [line["table"] for line in lines]
    assert {name: tables.count(name) for name in ("rubrics", "openings", "steps", "states", "verdicts", "seals")} == {
        "rubrics": 1, "openings": 1, "steps": 3, "states": 4, "verdicts": 3, "seals": 4
    }  # fmt: skip
    assert {line["row"]["record"]["verdict"]["step"] for line in lines if line["table"] == "verdicts"} == {1, 2, 3}
    assert "fence_key" not in {line["row"].get("name") for line in lines}

    only = command("export", "--ledger-url", ledger_url, "--table", "steps").stdout
    assert [json.loads(line)["table"] for line in only.splitlines()] == ["steps"] * 3


async def test_an_export_takes_no_more_memory_for_a_larger_ledger(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    peaks: list[int] = []
    async with opened(url) as ledger:
        for rows in (300, 900):
            async with anyio.create_task_group() as group:
                for number in range(rows):
                    group.start_soon(ledger.append, record(rows * 10 + number, key="k" * 80))
            tracemalloc.start()
            for _ in export(ledger.engine, ["verdicts"]):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5


def test_a_backup_made_while_verdicts_are_written_can_be_restored(tmp_path: Path) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy.sqlite3"
    with JudgeClient.embedded(data_dir=folder) as client:
        ids = [step.verdict_id for step in client.score(SMALL).steps]
        assert command("backup", copy, "--data-dir", folder).exit_code == 0
        client.score({"messages": [*SMALL["messages"], {"role": "assistant", "content": "Bye."}]})
    assert (copy.stat().st_mode & 0o777, command("backup", copy, "--data-dir", folder).exit_code != 0) == (0o600, True)

    restored = tmp_path / "restored"
    restored.mkdir()
    shutil.copy(copy, restored / "ledger.sqlite3")
    assert faults(f"sqlite:///{restored / 'ledger.sqlite3'}") == []
    with JudgeClient.embedded(data_dir=restored) as client:
        assert [step.verdict_id for step in client.score(SMALL).steps] == ids
        assert all(client.audit(each).state_matches for each in ids)


def test_a_dump_of_postgresql_can_be_restored(
    tmp_path: Path, postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.new_database()
    ids = scored(tmp_path, url)
    monkeypatch.setenv("PATH", f"{postgres_server.programs}{os.pathsep}{os.environ['PATH']}")
    assert command("backup", tmp_path / "copy.dump", "--ledger-url", url).exit_code == 0

    other = postgres_server.new_database()
    subprocess.run(["pg_restore", "--no-owner", f"--dbname={other}", tmp_path / "copy.dump"], check=True)
    assert faults(other) == []
    assert scored(tmp_path / "elsewhere", other) == ids


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    done = CliRunner().invoke(stepjudge, ["ledger", "export", "--data-dir", str(tmp_path)])
    assert "there is no ledger" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_cannot_be_finished_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").write_bytes(b"")
    sqlite3.connect(tmp_path / "ledger.sqlite3").close()
    done = CliRunner().invoke(
        stepjudge, ["ledger", "backup", str(tmp_path / "no" / "copy"), "--data-dir", str(tmp_path)]
    )
    assert done.exit_code != 0
    assert not (tmp_path / "no").exists()

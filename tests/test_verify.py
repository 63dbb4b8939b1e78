"""A verified ledger: whatever is changed, removed or slipped in by raw SQL is named."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from judge_service import schema
from judge_service.database import open_database
from judge_service.label_store import LabelStore
from judge_service.retention import prune
from judge_service.seal import FIRST
from judge_service.verify import Fault, Verification
from stepjudge.cli.main import stepjudge
from stepjudge.client import JudgeClient
from stepjudge.label import Label

from fakes.provider import Provider
from judged import SMALL
from ledgers import opened, record
from scripted import always


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def model_ledger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ledger in which three steps were judged, and one was labelled; and an act of retention."""
    folder = tmp_path_factory.mktemp("model")
    url = f"sqlite:///{folder / 'ledger.sqlite3'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_server").new_database()
    anyio.run(_with_an_old_verdict, url)
    engine = open_database(url)
    prune(engine, datetime(2026, 12, 1, tzinfo=UTC) + timedelta(hours=1), lambda _keys: None)
    with (
        Provider(always("yes")) as provider,
        JudgeClient.embedded(
            data_dir=folder, ledger_url=url, judge="openai/fake", api_base=provider.base_url
        ) as client,
    ):
        client.score(SMALL)
    with engine.connect() as connection:
        row = connection.execute(sa.select(schema.verdicts).limit(1)).mappings().one()
    anyio.run(_labelled, engine, dict(row))
    engine.dispose()
    return url


@pytest.fixture
def written(model_ledger: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    """A copy of that ledger."""
    if model_ledger.startswith("sqlite"):
        url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
        shutil.copy(model_ledger.removeprefix("sqlite:///"), tmp_path / "ledger.sqlite3")
    else:
        url = request.getfixturevalue("postgres_server").new_database(like=model_ledger)
    engine = open_database(url)
    yield engine
    engine.dispose()


async def _with_an_old_verdict(url: str) -> None:
    async with opened(url) as ledger:
        await ledger.append(record(1))


async def _labelled(engine: sa.Engine, row: dict[str, str]) -> None:
    label = Label(
        state_digest=row["state_digest"],
        step_digest=row["step_digest"],
        task_digest=row["state_digest"],
        step=1,
        rubric=row["rubric"],
        rubric_digest=row["rubric_digest"],
        criterion="valid",
        answer="yes",
        annotator="ann",
    )
    await LabelStore(engine).add([label])


def faults(engine: sa.Engine, noted: str | None = None) -> list[Fault]:
    return list(Verification(engine, noted).faults())


def change(engine: sa.Engine, statement: str, **values: object) -> None:
    with engine.begin() as connection:
        assert connection.execute(sa.text(statement), values).rowcount == 1, statement


def first(engine: sa.Engine, table: sa.Table, column: str) -> str:
    with engine.connect() as connection:
        return connection.execute(sa.select(table.c[column]).order_by(*table.primary_key.columns)).scalars().all()[-1]


def test_what_the_service_wrote_has_no_faults(written: sa.Engine) -> None:
    verification = Verification(written)
    assert list(verification.faults()) == []
    assert (verification.removed, verification.unrendered) == (1, 0)
    assert verification.checked == verification.total > 10
    assert verification.head != FIRST


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (schema.openings, "content"),
        (schema.steps, "content"),
        (schema.states, "digest"),
        (schema.states, "step"),
        (schema.rubrics, "content"),
        (schema.rubrics, "reference"),
        (schema.verdicts, "record"),
        (schema.verdicts, "judge"),
        (schema.verdicts, "created_at"),
        (schema.verdicts, "state_digest"),
        (schema.labels, "record"),
        (schema.labels, "annotator"),
        (schema.acts, "content"),
        (schema.seals, "content"),
        (schema.seals, "seal"),
        (schema.seals, "reference"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_one_changed_byte_is_found_and_its_row_is_named(written: sa.Engine, table: sa.Table, column: str) -> None:
    name = next(iter(table.primary_key.columns)).name
    row = first(written, table, name)
    text = first(written, table, column)
    place = len(text) // 2
    other = chr(ord(text[place]) ^ 1)
    changed = text[:place] + other + text[place + 1 :]
    change(written, f"UPDATE {table.name} SET {column} = :new WHERE {name} = :row", new=changed, row=row)

    found = faults(written)
    assert found
    if table.name in ("verdicts", "labels"):
        ids = {"verdicts": "verdict_id", "labels": "label_id"}[table.name]
        assert (table.name, first(written, table, ids)) in {(each.table, each.row) for each in found}
    elif (table.name, column) == ("states", "digest"):
        assert ("states", changed) in {(each.table, each.row) for each in found}
    else:
        assert (table.name, str(row)) in {(each.table, each.row) for each in found}


@pytest.mark.parametrize("name", ["fence_key", "head"])
def test_a_changed_setting_of_the_store_is_found(written: sa.Engine, name: str) -> None:
    change(written, "UPDATE meta SET value = 'abc' WHERE name = :name", name=name)
    assert ("meta", name) in {(each.table, each.row) for each in faults(written)}


@pytest.mark.parametrize("table", ["openings", "steps", "states", "rubrics", "verdicts", "labels", "acts", "seals"])
def test_a_removed_row_is_missed(written: sa.Engine, table: str) -> None:
    name = next(iter(schema.metadata.tables[table].primary_key.columns)).name
    row = first(written, schema.metadata.tables[table], name)
    change(written, f"DELETE FROM {table} WHERE {name} = :row", row=row)
    assert faults(written)


def test_a_verdict_that_was_slipped_in_is_found(written: sa.Engine) -> None:
    with written.begin() as connection:
        row = dict(connection.execute(sa.select(schema.verdicts).limit(1)).mappings().one())
        del row["sequence"]
        connection.execute(sa.insert(schema.verdicts), {**row, "verdict_id": "slipped"})
    assert [(each.table, each.row) for each in faults(written)] == [("verdicts", "slipped")]


def test_a_ledger_made_anew_does_not_hold_the_noted_seal(written: sa.Engine) -> None:
    verification = Verification(written)
    assert list(verification.faults()) == []
    assert faults(written, verification.head) == []
    with written.begin() as connection:
        connection.execute(sa.delete(schema.seals).where(schema.seals.c.kind == "label"))
        connection.execute(sa.delete(schema.labels))
        seal = connection.scalar(sa.select(schema.seals.c.seal).order_by(schema.seals.c.sequence.desc()).limit(1))
        connection.execute(sa.update(schema.meta).where(schema.meta.c.name == "head").values(value=seal))
    assert faults(written) == [], "whoever makes the newest seal anew is not found by the ledger alone"
    assert [each.table for each in faults(written, verification.head)] == ["seals"]


def verified(written: sa.Engine, *options: str) -> Result:
    url = written.url.render_as_string(hide_password=False)
    return CliRunner().invoke(stepjudge, ["audit", "verify", "--ledger-url", url, *options])


def test_the_command_names_the_row_and_exits_with_1(written: sa.Engine) -> None:
    whole = verified(written, "--json")
    assert (whole.exit_code, json.loads(whole.stdout)["faults"]) == (0, 0)
    assert "newest seal: sha256:" in verified(written).stdout

    verdict_id = first(written, schema.verdicts, "verdict_id")
    change(written, "UPDATE verdicts SET judge = 'openai/better' WHERE verdict_id = :id", id=verdict_id)
    tampered = verified(written)
    assert tampered.exit_code == 1
    assert f"verdicts {verdict_id}: differs from what was sealed; its column judge" in tampered.stdout

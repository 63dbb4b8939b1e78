"""`stepjudge ledger`: keep the permanent record: export it, back it up, remove what is old."""

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import click

from stepjudge.cli.counting import Counting
from stepjudge.cli.ledger_place import LedgerPlace, works_on_ledger

_TABLES = ("rubrics", "openings", "steps", "states", "verdicts", "labels", "acts", "seals")


class _Age(click.ParamType[timedelta]):
    name = "age"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        found = re.fullmatch(r"(\d{1,5})(d|w|y)", value)
        if found is None:
            self.fail(f"{value!r} is no age: say 90d, 12w or 2y", param, ctx)
        return timedelta(days=int(found[1]) * {"d": 1, "w": 7, "y": 365}[found[2]])


@click.group()
def ledger() -> None:
    """Keep the permanent record."""


@ledger.command()
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="File; standard output if not given."
)
@click.option("--table", "tables", multiple=True, type=click.Choice(_TABLES), help="Only this one; may be repeated.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@works_on_ledger
def export(output: Path | None, tables: tuple[str, ...], quiet: bool, place: LedgerPlace) -> None:
    """Write every row as a line of JSON: {"table": …, "row": …}."""
    from judge_service.export import export as lines
    from judge_service.export import rows

    engine, names = place.open(), tables or _TABLES
    stream = output.open("w", encoding="utf-8") if output else sys.stdout
    try:
        with Counting("exporting", rows(engine, names), quiet=quiet) as counting:
            for line in lines(engine, names):
                stream.write(line + "\n")
                counting.one()
    finally:
        if output:
            stream.close()
        engine.dispose()


@ledger.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--quiet", is_flag=True, help="No progress bar.")
@works_on_ledger
def backup(target: Path, quiet: bool, place: LedgerPlace) -> None:
    """Copy the ledger into the new file TARGET while services go on writing to it."""
    from judge_service.backup import back_up

    place.open().dispose()
    with Counting("copying pages", None, quiet=quiet) as counting:
        back_up(place.url, target, counting.reached)
    click.echo(f"{target}: {target.stat().st_size} bytes")


@ledger.command()
@click.option("--older-than", required=True, type=_Age(), help="Such as 90d, 12w or 2y.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@works_on_ledger
def prune(older_than: timedelta, yes: bool, quiet: bool, place: LedgerPlace) -> None:
    """Remove old verdicts with their raw replies, and the steps that nothing needs any more.

    Verdicts of labelled steps stay. The act is recorded in the ledger; the seals of what was removed stay there.
    """
    from judge_service import retention

    engine, before = place.open(), datetime.now(UTC) - older_than
    with engine.connect() as connection:
        count = retention.old(connection, before)
    if not yes:
        click.confirm(f"Remove {count} verdicts made before {before:%Y-%m-%d %H:%M} UTC?", abort=True)
    removed: list[str] = []
    with Counting("removing", count, quiet=quiet) as counting:

        def note(keys: Sequence[str]) -> None:
            removed.extend(keys)
            for _ in keys:
                counting.one()

        retention.prune(engine, before, note)
    engine.dispose()
    anyio.run(partial(_forget, place, removed))
    click.echo(f"removed {len(removed)} verdicts made before {before:%Y-%m-%dT%H:%M:%SZ}")


async def _forget(place: LedgerPlace, keys: Sequence[str]) -> None:
    """The cache must not answer with verdicts that can no longer be audited."""
    from judge_service.cache import Cache
    from judge_service.ledger import Ledger
    from judge_service.stores import open_store

    ledger = Ledger.open(place.url)
    cache = Cache(partial(open_store, place.settings.cache, place.settings.data_dir / "cache"), namespace=ledger.name)
    for start in range(0, len(keys), 500):
        await cache.forget(keys[start : start + 500])
    cache.close()
    ledger.dispose()

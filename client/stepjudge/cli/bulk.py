"""`stepjudge score --output FILE`: bulk scoring, with a bar that says how far it is, how fast, and what it has cost."""

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import click
from rich.progress import TextColumn, TimeRemainingColumn

from stepjudge.bulk import SHOWN, Bulk, Tally
from stepjudge.cli.bars import Bars
from stepjudge.client import AsyncJudgeClient, ScoreOptions
from stepjudge.visible import visible

WAITING = 75
"""The exit code while answers are missing that will come: EX_TEMPFAIL of sysexits.h."""


class BulkProgress(Bars):
    """Traces done of about how many, steps a second, money, and the time that is left."""

    def __init__(self, total: int | None, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        told = TextColumn("{task.fields[told]}", markup=False)
        self._bars.columns = (*self._bars.columns, TimeRemainingColumn(), told)
        self._task = self._bars.add_task("traces", total=total, told="")

    def show(self, tally: Tally) -> None:
        elapsed = self._bars.tasks[0].elapsed or 0.0
        rate = f"{tally.steps / elapsed:.0f} steps/s" if elapsed > 1 else ""
        cost = "price unknown" if tally.cost_usd is None else f"${tally.cost_usd:.4f}"
        failed = f"{tally.failed} failed" if tally.failed else ""
        told = "  ".join(part for part in (rate, cost, failed) if part)
        self._bars.update(self._task, completed=tally.done + tally.kept + tally.waiting, told=told)


def score_in_bulk(
    client: AsyncJudgeClient,
    files: Sequence[Path],
    output: Path,
    options: ScoreOptions,
    *,
    trace_format: str | None,
    jobs: int,
    max_cost_usd: float,
) -> None:
    """Score into the file and sum up on standard error. Exits with 1 when a trace has no scorecard."""

    async def run() -> Tally:
        with BulkProgress(about(files), quiet=False) as progress:
            bulk = Bulk(client, files, output, options, trace_format, jobs, max_cost_usd, progress.show)
            async with client:
                return await (in_batches(bulk) if options.get("batch") else bulk.run())

    try:
        tally = anyio.run(run)
    except KeyboardInterrupt:
        click.echo(f"stepjudge: stopped. What was scored stands in {output}: the same command goes on there", err=True)
        sys.exit(130)
    sum_up(tally, output)
    if tally.failed:
        sys.exit(1)
    if tally.waiting:
        sys.exit(WAITING)


async def in_batches(bulk: Bulk) -> Tally:
    """Collect what has been answered, score with it, and send what is open. Raises JudgeRefused where that fails."""
    await bulk.client.collect_batches()
    tally = await bulk.run()
    if tally.waiting:
        await bulk.client.send_batches()
    return tally


def about(files: Sequence[Path]) -> int | None:
    """About how many traces there are: lines of JSON Lines, otherwise one a file. Null where one comes by a pipe."""
    total = 0
    for file in files:
        if str(file) == "-" or not file.exists():
            return None
        if file.suffix not in (".jsonl", ".ndjson"):
            total += 1
            continue
        with file.open("rb") as lines:
            while block := lines.read(1 << 20):
                total += block.count(b"\n")
    return total


def sum_up(tally: Tally, output: Path) -> None:
    """On standard error."""
    cost = "at an unknown price" if tally.cost_usd is None else f"for ${tally.cost_usd:.4f}"
    lines = [f"{tally.done} traces, {tally.steps} steps {cost}; {tally.undetermined} answers undetermined"]
    if tally.kept:
        lines.append(f"{tally.kept} traces were finished before")
    if tally.unfinished:
        lines.append(f"{tally.unfinished} traces lack answers for a cause that may pass: the same command asks again")
    if tally.waiting:
        lines.append(f"{tally.waiting} traces wait for a batch: the same command, later, collects it and goes on")
    lines += [f"no scorecard: {visible(error)}" for error in tally.errors]
    if tally.failed > SHOWN:
        lines.append(f"and {tally.failed - SHOWN} more without a scorecard; all are in {output}")
    click.echo("\n".join(lines), err=True)

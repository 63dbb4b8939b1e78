"""Bulk scoring on a Ray cluster: the same lines in the same file, read and scored by workers on many machines.

Workers read the files themselves, at the same path on every machine; the verdicts meet in a ledger and a cache that they
share. Only this process writes the output, so what is not in it after a kill is scored again, for nothing.
"""
# pyright: basic, reportMissingImports=false

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import start_blocking_portal

from stepjudge.bulk import Bulk, Entry, Tally, count, entries_of, finished, key_of
from stepjudge.client import AsyncJudgeClient, ScoreOptions
from stepjudge.contract import Scorecard
from stepjudge.journal import journal
from stepjudge.trace import Trace

FORWARDED = "STEPJUDGE_"
"""Settings from this process's environment hold on all workers; keys of providers must be set on each machine."""


@dataclass(frozen=True)
class RayBulk:
    """What is scored, how, and where the lines go. Ray must be connected, or it starts a cluster on this machine."""

    client: AsyncJudgeClient
    """Not entered: each worker enters one of its own."""
    files: Sequence[Path]
    output: Path
    options: ScoreOptions
    trace_format: str | None = None
    jobs: int = 8
    """Traces at once on each worker."""
    max_cost_usd: float | None = None
    on_progress: Any = None

    def run(self) -> Tally:
        """Score what no earlier run has finished. Raises Busy."""
        import ray
        import ray.data
        from ray.data import ActorPoolStrategy

        tally = Tally()
        ray.data.DataContext.get_current().enable_progress_bars = False
        with journal(self.output, finished) as book:
            kept = ray.put(frozenset(book.kept))
            workers = max(1, int(ray.cluster_resources().get("CPU", 1)) - 1)
            environ = {name: value for name, value in os.environ.items() if name.startswith(FORWARDED)}
            limited: ScoreOptions = {**self.options, "max_cost_usd": self.max_cost_usd}
            lines = (
                ray.data.from_items([{"file": str(file)} for file in self.files], override_num_blocks=len(self.files))
                .map_batches(_Read(kept, self.options, self.trace_format), batch_size=1, num_cpus=0.1)
                .map_batches(
                    _Scorer,
                    fn_constructor_args=(self.client, environ, limited),
                    batch_size=self.jobs,
                    num_cpus=0.5,
                    compute=ActorPoolStrategy(min_size=1, max_size=workers),
                )
            )
            for row in lines.iter_rows():
                line = json.loads(row["line"])
                card = Scorecard.model_validate(line["scorecard"]) if "scorecard" in line else None
                book.keep(row["key"], line)
                count(tally, line, card)
                if self.on_progress:
                    self.on_progress(tally)
                if self.max_cost_usd is not None and (tally.cost_usd or 0.0) >= self.max_cost_usd:
                    break
        return tally


class _Read:
    """Traces of one file at a time, as they are needed."""

    def __init__(self, kept: Any, options: ScoreOptions, trace_format: str | None) -> None:
        self._kept = kept
        self._options = options
        self._format = trace_format

    def __call__(self, batch: Any) -> Any:
        import ray

        kept = ray.get(self._kept)
        for entry in entries_of([Path(file) for file in batch["file"]], self._format):
            key = key_of(entry, self._options)
            if key not in kept:
                trace = "" if entry.trace is None else entry.trace.model_dump_json(exclude_defaults=True)
                yield {
                    "key": [key],
                    "source": [entry.source],
                    "number": [entry.number],
                    "trace": [trace],
                    "error": [entry.error],
                }


class _Scorer:
    """A worker: one client, in an event loop of its own."""

    def __init__(self, client: AsyncJudgeClient, environ: Mapping[str, str], options: ScoreOptions) -> None:
        os.environ.update(environ)
        self._open = ExitStack()  # held as long as the worker lives
        self._portal = self._open.enter_context(start_blocking_portal())
        entered = self._open.enter_context(self._portal.wrap_async_context_manager(client))
        self._bulk = Bulk(entered, (), Path(), options)

    def __call__(self, batch: Any) -> Any:
        entries = [
            Entry(str(source), int(number), Trace.model_validate_json(trace) if trace else None, str(error))
            for source, number, trace, error in zip(
                batch["source"], batch["number"], batch["trace"], batch["error"], strict=True
            )
        ]
        lines = self._portal.call(self._scored, entries)
        return {"key": [str(key) for key in batch["key"]], "line": [json.dumps(line) for line in lines]}

    async def _scored(self, entries: Sequence[Entry]) -> list[Any]:
        lines: list[Any] = [None] * len(entries)

        async def one(place: int) -> None:
            lines[place], _ = await self._bulk.line(entries[place])

        async with anyio.create_task_group() as group:
            for place in range(len(entries)):
                group.start_soon(one, place)
        return lines

"""Bulk scoring reads traces as they come, scores several at once, and appends a line for each; killed, it goes on there.

Neither the traces nor the scorecards are ever held together, so a file of any length takes the same memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from pydantic import JsonValue

from stepjudge.client import AsyncJudgeClient, ScoreOptions
from stepjudge.contract import Scorecard
from stepjudge.digest import digest
from stepjudge.errors import JudgeRefused, UnreadableTrace
from stepjudge.formats import read_file
from stepjudge.journal import Journal, journal
from stepjudge.purse import Purse
from stepjudge.trace import Trace
from stepjudge.value import JsonObject
from stepjudge.verdict import PASSING

SHOWN = 10
"""Errors that a tally repeats."""


@dataclass(frozen=True)
class Entry:
    """One trace where it was found, or what kept it from being read."""

    source: str
    number: int
    """Which one of its source's, from 1, in the order in which they are come upon; alike in every run."""
    trace: Trace | None
    error: str = ""


@dataclass
class Tally:
    """How far a bulk run has come."""

    done: int = 0
    failed: int = 0
    """Traces without a scorecard: unreadable, or refused by the service."""
    unfinished: int = 0
    """Traces with answers that are missing for a cause that may pass; the next run scores them again."""
    waiting: int = 0
    """Traces with questions that wait in a batch; they have no line yet."""
    kept: int = 0
    """Traces that an earlier run had finished."""
    steps: int = 0
    undetermined: int = 0
    cost_usd: float | None = 0.0
    """Null where a price is not known."""
    errors: list[str] = field(default_factory=list[str])
    """The first few, for a person to read; all of them stand in the file."""


@dataclass(frozen=True)
class Bulk:
    """What is scored, how, and where the lines go."""

    client: AsyncJudgeClient
    files: Sequence[Path]
    output: Path
    options: ScoreOptions
    trace_format: str | None = None
    jobs: int = 4
    max_cost_usd: float | None = None
    on_progress: Callable[[Tally], None] = lambda _: None

    async def run(self) -> Tally:
        """Score what no earlier run has finished. Raises Busy, JudgeUnreachable."""
        tally, purse = Tally(), Purse(self.max_cost_usd)
        with journal(self.output, finished) as book:
            send, receive = anyio.create_memory_object_stream[Entry](0)
            async with anyio.create_task_group() as group:
                group.start_soon(self._read, send, book, tally)
                for _ in range(self.jobs):
                    group.start_soon(self._work, receive.clone(), book, tally, purse)
                receive.close()
        return tally

    async def _read(self, send: MemoryObjectSendStream[Entry], book: Journal, tally: Tally) -> None:
        async with send:
            entries = entries_of(self.files, self.trace_format)
            while (entry := await anyio.to_thread.run_sync(next, entries, None)) is not None:
                if key_of(entry, self.options) in book.kept:
                    tally.kept += 1
                    self.on_progress(tally)
                else:
                    await send.send(entry)

    async def _work(self, receive: MemoryObjectReceiveStream[Entry], book: Journal, tally: Tally, purse: Purse) -> None:
        async with receive:
            async for entry in receive:
                line, card = await self.line(entry, purse)
                if card is not None and "in_batch" in card.causes:
                    tally.waiting += 1
                else:
                    await anyio.to_thread.run_sync(book.keep, key_of(entry, self.options), line)
                    count(tally, line, card)
                self.on_progress(tally)

    async def line(self, entry: Entry, purse: Purse | None = None) -> tuple[JsonObject, Scorecard | None]:
        """An entry's line, and its scorecard where it has one. Without a purse, the options alone limit what it costs."""
        known: JsonObject = {"source": entry.source, "number": entry.number}
        if entry.trace is None:
            return {**known, "error": entry.error}, None
        known["trace_id"] = entry.trace.trace_id
        try:
            card = await self._scored(entry.trace, purse or Purse(None))
        except JudgeRefused as error:
            return {**known, "error": str(error)}, None
        return {**known, "scorecard": card.model_dump(mode="json")}, card

    async def _scored(self, trace: Trace, purse: Purse) -> Scorecard:
        if purse.limit_usd is None:
            return await self.client.score(trace, **self.options)
        estimate = await self.client.estimate(trace, **self.options)
        card = await self._granted(trace, purse, estimate.cost_usd, estimate.cost_usd)
        if "budget" in card.causes and estimate.cost_usd is not None:
            # the most that one request may cost can be far above what it will: once more, with all that is left
            again = await self._granted(trace, purse, estimate.cost_usd, purse.limit_usd / 2)
            costs = (card.cost_usd, again.cost_usd)
            card = again.model_copy(update={"cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs)})
        return card

    async def _granted(
        self, trace: Trace, purse: Purse, expected_usd: float | None, wanted_usd: float | None
    ) -> Scorecard:
        async with purse.grant(wanted_usd) as grant:
            limited: ScoreOptions = {**self.options, "max_cost_usd": grant.usd}
            card = await self.client.score(trace, **limited)
            grant.spent = card.cost_usd or 0.0
            if "in_batch" in card.causes:
                grant.spent += expected_usd or 0.0  # to be paid, when the batch is answered
        return card


def entries_of(files: Sequence[Path], trace_format: str | None) -> Iterator[Entry]:
    """Every trace of these files, one after the other; a record that cannot be read is an entry too."""
    for file in files:
        yield from _entries(file, trace_format)


def _entries(file: Path, trace_format: str | None) -> Iterator[Entry]:
    skipped: list[UnreadableTrace] = []
    traces, number = read_file(file, format=trace_format, skip=skipped.append), 0
    while True:
        try:
            trace = next(traces, None)
        except UnreadableTrace as error:
            trace = None
            skipped.append(error)
        for each in skipped:
            number += 1
            yield Entry(str(file), number, None, str(each))
        skipped.clear()
        if trace is None:
            return
        number += 1
        yield Entry(str(file), number, trace)


def key_of(entry: Entry, options: ScoreOptions) -> str:
    """What a line is known by: where its trace was found, and how it is scored."""
    chosen: dict[str, Any] = dict(options)
    rubric = chosen.get("rubric")
    how = [
        rubric if isinstance(rubric, str | None) else rubric.digest,
        *(chosen.get(name) for name in ("judge", "steps", "group", "format")),
    ]
    return digest([entry.source, entry.number, entry.trace.trace_id if entry.trace else None, *how])


def finished(line: JsonValue) -> bool:
    """Whether a line needs no second try: it holds a scorecard that nothing is missing from for a cause that may pass."""
    card = line.get("scorecard") if isinstance(line, dict) else None
    causes = card.get("causes") if isinstance(card, dict) else None
    return isinstance(causes, dict) and not PASSING.intersection(causes)


def count(tally: Tally, line: JsonObject, card: Scorecard | None) -> None:
    """Add a line to the tally."""
    tally.done += 1
    if card is None:
        tally.failed += 1
        if len(tally.errors) < SHOWN:
            tally.errors.append(str(line["error"]))
        return
    tally.unfinished += bool(PASSING.intersection(card.causes))
    tally.steps += len(card.steps)
    tally.undetermined += card.undetermined
    tally.cost_usd = None if tally.cost_usd is None or card.cost_usd is None else tally.cost_usd + card.cost_usd

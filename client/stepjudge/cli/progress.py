"""Progress on standard error while traces are scored: only on a terminal, and never in the way of the output."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from stepjudge.contract import Scored
from stepjudge.trace import Trace


class Progress:
    """A bar for the trace at hand."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = None

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.__exit__(kind, error, trace)

    def start(self, trace: Trace) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(f"scoring {trace.trace_id[:40]}", total=len(trace.steps))

    def step(self, scored: Scored) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=scored.done, total=scored.total)

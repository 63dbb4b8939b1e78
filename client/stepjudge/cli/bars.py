"""Bars show progress on standard error: only on a terminal, and never in the way of the output."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Bars:
    """What every progress display of the command line is built on. Use it as a context manager."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self._bars = Progress(
            # a trace's id stands in it: text, not markup
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.__exit__(kind, error, trace)

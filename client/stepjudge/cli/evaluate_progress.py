"""Progress of an evaluation on standard error: only on a terminal, and never in the way of the output."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stepjudge.trial import Trial, TrialScore


class TrialsProgress:
    """A bar over the trials."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._bars.add_task("trials", total=None)

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.__exit__(kind, error, trace)

    def start(self, total: int) -> None:
        self._bars.update(self._task, total=total)

    def scored(self, trial: Trial, score: TrialScore) -> None:
        self._bars.advance(self._task)

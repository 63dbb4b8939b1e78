"""Progress of an evaluation: a bar over its trials."""

from rich.progress import TimeRemainingColumn

from stepjudge.cli.bars import Bars
from stepjudge.trial import Trial, TrialScore


class TrialsProgress(Bars):
    """A bar over the trials, with the time they may still take."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._bars.columns = (*self._bars.columns, TimeRemainingColumn())
        self._task = self._bars.add_task("trials", total=None)

    def start(self, total: int) -> None:
        self._bars.update(self._task, total=total)

    def scored(self, trial: Trial, score: TrialScore) -> None:
        self._bars.advance(self._task)

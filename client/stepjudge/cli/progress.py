"""Progress while traces are scored: a bar over the steps of the trace at hand."""

from rich.progress import TaskID

from stepjudge.cli.bars import Bars
from stepjudge.contract import Scored
from stepjudge.trace import Trace
from stepjudge.visible import visible


class Progress(Bars):
    """A bar for the trace at hand."""

    _task: TaskID | None = None

    def start(self, trace: Trace) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(f"scoring {visible(trace.trace_id)[:40]}", total=len(trace.steps))

    def step(self, scored: Scored) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=scored.done, total=scored.total)

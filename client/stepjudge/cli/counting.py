"""Progress of work that counts rows or pages: one bar."""

from stepjudge.cli.bars import Bars


class Counting(Bars):
    """A bar that counts up to a total; the total may come to be known later."""

    def __init__(self, what: str, total: int | None, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._task = self._bars.add_task(what, total=total)

    def one(self) -> None:
        self._bars.advance(self._task)

    def reached(self, done: int, total: int) -> None:
        self._bars.update(self._task, completed=done, total=total)

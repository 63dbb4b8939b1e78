"""The terminal side of a labelling session: it shows, reads one key, and does what the key says."""

from collections.abc import Callable

import click
from rich.console import Console

from stepjudge.cli.keyboard import END, Keyboard
from stepjudge.cli.label_page import show_definition, show_question, show_step, show_verdicts
from stepjudge.cli.label_session import Asked, Session, Sitting
from stepjudge.client import JudgeClient

_EARLIER = 3
"""Lines shown of each text before the step in question."""
_ALL = 1_000_000


class Terminal:
    """Runs a session until its end, or until the annotator leaves."""

    def __init__(self, session: Session, service: JudgeClient, *, lines: int, show_judge: bool) -> None:
        self._session = session
        self._service = service
        self._lines = lines
        self._show_judge = show_judge
        self._console = Console(highlight=False, soft_wrap=True)
        self._keyboard = Keyboard()
        self._shown: Sitting | None = None
        self._moves: dict[str, Callable[[Asked], None]] = {
            "s": lambda _: self._session.skip(),
            "b": self._back,
            "x": self._take_back,
            "c": self._comment,
            "m": lambda asked: self._show(asked.sitting, lines=_ALL, earlier=_ALL),
            "?": lambda asked: show_definition(self._console, self._session.rubric, asked),
        }

    def run(self) -> None:
        """Ask until there is nothing left to ask."""
        session = self._session
        if not session.asked:
            click.echo("nothing to label: no step was drawn")
            return
        session.resume()
        try:
            with self._keyboard.open():
                self._ask()
        except (KeyboardInterrupt, EOFError):
            pass
        done, every = session.steps
        more = "" if done == every else " The same command goes on here."
        click.echo(f"\n{done}/{every} steps labelled.{more}")

    def _ask(self) -> None:
        session = self._session
        while (asked := session.now) is not None:
            if asked.sitting is not self._shown:
                self._show(asked.sitting, lines=self._lines, earlier=_EARLIER)
            show_question(self._console, session, asked)
            if not self._press(asked):
                return

    def _press(self, asked: Asked) -> bool:
        """Read keys until one means something; false to leave."""
        while True:
            key = self._keyboard.key()
            if key in ("q", END):
                return False
            if key in self._session.keys(asked):
                label = self._session.answer(key)
                click.echo(f"      → {label.said}")
                self._finished(asked.sitting)
                return True
            if key in self._moves:
                self._moves[key](asked)
                return True
            click.echo(f"      {key!r} is no key here", err=True)

    def _finished(self, sitting: Sitting) -> None:
        """Show what judges said, once the labels of a step are in. From then on, changes to them are not blind."""
        now = self._session.now
        if not self._show_judge or (now is not None and now.sitting is sitting):
            return
        show_verdicts(self._console, self._service.verdicts_of(sitting.state_digest, sitting.step_digest))
        self._session.revealed.add((sitting.state_digest, sitting.step_digest))

    def _show(self, sitting: Sitting, *, lines: int, earlier: int) -> None:
        show_step(self._console, sitting, lines=lines, earlier=earlier)
        self._shown = sitting

    def _back(self, asked: Asked) -> None:
        del asked
        if not self._session.back():
            click.echo("      this is the first question")

    def _take_back(self, asked: Asked) -> None:
        del asked
        click.echo("      taken back" if self._session.take_back() else "      you have not answered this one")

    def _comment(self, asked: Asked) -> None:
        del asked
        with self._keyboard.closed():
            self._session.note = click.prompt("      comment", default="", show_default=False)[:4_000]

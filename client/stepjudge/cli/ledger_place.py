"""Which ledger a command works on: the one in `--data-dir`, or the one at `--ledger-url`; by default the service's own."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from stepjudge.errors import StepjudgeError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from judge_service.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class LedgerPlace:
    """The ledger of a service with these settings."""

    settings: "Settings"

    @property
    def url(self) -> str:
        return self.settings.ledger

    def open(self) -> "sa.Engine":
        """The database. Raises StepjudgeError: a ledger that is not there is not made."""
        from judge_service.database import open_database

        if self.settings.ledger_url is None and not (file := self.settings.data_dir / "ledger.sqlite3").exists():
            raise StepjudgeError(f"there is no ledger at {str(file)!r}: name its folder with --data-dir")
        return open_database(self.url)


def works_on_ledger(command: Callable[..., R]) -> Callable[..., R]:
    """Adds `--data-dir` and `--ledger-url`, and hands the command the `place` of the ledger."""

    @click.option(
        "--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Folder of the service's cache and ledger."
    )
    @click.option("--ledger-url", help="postgresql://… or another SQLAlchemy URL of the ledger.")
    @functools.wraps(command)
    def wrapped(data_dir: Path | None, ledger_url: str | None, **arguments: Any) -> R:
        try:
            from judge_service.errors import JudgeError
            from judge_service.settings import Settings
        except ModuleNotFoundError as error:
            raise StepjudgeError(
                f"the ledger needs more packages ({error.name}): pip install 'stepjudge[service]'"
            ) from error
        given: dict[str, Any] = {"data_dir": data_dir, "ledger_url": ledger_url}
        try:
            settings = Settings(**{name: value for name, value in given.items() if value is not None})
            return command(place=LedgerPlace(settings), **arguments)
        except JudgeError as error:
            raise StepjudgeError(str(error)) from error

    return wrapped

"""A backup is a copy of the ledger taken while services go on writing to it."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from judge_service.database import named
from judge_service.errors import LedgerUnavailable

_PAGES = 1_000
"""Copied at a time; writers go on in between."""


def back_up(url: str, target: Path, progress: Callable[[int, int], None]) -> None:
    """Copy the ledger into a new file: an SQLite database, or an archive of `pg_dump`. Raises LedgerUnavailable.

    The file appears under its name when it is complete.
    """
    if target.exists():
        raise LedgerUnavailable(f"{str(target)!r} exists: a backup never overwrites a file")
    address = sa.make_url(url)
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        if address.get_backend_name() == "sqlite":
            _copy(str(address.database), partial, progress)
        else:
            _dump(address, partial)
        partial.rename(target)
    except (OSError, sqlite3.Error) as error:
        raise LedgerUnavailable(f"the ledger {named(url)} could not be backed up: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _copy(database: str, target: Path, progress: Callable[[int, int], None]) -> None:
    source, copy = sqlite3.connect(f"file:{database}?mode=ro", uri=True), sqlite3.connect(target)
    try:
        source.backup(copy, pages=_PAGES, progress=lambda _status, left, total: progress(total - left, total))
        if (said := copy.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {said}")
    finally:
        copy.close()
        source.close()


def _dump(address: sa.URL, target: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise LedgerUnavailable("a backup of PostgreSQL needs the program pg_dump of its client package")
    # a password among the arguments could be read by everybody on this machine
    environment = {**os.environ, **({"PGPASSWORD": str(address.password)} if address.password else {})}
    plain = address.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    command = [program, "--format=custom", f"--file={target}", f"--dbname={plain}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LedgerUnavailable(f"pg_dump failed: {done.stderr.strip()}")

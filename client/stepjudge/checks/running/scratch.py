"""A scratch is a copy of the final environment in which a command may do what it likes: the original stays as it was."""

import os
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from stepjudge.checks.check import CannotCheck
from stepjudge.checks.running.clock import Clock, in_thread


class Scratch:
    """A temporary folder: the copy, a home, and a place for what commands write for us."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.home = folder / "home"
        self.out = folder / "out"

    def tidy(self, text: str) -> str:
        """The text with the copy's path spelled `<root>`, so that two runs show the same evidence."""
        return text.replace(str(self.root), "<root>").replace(str(self.folder), "<scratch>")


@asynccontextmanager
async def scratch(environment: Path | None) -> AsyncGenerator[Scratch]:
    """Yields a scratch with a copy of the environment, or an empty one, and removes it afterwards."""
    made = await anyio.to_thread.run_sync(_made)
    try:
        await in_thread(lambda clock: _fill(made, environment, clock))
        yield made
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove, made.folder)


def copy_tree(source: Path, target: Path, clock: Clock) -> None:
    """Copies files and folders. Links stay links; sockets, devices and FIFOs are left out."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        clock.left()
        return {name for name in names if not _copyable(Path(folder, name))}

    try:
        shutil.copytree(source, target, symlinks=True, ignore=left_out, dirs_exist_ok=True)
    except shutil.Error as error:
        first = error.args[0][0]
        raise CannotCheck(f"the environment could not be copied: {first[-1]}") from error


def _made() -> Scratch:
    # Resolved, since that is how the operating system spells it to a process in it.
    return Scratch(Path(tempfile.mkdtemp(prefix="stepjudge-")).resolve())


def _copyable(path: Path) -> bool:
    kind = stat.S_IFMT(path.lstat().st_mode)
    return kind in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)


def _fill(made: Scratch, environment: Path | None, clock: Clock) -> None:
    for folder in (made.root, made.home, made.out):
        folder.mkdir()
    if environment is not None:
        if made.folder.is_relative_to(environment.resolve()):
            raise CannotCheck("the environment holds the folder for temporary files, so it cannot be copied there")
        copy_tree(environment, made.root, clock)


def _remove(folder: Path) -> None:
    for path, below, _ in os.walk(folder):
        for name in below:
            if not (under := Path(path, name)).is_symlink():
                under.chmod(0o700)  # before it is walked: one that was made unreadable could not be emptied
    shutil.rmtree(folder)

"""A root is a folder that no path leaves: neither by `..`, nor by a symbolic link that an agent planted."""

import hashlib
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field

from stepjudge.checks.check import CannotCheck, Scene
from stepjudge.checks.running.clock import Clock

Kind = Literal["file", "directory", "link", "special file", "missing"]

MAX_LINKS = 40
MAX_ENTRIES = 100_000
_CHUNK = 2**20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # so that opening a FIFO does not wait


def _stays(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or "\\" in path:
        raise ValueError(f"{path!r} is not taken: give a relative path with '/', without '..'")
    return str(PurePosixPath(path))


Inside = Annotated[str, Field(min_length=1, max_length=4_096), AfterValidator(_stays)]
"""A path below a root, as a check's document gives it."""


class _Spot(NamedTuple):
    """Where a path led: the open folder, and the name in it that is no link. `.` is the folder itself."""

    folder: int
    name: str
    kind: Kind
    info: os.stat_result | None


class Root:
    """Looks and reads below a folder. Every part of a path is opened relative to the one before, following no link."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, scene: Scene) -> "Root":
        """Of the final environment. Raises CannotCheck when there is none."""
        if scene.root is None:
            raise CannotCheck("the trial has no final environment")
        return cls(_folder(scene.root, "the final environment"))

    @classmethod
    def of_suite(cls, scene: Scene) -> "Root":
        """Of the suite's folder. Raises CannotCheck when there is none."""
        if scene.folder is None:
            raise CannotCheck("the suite has no folder to take files for graders from")
        return cls(_folder(scene.folder, "the suite's folder"))

    def kind(self, path: str) -> Kind:
        """What is there, links followed as long as they stay inside."""
        with self._spot(path) as spot:
            return spot.kind

    def inside(self, path: str) -> Path:
        """The folder's path, for a process to work in. Raises CannotCheck when it is none or leads out."""
        if self.kind(path) != "directory":
            raise CannotCheck(f"{path!r} is no folder of the environment")
        return Path(os.path.realpath(self.path / path))

    def read(self, path: str, limit: int) -> bytes:
        """The bytes of a regular file. Raises CannotCheck when there are more than the limit."""
        with self._open(path) as file:
            read = b""
            while chunk := os.read(file, min(_CHUNK, limit + 1 - len(read))):
                read += chunk
                if len(read) > limit:
                    raise CannotCheck(f"{path!r} is larger than {limit:,} bytes")
            return read

    def sha256(self, path: str, clock: Clock) -> str:
        """64 hex digits."""
        with self._open(path) as file:
            return _sha256(file, clock)

    def tree(self, path: str, clock: Clock) -> dict[str, str]:
        """What each entry below a folder is, by its path there: `sha256:…`, `link:TARGET`, `directory`, or `special file`."""
        with self._spot(path) as spot:
            if spot.kind != "directory":
                raise CannotCheck(f"{path!r} is no folder")
            entries: dict[str, str] = {}
            for name, entry in _below(spot.folder, "", clock):
                entries[name] = entry
                if len(entries) > MAX_ENTRIES:
                    raise CannotCheck(f"{path!r} holds more than {MAX_ENTRIES:,} entries")
            return entries

    @contextmanager
    def _open(self, path: str) -> Generator[int]:
        with self._spot(path) as spot:
            if spot.kind != "file":
                raise CannotCheck(f"{path!r} is no regular file")
            file = os.open(spot.name, _FLAGS, dir_fd=spot.folder)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise CannotCheck(f"{path!r} changed while it was opened")
                yield file
            finally:
                os.close(file)

    @contextmanager
    def _spot(self, path: str) -> Generator[_Spot]:
        with ExitStack() as opened:
            folders = [_opened(opened, str(self.path), None)]
            yield _walk(opened, folders, path)


def _folder(path: Path, what: str) -> Path:
    if not path.is_dir():
        raise CannotCheck(f"{what} {path.name!r} is no folder")
    return path


def _opened(opened: ExitStack, name: str, folder: int | None) -> int:
    # The root itself may be a link: whoever runs the check named it.
    follow = 0 if folder is None else os.O_NOFOLLOW
    file = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow, dir_fd=folder)
    opened.callback(os.close, file)
    return file


def _walk(opened: ExitStack, folders: list[int], path: str) -> _Spot:
    todo, links = path.split("/")[::-1], 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            folders.pop()
            if not folders:
                raise CannotCheck(f"{path!r} leaves the environment through a symbolic link")
            continue
        info = _info(part, folders[-1])
        if info is None:
            return _Spot(folders[-1], part, "missing", None)
        kind = _kind(info)
        if kind == "link":
            target, links = os.readlink(part, dir_fd=folders[-1]), links + 1
            if target.startswith("/") or links > MAX_LINKS:
                why = "leaves the environment through" if links <= MAX_LINKS else "goes in circles through"
                raise CannotCheck(f"{path!r} {why} a symbolic link")
            todo += target.split("/")[::-1]
        elif kind == "directory":
            folders.append(_opened(opened, part, folders[-1]))
        else:
            return _Spot(folders[-1], part, "missing" if any(p not in ("", ".") for p in todo) else kind, info)
    return _Spot(folders[-1], ".", "directory", None)


def _info(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _kind(info: os.stat_result) -> Kind:
    match stat.S_IFMT(info.st_mode):
        case stat.S_IFREG:
            return "file"
        case stat.S_IFDIR:
            return "directory"
        case stat.S_IFLNK:
            return "link"
        case _:
            return "special file"


def _below(folder: int, prefix: str, clock: Clock) -> Iterator[tuple[str, str]]:
    for name in sorted(os.listdir(folder)):
        clock.left()
        info = _info(name, folder)
        kind = "missing" if info is None else _kind(info)
        match kind:
            case "directory":
                yield prefix + name, "directory"
                with ExitStack() as opened:
                    yield from _below(_opened(opened, name, folder), f"{prefix}{name}/", clock)
            case "file":
                file = os.open(name, _FLAGS, dir_fd=folder)
                try:
                    yield prefix + name, f"sha256:{_sha256(file, clock)}"
                finally:
                    os.close(file)
            case "link":
                yield prefix + name, f"link:{os.readlink(name, dir_fd=folder)}"
            case _:
                yield prefix + name, kind


def _sha256(file: int, clock: Clock) -> str:
    summed = hashlib.sha256()
    while chunk := os.read(file, _CHUNK):
        summed.update(chunk)
        clock.left()
    return summed.hexdigest()

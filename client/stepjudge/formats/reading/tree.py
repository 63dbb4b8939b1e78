"""A tree is a folder or a zip archive: named files, each of which is read like a file of its own."""

import fnmatch
import os
import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.limits import MAX_FILES
from stepjudge.formats.reading.records import records_in
from stepjudge.formats.reading.source import Source

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:  # the standard library unpacks Zstandard, which Inspect AI packs with, from 3.14 on
    from backports.zstd import ZstdError, zipfile

_EXPORT = "unpack it and name the file inside"


@dataclass(frozen=True)
class Tree:
    name: str
    names: tuple[str, ...]
    """Relative paths with `/`, sorted."""
    open: Callable[[str], AbstractContextManager[Source]]

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The names that fit a pattern such as `samples/*.json`."""
        return tuple(name for name in self.names if fnmatch.fnmatchcase(name, pattern))

    def document(self, name: str) -> JsonValue:
        """The JSON document in the file; of JSONL, the list of its lines. Raises UnreadableTrace."""
        with self.open(name) as source:
            records = records_in(source)
            values = [record.value for record in records.each]
        return values[0] if records.kind == "document" else list(values)


def folder(path: Path) -> Tree:
    """The files below a folder. Links are not followed: nothing outside of it is read."""
    names: list[str] = []
    for parent, folders, files in os.walk(path):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        below = Path(parent)
        names += [(below / each).relative_to(path).as_posix() for each in files if not (below / each).is_symlink()]
        if len(names) > MAX_FILES:
            raise UnreadableTrace(f"{path}: holds more than {MAX_FILES:,} files: name the one to read")

    @contextmanager
    def opened(name: str) -> Generator[Source]:
        try:
            stream = (path / name).open("rb")
        except OSError as error:
            raise UnreadableTrace(f"{path / name}: cannot be read: {error.strerror}") from None
        with stream:
            yield Source(stream, str(path / name))

    return Tree(str(path), tuple(sorted(names)), opened)


def archive(stream: IO[bytes], name: str) -> Tree:
    try:
        packed = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeDecodeError) as error:
        raise UnreadableTrace(f"{name}: the zip archive is damaged ({error}): copy the file again") from None
    members = {each.filename: each for each in packed.infolist() if not each.is_dir()}
    if len(members) > MAX_FILES:
        raise UnreadableTrace(f"{name}: holds more than {MAX_FILES:,} files: {_EXPORT}")

    @contextmanager
    def opened(member: str) -> Generator[Source]:
        found = members[member]
        place = f"{name}!{member}"
        try:
            with packed.open(found) as unpacked:
                yield Source(unpacked, place, packed_size=found.compress_size)
        except (RuntimeError, NotImplementedError) as error:  # encrypted, or packed by a method Python does not have
            raise UnreadableTrace(f"{place}: cannot be unpacked ({error}): {_EXPORT}") from None
        except (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, OSError, ValueError) as error:
            raise UnreadableTrace(f"{place}: the zip archive is damaged ({error}): copy the file again") from None

    return Tree(name, tuple(sorted(members)), opened)


def beside(path: Path) -> Callable[[str], JsonValue]:
    """Reads documents that lie in the folder of a file or below it, and never elsewhere."""
    home = path.resolve().parent

    def sibling(name: str) -> JsonValue:
        if not name or "\0" in name or "://" in name or PurePosixPath(name).is_absolute():
            return None
        try:
            target = (home / name).resolve()
            if not target.is_relative_to(home) or not target.is_file():
                return None
            with target.open("rb") as stream:
                records = records_in(Source(stream, str(target)))
                values = [record.value for record in records.each]
        except (OSError, UnreadableTrace, RuntimeError):  # a link that points to itself is a RuntimeError here
            return None
        return values[0] if records.kind == "document" else list(values)

    return sibling

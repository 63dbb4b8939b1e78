"""A journal keeps what an unfinished run has done, line by line, so that a killed run loses only what was under way."""

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pydantic import JsonValue

from stepjudge.errors import StepjudgeError

Finished = Callable[[JsonValue], bool]


class Busy(StepjudgeError):
    """Another process writes there."""


class Journal:
    """Values by their content keys. A value is on the disk when `keep` returns."""

    def __init__(self, file: BinaryIO, kept: dict[str, JsonValue], finished: Finished | None) -> None:
        self._file = file
        self._kept = kept
        self._finished = finished

    @property
    def kept(self) -> Mapping[str, JsonValue]:
        return self._kept

    def keep(self, key: str, value: JsonValue) -> None:
        self._file.write(json.dumps({"key": key, "value": value}).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        _add(self._kept, key, value, self._finished)


@contextmanager
def journal(path: Path, finished: Finished | None = None) -> Generator[Journal]:
    """The journal at a path, with all that an earlier process wrote in full. Raises Busy.

    With `finished`, only the keys of values that it says yes to are kept in memory, and of a key the last value counts.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file, path)
        file.seek(0)
        kept, end = _read(file, finished)
        # a process that was killed may have left half a line, which the next one must not be glued to
        file.truncate(end)
        file.seek(end)
        yield Journal(file, kept, finished)


def peek(path: Path) -> Mapping[str, JsonValue]:
    """What the journal at a path holds, without writing to it; nothing when there is none."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return _read(file)[0]


def _add(kept: dict[str, JsonValue], key: str, value: JsonValue, finished: Finished | None) -> None:
    if finished is None:
        kept[key] = value
    elif finished(value):
        kept[key] = None
    else:
        kept.pop(key, None)


def _read(file: BinaryIO, finished: Finished | None = None) -> tuple[dict[str, JsonValue], int]:
    kept: dict[str, JsonValue] = {}
    end = 0
    for line in file:
        try:
            entry = json.loads(line)
            _add(kept, entry["key"], entry["value"], finished)
        except (ValueError, KeyError, TypeError):
            break
        if not line.endswith(b"\n"):
            break
        end += len(line)
    return kept, end


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows, where one user must not run two evaluations into one folder
        return
    try:
        fcntl.flock(
            file, fcntl.LOCK_EX | fcntl.LOCK_NB
        )  # released by the system when the process ends, however it does
    except OSError as error:
        raise Busy(f"{path.parent}: another process writes its run there: choose another folder") from error

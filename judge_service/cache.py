"""The cache holds verdicts by key. It may be deleted at any time, and no trouble with it ever costs an answer."""
# pyright: basic

import logging
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import diskcache
from pydantic import ValidationError

from stepjudge.verdict import Verdict

log = logging.getLogger(__name__)

_FORMAT = "1:"
"""Written before each value. A value of another format is a miss."""

_TROUBLE = (sqlite3.Error, OSError, ValueError, diskcache.Timeout)


class PickleRefused(ValueError):
    """A row of the cache asks to be unpickled: somebody wrote to the file, for we never pickle."""


class NoPickleDisk(diskcache.Disk):
    """Stores text as text. Neither keys nor values are ever pickled or unpickled (CVE-2025-69872)."""

    def put(self, key: Any) -> Any:
        if not isinstance(key, str):
            raise PickleRefused(f"a key must be text, not {type(key).__name__}")
        return key, True

    def get(self, key: Any, raw: bool) -> Any:
        if not raw:
            raise PickleRefused("a key of the cache is a pickle")
        return key

    def store(self, value: Any, read: bool, key: Any = diskcache.core.UNKNOWN) -> Any:
        if not isinstance(value, str) or read:
            raise PickleRefused(f"a value must be text, not {type(value).__name__}")
        return super().store(value, read, key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        # we write text into the database itself; a row that says otherwise, such as to name a file, is not ours
        if mode != diskcache.core.MODE_RAW or filename is not None or not isinstance(value, str):
            raise PickleRefused("a value of the cache is no text")
        return value


class Cache:
    """Verdicts by key, in a folder that several processes may share."""

    def __init__(self, folder: Path, *, timeout_s: float = 5.0) -> None:
        self._store = _opened(folder, timeout_s)

    @property
    def evicts(self) -> bool:
        """Whether verdicts may vanish to make room: never."""
        return self._store is not None and self._store.reset("eviction_policy") != "none"

    def get(self, key: str) -> Verdict | None:
        """The verdict, or null. A fraction of a millisecond: call it in a thread for many."""
        if self._store is None:
            return None
        try:
            text = self._store.get(key)
            if not isinstance(text, str) or not text.startswith(_FORMAT):
                return None
            verdict = Verdict.model_validate_json(text.removeprefix(_FORMAT))
        except ValidationError:
            return None
        except _TROUBLE as error:
            log.warning("cannot read the verdict cache, so the verdict is taken from elsewhere: %s", error)
            return None
        return verdict if verdict.key == key else None

    async def put(self, verdict: Verdict) -> None:
        """Remember a verdict. In a thread, because a write may wait for other processes and for the disk."""
        await anyio.to_thread.run_sync(self._put, verdict)

    def _put(self, verdict: Verdict) -> None:
        if self._store is None:
            return
        try:
            self._store.set(verdict.key, _FORMAT + verdict.model_dump_json(), retry=False)
        except _TROUBLE as error:
            log.warning("cannot write the verdict cache, so the verdict will be looked up in the ledger: %s", error)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def _opened(folder: Path, timeout_s: float) -> diskcache.Cache | None:
    """The store; a corrupt one is renamed aside and started anew, an unusable folder means no cache."""
    try:
        return _open(folder, timeout_s)
    except sqlite3.OperationalError as error:  # locked, full, read-only: nothing is wrong with what is in it
        log.warning("no verdict cache for now: %s", error)
    except sqlite3.DatabaseError as error:
        aside = folder.with_name(f"{folder.name}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        log.warning("the verdict cache is corrupt (%s): it is now %s, and a new one is started", error, aside)
        try:
            folder.rename(aside)
            return _open(folder, timeout_s)
        except _TROUBLE as second:
            log.warning("no verdict cache: %s", second)
    except OSError as error:
        log.warning("no verdict cache: %s", error)
    return None


def _open(folder: Path, timeout_s: float) -> diskcache.Cache:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return diskcache.Cache(
        str(folder),
        disk=NoPickleDisk,
        eviction_policy="none",  # the default would drop verdicts silently at 1 GiB
        timeout=timeout_s,  # pyright: ignore[reportArgumentType] (its own annotation is inferred from the default)
        disk_min_file_size=1 << 30,  # values stay in the database: one file to check, one to lock
    )

"""The folder store keeps the cache on this machine's disk, for the processes that share the folder."""
# pyright: basic

import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import diskcache

from judge_service.cache import StoreTrouble
from judge_service.stores.locks import KeyLocks

T = TypeVar("T")

log = logging.getLogger(__name__)


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


class FolderStore:
    """A diskcache. A corrupt one is renamed aside and started anew, also while it is in use."""

    def __init__(self, folder: Path, *, timeout_s: float = 5.0) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._mending = threading.Lock()
        """Only one thread may rename the folder aside, or open it anew."""
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # beside the folder, so that whoever deletes or moves that leaves the locks in force
            self._locks = KeyLocks(folder.parent / f"{folder.name}.lock")
        except OSError as error:
            raise StoreTrouble(str(error)) from error
        try:
            self._cache, self._identity = self._started()
        except StoreTrouble:
            self._locks.close()
            raise

    @property
    def evicts(self) -> bool:
        """Whether verdicts may vanish to make room: never."""
        return self._cache.reset("eviction_policy") != "none"

    def get(self, keys: Sequence[str]) -> Mapping[str, str]:
        return self._do(lambda cache: {key: text for key in keys if (text := _text(cache, key)) is not None})

    quick = True

    def put(self, texts: Mapping[str, str]) -> None:
        def keep(cache: diskcache.Cache) -> None:
            with cache.transact(retry=False):
                for key, text in texts.items():
                    cache.set(key, text, retry=False)

        self._do(keep)

    def forget(self, keys: Sequence[str]) -> None:
        def delete(cache: diskcache.Cache) -> None:
            for key in keys:
                cache.delete(key)

        self._do(delete)

    def claim(self, key: str, holder: str, lease_s: float) -> bool:
        return self._locks.claim(key)

    def renew(self, keys: Sequence[str], holder: str, lease_s: float) -> None:
        """Nothing to do: the kernel knows whether this process lives."""

    def release(self, key: str, holder: str) -> None:
        self._locks.release(key)

    def close(self) -> None:
        self._cache.close()
        self._locks.close()

    def _do(self, work: Callable[[diskcache.Cache], T]) -> T:
        cache = self._current()
        try:
            return _told(work, cache)
        except sqlite3.DatabaseError as error:
            self._mend(cache, error)
        try:
            return _told(work, self._cache)
        except sqlite3.DatabaseError as error:
            raise StoreTrouble(f"corrupt again at once: {error}") from error

    def _current(self) -> diskcache.Cache:
        """The cache; opened anew when the folder was deleted, or renamed aside by another process."""
        if self._identity != _identity(self._folder):
            with self._mending:
                if self._identity != _identity(self._folder):
                    self._cache, self._identity = self._started()
        return self._cache

    def _mend(self, broken: diskcache.Cache, error: Exception) -> None:
        with self._mending:
            if self._cache is not broken:
                return  # another thread was quicker
            if self._identity == _identity(self._folder):
                self._set_aside(error)
            self._cache, self._identity = self._started()

    def _started(self) -> tuple[diskcache.Cache, object]:
        try:
            cache = self._open()
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
            try:
                cache = self._open()
            except sqlite3.DatabaseError as again:
                raise StoreTrouble(f"corrupt again at once: {again}") from again
        return cache, _identity(self._folder)

    def _set_aside(self, error: Exception) -> None:
        aside = self._folder.with_name(f"{self._folder.name}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        log.warning("the verdict cache is corrupt (%s): it is now %s, and a new one is started", error, aside)
        try:
            self._folder.rename(aside)
        except OSError as refused:
            raise StoreTrouble(f"corrupt, and cannot be renamed: {refused}") from refused

    def _open(self) -> diskcache.Cache:
        def opened(_nothing: None) -> diskcache.Cache:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _wait_for_lock(self._folder / "cache.db", self._timeout_s)
            return diskcache.Cache(
                str(self._folder),
                disk=NoPickleDisk,
                eviction_policy="none",  # the default would drop verdicts silently at 1 GiB
                timeout=self._timeout_s,  # pyright: ignore[reportArgumentType] (annotated by its default alone)
                disk_min_file_size=1 << 30,  # values stay in the database: one file to check, one to lock
            )

        return _told(opened, None)


def _told(work: Callable[[Any], T], what: Any) -> T:
    """Do it. Raises sqlite3.DatabaseError only where the file is corrupt, and StoreTrouble for all that may pass."""
    try:
        return work(what)
    except (sqlite3.OperationalError, OSError, diskcache.Timeout) as error:
        # locked, full, read-only: nothing is wrong with what is in it
        raise StoreTrouble(str(error) or "locked for too long") from error
    except ValueError as error:  # PickleRefused among them
        raise StoreTrouble(str(error)) from error


def _wait_for_lock(database: Path, timeout_s: float) -> None:
    """Raises sqlite3.OperationalError after `timeout_s`: diskcache itself would wait a minute for each statement."""
    connection = sqlite3.connect(database, timeout=timeout_s, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def _text(cache: diskcache.Cache, key: str) -> str | None:
    try:
        text = cache.get(key)
    except ValueError as error:
        log.warning("a row of the verdict cache is not ours, so the verdict is taken from elsewhere: %s", error)
        return None
    return text if isinstance(text, str) else None


def _identity(folder: Path) -> object:
    """Which file of the disk the database is; null when there is none."""
    try:
        found = (folder / "cache.db").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino

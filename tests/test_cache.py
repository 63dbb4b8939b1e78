"""The cache: text only, never in the way, and never trusted further than its own keys."""

import logging
import os
import pickle
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from judge_service.cache import Cache
from judge_service.stores import open_store
from judge_service.stores.folder import FolderStore
from stepjudge.verdict import Answer, Verdict

OK = Answer(criterion="valid", answer="yes")


def verdict(key: str = "k1") -> Verdict:
    return Verdict(verdict_id="v", key=key, step=1, rubric="r", judge="rules", answers=(OK,))


def in_folder(folder: Path, *, timeout_s: float = 5.0, retry_s: float = 0.0) -> Cache:
    """A cache in a folder; after trouble it tries again at once."""
    return Cache(partial(FolderStore, folder, timeout_s=timeout_s), retry_s=retry_s)


class Bomb:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


def tamper(folder: Path, **columns: object) -> None:
    with sqlite3.connect(folder / "cache.db") as database:
        settings = ", ".join(f"{name} = ?" for name in columns)
        assert database.execute(f"UPDATE Cache SET {settings}", tuple(columns.values())).rowcount == 1
    database.close()


async def test_a_verdict_comes_back_from_another_opening(tmp_path: Path, cache_url: str | None) -> None:
    first, second = (Cache(partial(open_store, cache_url, tmp_path / "cache")) for _ in range(2))
    await first.put(verdict())
    assert await second.get("k1") == verdict()
    assert await second.get_all(["k1", "k2"]) == {"k1": verdict()}
    await second.forget(["k1", "k2"])
    assert await first.get("k1") is None
    first.close()
    second.close()


async def test_ledgers_that_share_a_cache_do_not_share_verdicts(tmp_path: Path, cache_url: str | None) -> None:
    mine, theirs = (Cache(partial(open_store, cache_url, tmp_path / "cache"), namespace=name) for name in ("a", "b"))
    await mine.put(verdict())
    assert (await mine.get("k1"), await theirs.get("k1")) == (verdict(), None)
    mine.close()
    theirs.close()


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
async def test_a_tampered_row_runs_nothing_and_is_a_miss(tmp_path: Path, mode: int) -> None:
    folder, exploded = tmp_path / "cache", tmp_path / "exploded"
    await in_folder(folder).put(verdict())
    tamper(folder, value=pickle.dumps(Bomb(exploded)), mode=mode)

    assert await in_folder(folder).get("k1") is None
    assert not exploded.exists()
    pickle.loads(pickle.dumps(Bomb(exploded)))  # noqa: S301 (the bomb works where pickle is let in)
    assert exploded.exists()


async def test_a_tampered_key_runs_nothing(tmp_path: Path) -> None:
    folder, exploded = tmp_path / "cache", tmp_path / "exploded"
    await in_folder(folder).put(verdict())
    tamper(folder, key=pickle.dumps(Bomb(exploded)), raw=0)

    cache = in_folder(folder)
    assert await cache.get("k1") is None
    await cache.put(verdict())
    assert not exploded.exists()


async def test_a_row_cannot_make_the_cache_read_a_file_elsewhere(tmp_path: Path) -> None:
    folder, secret = tmp_path / "cache", tmp_path / "secret.txt"
    secret.write_text("1:" + verdict().model_dump_json())
    await in_folder(folder).put(verdict())

    for filename in ("../secret.txt", str(secret)):
        tamper(folder, value=None, mode=3, filename=filename)
        assert await in_folder(folder).get("k1") is None


async def test_a_verdict_under_another_key_is_a_miss(tmp_path: Path) -> None:
    await in_folder(tmp_path).put(verdict("k2"))
    tamper(tmp_path, key="k1")
    assert await in_folder(tmp_path).get("k1") is None


@pytest.mark.parametrize("value", ["", "1:", "1:{}", "0:{}", "1:[", "1:" + verdict().model_dump_json()[:-3]])
async def test_a_damaged_value_is_a_miss(tmp_path: Path, value: str) -> None:
    await in_folder(tmp_path).put(verdict())
    tamper(tmp_path, value=value)
    assert await in_folder(tmp_path).get("k1") is None


async def test_a_corrupt_file_is_renamed_aside_and_the_cache_starts_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "cache"
    await in_folder(folder).put(verdict())
    for name in ("cache.db-wal", "cache.db-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "cache.db").write_bytes(b"not a database" * 1_000)

    with caplog.at_level(logging.WARNING):
        cache = in_folder(folder)
    assert await cache.get("k1") is None
    await cache.put(verdict())
    assert await cache.get("k1") == verdict()
    assert len(list(tmp_path.glob("cache.corrupt-*"))) == 1
    assert "corrupt" in caplog.text


async def test_damage_in_the_middle_of_the_file_never_raises(tmp_path: Path) -> None:
    cache = in_folder(tmp_path)
    for number in range(200):
        await cache.put(verdict(f"key {number}"))
    cache.close()
    content = bytearray((tmp_path / "cache.db").read_bytes())
    content[8192:40_000] = b"\xff" * (40_000 - 8192)
    (tmp_path / "cache.db").write_bytes(content)

    damaged = in_folder(tmp_path)
    for number in range(200):
        await damaged.get(f"key {number}")
    await damaged.put(verdict("another"))


async def test_a_folder_that_cannot_be_made_means_no_cache_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = in_folder(tmp_path / "file" / "cache")
    await cache.put(verdict())
    assert await cache.get("k1") is None
    cache.close()


async def test_a_locked_database_is_waited_for_then_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = in_folder(tmp_path, timeout_s=0.2)
    lock = sqlite3.connect(tmp_path / "cache.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    with caplog.at_level(logging.WARNING):
        await cache.put(verdict())
    assert "going on without the verdict cache" in caplog.text
    lock.execute("ROLLBACK")
    lock.close()
    await cache.put(verdict())
    assert await cache.get("k1") == verdict()


def test_nothing_is_evicted(tmp_path: Path) -> None:
    assert FolderStore(tmp_path / "cache").evicts is False


async def test_two_processes_write_one_cache_and_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, anyio\n"
        "from pathlib import Path\n"
        "from judge_service.cache import Cache\n"
        "from judge_service.stores.folder import FolderStore\n"
        "from stepjudge.verdict import Answer, Verdict\n"
        "async def main(name, folder):\n"
        "    cache = Cache(lambda: FolderStore(Path(folder)))\n"
        "    for n in range(200):\n"
        "        await cache.put(Verdict(verdict_id='v', key=f'{name} {n}', step=1, rubric='r', judge='j', answers=()))\n"
        "anyio.run(main, *sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", program]
    writers = [subprocess.Popen([*command, name, str(tmp_path)]) for name in ("a", "b")]  # noqa: ASYNC220
    assert [writer.wait() for writer in writers] == [0, 0]
    cache = in_folder(tmp_path)
    assert len(await cache.get_all([f"{name} {n}" for name in ("a", "b") for n in range(200)])) == 400


async def test_a_locked_database_is_not_called_corrupt(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    in_folder(folder).close()
    lock = sqlite3.connect(folder / "cache.db", isolation_level=None)
    lock.execute("PRAGMA locking_mode=EXCLUSIVE")
    lock.execute("BEGIN EXCLUSIVE")
    cache = in_folder(folder, timeout_s=0.1)
    assert await cache.get("k1") is None
    lock.close()
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "cache.lock"}, (
        "nothing was moved away from whoever has it open"
    )

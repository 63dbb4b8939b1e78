"""Stores that fail for real: full, read-only, corrupt, locked, stopped. Answers stay right, and the service comes back."""

import json
import logging
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from judge_service.cache import Cache
from judge_service.database import open_database
from judge_service.stores.folder import FolderStore
from judge_service.stores.redis import RedisStore
from judge_service.verify import Verification
from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.errors import JudgeRefused
from stepjudge.verdict import Answer, Verdict

from fakes.provider import Provider
from judged import SMALL
from scripted import always
from servers import Postgres, Redis, eventually
from serving import serving


def verdict(key: str = "k1") -> Verdict:
    answer = Answer(criterion="valid", answer="yes")
    return Verdict(verdict_id="v", key=key, step=1, rubric="r", judge="rules", answers=(answer,))


def other(number: int) -> dict[str, object]:
    """A trace that no cache knows."""
    return {**SMALL, "messages": [*SMALL["messages"], {"role": "assistant", "content": f"Also, {number}."}]}


def ids(card: Scorecard) -> list[str]:
    return [step.verdict_id for step in card.steps]


def faultless(url: str) -> bool:
    engine = open_database(url)
    found = list(Verification(engine).faults())
    engine.dispose()
    return found == []


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = Path(tempfile.mkdtemp(prefix="stepjudge-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
    folder.rmdir()


def fill(disk: Path) -> Path:
    """Take all the space that is left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4_096):
                pass
        except OSError:
            return ballast
    raise AssertionError("unreachable")


def test_a_full_disk_refuses_verdicts_until_there_is_space(small_disk: Path) -> None:
    with serving(small_disk) as url, JudgeClient(url) as client:
        before = ids(client.score(SMALL))
        ballast = fill(small_disk)
        with pytest.raises(JudgeRefused) as refused:
            _ = [client.score(other(number)) for number in range(200)]
        assert (refused.value.problem.status, refused.value.problem.title) == (503, "Ledger unavailable")
        assert ids(client.score(SMALL)) == before, "what is stored is still answered"
        ballast.unlink()
        assert client.score(other(1_000)).steps
    assert faultless(f"sqlite:///{small_disk / 'ledger.sqlite3'}")


def test_a_full_disk_under_the_cache_alone_costs_no_answer(small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "cache").mkdir()
    (tmp_path / "cache").symlink_to(small_disk / "cache")
    with serving(tmp_path) as url, JudgeClient(url) as client:
        fill(small_disk)
        first = [ids(client.score(other(number))) for number in range(5)]
        assert [ids(client.score(other(number))) for number in range(5)] == first


LIMITED = """
import json, resource, signal, sys
from stepjudge.client import JudgeClient
from stepjudge.errors import JudgeRefused
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
trace = json.loads(sys.argv[2])
def other(number):
    return {"messages": [*trace["messages"], {"role": "assistant", "content": f"Also, {number}." * 500}]}
with JudgeClient.embedded(data_dir=sys.argv[1]) as client:
    before = [step.verdict_id for step in client.score(trace).steps]
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    refused = None
    for number in range(200):
        try:
            client.score(other(number))
        except JudgeRefused as error:
            refused = error.problem.status
            break
    assert refused == 503, refused
    assert [step.verdict_id for step in client.score(trace).steps] == before
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert client.score(other(1_000)).steps
print("well")
"""


def test_files_that_may_not_grow_refuse_verdicts_until_they_may(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path, json.dumps(SMALL)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "well\n", done.stderr
    assert faultless(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")


READ_ONLY = """
import json, os, sys, tempfile
from stepjudge.client import JudgeClient
with tempfile.TemporaryDirectory() as elsewhere, JudgeClient.embedded(data_dir=elsewhere) as client:
    client.score(json.loads(sys.argv[2]))  # imports all that nobody else may read
if os.geteuid() == 0:
    os.setegid(65534); os.seteuid(65534)  # to root, nothing is read-only
trace = json.loads(sys.argv[2])
with JudgeClient.embedded(data_dir=sys.argv[1]) as client:
    first = [step.verdict_id for step in client.score(trace).steps]
    assert [step.verdict_id for step in client.score(trace).steps] == first
print("well")
"""


def test_a_read_only_cache_folder_costs_no_answer() -> None:
    folder = Path(tempfile.mkdtemp(prefix="stepjudge-read-only-"))
    try:
        FolderStore(folder / "cache").close()
        (folder / "cache.lock").chmod(0o444)
        for file in (folder / "cache").iterdir():
            file.chmod(0o444)
        (folder / "cache").chmod(0o555)
        folder.chmod(0o777)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, folder, json.dumps(SMALL)], capture_output=True, text=True, check=False
        )
        assert done.stdout == "well\n", done.stderr
        assert done.stderr.count("going on without the verdict cache") == 1
    finally:
        (folder / "cache").chmod(0o755)
        shutil.rmtree(folder)


async def test_a_cache_that_becomes_corrupt_in_use_is_renamed_aside_by_all_who_use_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "cache"
    one, two = (Cache(partial(FolderStore, folder), retry_s=0) for _ in range(2))
    for number in range(50):
        await one.put(verdict(f"k{number}"))
    assert await two.get("k1")
    for name in ("cache.db", "cache.db-wal"):
        with (folder / name).open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            file.write(b"\xff" * size)

    with caplog.at_level(logging.WARNING):
        for cache in (one, two):
            for number in range(50):
                await cache.put(verdict(f"k{number}"))
    for cache in (one, two):
        assert len(await cache.get_all([f"k{number}" for number in range(50)])) == 50
    await one.put(verdict("new"))
    assert await two.get("new"), "both are on the same new file"
    assert len(list(tmp_path.glob("cache.corrupt-*"))) == 1
    one.close()
    two.close()


async def test_a_folder_that_is_deleted_in_use_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    one, two = (Cache(partial(FolderStore, folder), retry_s=0) for _ in range(2))
    await one.put(verdict())
    shutil.rmtree(folder)
    await one.put(verdict("k2"))
    assert (await two.get("k1"), await two.get("k2")) == (None, verdict("k2"))
    one.close()
    two.close()


def test_a_locked_ledger_is_waited_for(tmp_path: Path) -> None:
    with serving(tmp_path) as url, JudgeClient(url) as client:
        client.score(SMALL)
        lock = sqlite3.connect(tmp_path / "ledger.sqlite3", isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN EXCLUSIVE")
        freed = threading.Timer(1.0, lambda: lock.execute("ROLLBACK"))
        freed.start()
        assert client.score(other(1)).steps
        freed.join()
        lock.close()


def test_a_redis_that_is_stopped_and_started_again_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        Redis() as redis,
        Provider(always("yes")) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url, cache_url=redis.url) as url,
        JudgeClient(url) as client,
        caplog.at_level(logging.WARNING),
    ):
        first = ids(client.score(SMALL))
        redis.stop(signal.SIGKILL)
        assert ids(client.score(SMALL)) == first, "from the ledger"
        for number in range(5):
            client.score(other(number))
        paid = provider.count
        redis.start()
        eventually(lambda: ids(client.score(SMALL)) == first and "is back" in caplog.text)
        for number in range(5):
            client.score(other(number))
        assert provider.count == paid == 8
        assert caplog.text.count("going on without the verdict cache") == 1


async def test_a_redis_that_never_answers_delays_once_and_not_every_step() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        calls = 0

        def listen() -> None:
            nonlocal calls
            taken: list[socket.socket] = []
            while True:
                try:
                    taken.append(silent.accept()[0])
                except OSError:
                    for each in taken:
                        each.close()
                    return
                calls += 1

        listening = threading.Thread(target=listen, daemon=True)
        listening.start()
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        cache = Cache(partial(RedisStore, url, timeout_s=0.2), retry_s=60)
        for number in range(50):
            assert await cache.get(f"k{number}") is None
            assert await cache.claim(f"k{number}"), "without the store, each process judges for itself"
            await cache.put(verdict(f"k{number}"))
            await cache.release(f"k{number}")
        assert calls <= 2
        cache.close()
        silent.shutdown(socket.SHUT_RDWR)
    await anyio.to_thread.run_sync(listening.join)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
def test_a_postgresql_that_is_started_again_in_the_middle_loses_no_paid_verdict(
    tmp_path: Path, how: signal.Signals
) -> None:
    with (
        Postgres() as postgres,
        Provider(always("yes"), latency=0.7) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url, ledger_url=postgres.new_database()) as url,
        JudgeClient(url) as client,
    ):
        cards: list[Scorecard] = []
        scoring = threading.Thread(target=lambda: cards.append(client.score(SMALL)))
        scoring.start()
        provider.wait_until(lambda: provider.in_flight > 0, timeout=30)
        postgres.stop(how)
        provider.wait_until(lambda: provider.in_flight == 0, timeout=30)
        postgres.start()
        scoring.join()
        assert ids(client.score(SMALL)) == ids(cards[0])
        assert provider.statuses == {200: 3}


def test_while_postgresql_is_down_requests_are_refused_and_then_served_again(tmp_path: Path) -> None:
    with Postgres() as postgres:
        address = postgres.new_database()
        with serving(tmp_path, ledger_url=address) as url, JudgeClient(url) as client:
            before = ids(client.score(SMALL))
            postgres.stop()
            with pytest.raises(JudgeRefused) as refused:
                client.score(other(1))
            assert refused.value.problem.title == "Ledger unavailable"
            postgres.start()
            assert ids(client.score(SMALL)) == before
            assert client.score(other(1)).steps
        assert faultless(address)

"""Processes and replicas that share a cache pay for a verdict once, and outlive each other."""

import multiprocessing
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event, Semaphore
from pathlib import Path

import anyio
import pytest

from judge_service.cache import Cache
from judge_service.flight import Flights
from judge_service.lease import Leases
from judge_service.stores import open_store
from stepjudge.client import JudgeClient
from stepjudge.verdict import Answer, Cause, Verdict

from fakes.provider import Provider
from judged import SMALL
from scripted import always
from servers import Postgres, Redis
from serving import serving


def verdict(number: int = 1, cause: Cause | None = None) -> Verdict:
    answer = Answer(criterion="valid", answer="undetermined" if cause else "yes", cause=cause)
    return Verdict(verdict_id=f"v{number}", key="k", step=1, rubric="r", judge="j", answers=(answer,))


@dataclass
class Book:
    """A ledger that two replicas share."""

    written: dict[str, Verdict] = field(default_factory=dict[str, Verdict])

    async def remembered(self, keys: Sequence[str]) -> dict[str, Verdict]:
        return {key: self.written[key] for key in keys if key in self.written}


@dataclass
class Desk:
    """A judge whose calls end when the test says so."""

    cache: Cache
    book: Book
    cause: Cause | None = None
    calls: int = 0
    asked: anyio.Event = field(default_factory=anyio.Event)
    may_end: anyio.Event = field(default_factory=anyio.Event)
    forgets: bool = False
    """Whether the cache loses what it is given."""

    async def judge(self) -> Verdict:
        self.calls += 1
        self.asked.set()
        await self.may_end.wait()
        made = verdict(self.calls, self.cause)
        if made.remembered:
            self.book.written[made.key] = made
            if not self.forgets:
                await self.cache.put(made)
        return made


@asynccontextmanager
async def replicas(url: str | None, folder: Path, lease_s: float = 30.0) -> AsyncGenerator[list[tuple[Flights, Desk]]]:
    """Two replicas as two processes would be: each with a cache of its own over one store."""
    book = Book()
    caches = [Cache(partial(open_store, url, folder / "cache"), lease_s=lease_s) for _ in range(2)]
    yield [(Flights(Leases(cache, book)), Desk(cache, book)) for cache in caches]
    for cache in caches:
        cache.close()


@pytest.mark.parametrize("forgets", [False, True], ids=["cache keeps it", "cache loses it"])
async def test_two_replicas_at_once_make_one_call(tmp_path: Path, cache_url: str | None, forgets: bool) -> None:
    async with replicas(cache_url, tmp_path) as pair:
        got: list[tuple[str, bool]] = []

        async def one(flights: Flights, desk: Desk) -> None:
            landed, own = await flights.fly("k", desk.judge)
            got.append((landed.verdict_id, own))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for flights, desk in pair:
                    desk.forgets = forgets
                    for _ in range(3):
                        group.start_soon(one, flights, desk)
                await anyio.sleep(0.3)
                for _, desk in pair:
                    desk.may_end.set()
        assert sum(desk.calls for _, desk in pair) == 1
        assert sorted(got) == [("v1", False)] * 5 + [("v1", True)]


async def test_a_verdict_that_is_not_remembered_is_not_shared(tmp_path: Path, cache_url: str | None) -> None:
    async with replicas(cache_url, tmp_path) as pair:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for flights, desk in pair:
                    desk.cause = "budget"
                    desk.may_end.set()
                    group.start_soon(flights.fly, "k", desk.judge)
        assert [desk.calls for _, desk in pair] == [1, 1]


async def test_a_cancelled_replica_hands_over(tmp_path: Path, cache_url: str | None) -> None:
    async with replicas(cache_url, tmp_path) as pair:
        (first, busy), (second, free) = pair
        free.may_end.set()
        leader = anyio.CancelScope()

        async def led() -> None:
            with leader:
                await first.fly("k", busy.judge)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(led)
                await busy.asked.wait()
                group.start_soon(second.fly, "k", free.judge)
                await anyio.sleep(0.1)
                assert free.calls == 0
                leader.cancel()
        assert free.calls == 1


async def test_a_lease_that_is_kept_outlasts_its_time(tmp_path: Path, cache_url: str | None) -> None:
    async with replicas(cache_url, tmp_path, lease_s=0.3) as pair:
        (first, slow), (second, other) = pair
        other.may_end.set()
        with anyio.fail_after(20):
            async with anyio.create_task_group() as keeping:
                keeping.start_soon(slow.cache.running)
                async with anyio.create_task_group() as group:
                    group.start_soon(first.fly, "k", slow.judge)
                    await slow.asked.wait()
                    group.start_soon(second.fly, "k", other.judge)
                    await anyio.sleep(1.5)
                    assert other.calls == 0
                    slow.may_end.set()
                slow.cache.stop()
        assert (slow.calls, other.calls) == (1, 0)


HOLDER = """
import sys, anyio
from functools import partial
from pathlib import Path
from judge_service.cache import Cache
from judge_service.stores import open_store
async def main(url, folder):
    cache = Cache(partial(open_store, url or None, Path(folder) / "cache"), lease_s=1.0)
    print(await cache.claim("k"), flush=True)
    await anyio.sleep_forever()
anyio.run(main, *sys.argv[1:])
"""


async def test_when_the_process_that_judges_is_killed_another_takes_over(tmp_path: Path, cache_url: str | None) -> None:
    command = [sys.executable, "-c", HOLDER, cache_url or "", str(tmp_path)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
    assert holder.stdout is not None
    assert await anyio.to_thread.run_sync(holder.stdout.readline) == "True\n"
    async with replicas(cache_url, tmp_path) as [(flights, desk), _]:
        desk.may_end.set()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(flights.fly, "k", desk.judge)
                await anyio.sleep(0.2)
                assert desk.calls == 0
                holder.send_signal(signal.SIGKILL)
        assert desk.calls == 1
    holder.wait()
    holder.stdout.close()


def score_when_told(folder: str, base_url: str, ready: Semaphore, start: Event, got: "Queue[list[str]]") -> None:
    """In a process of its own: open the service, wait for the others, score."""
    with JudgeClient.embedded(data_dir=folder, judge="openai/fake", api_base=base_url) as client:
        ready.release()
        start.wait()
        got.put([step.verdict_id for step in client.score(SMALL).steps])


def test_two_processes_on_one_folder_that_start_at_the_same_moment_pay_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, start, got = context.Semaphore(0), context.Event(), context.Queue()
    with Provider(always("yes"), latency=0.3) as provider:
        arguments = (str(tmp_path), provider.base_url, ready, start, got)
        processes = [context.Process(target=score_when_told, args=arguments) for _ in range(2)]
        for process in processes:
            process.start()
        for _ in processes:
            assert ready.acquire(timeout=60)
        start.set()
        cards = [got.get(timeout=60) for _ in processes]
        for process in processes:
            process.join()
        assert cards[0] == cards[1]
        assert provider.statuses == {200: 3}


def test_two_replicas_over_redis_and_postgresql_pay_once(
    tmp_path: Path, redis_server: Redis, postgres_server: Postgres
) -> None:
    shared = {"cache_url": redis_server.url, "ledger_url": postgres_server.new_database()}
    with (
        Provider(always("yes"), latency=0.3) as provider,
        serving(tmp_path / "a", judge="openai/fake", api_base=provider.base_url, **shared) as one,
        serving(tmp_path / "b", judge="openai/fake", api_base=provider.base_url, **shared) as other,
    ):
        cards: list[list[str]] = []

        def score(url: str) -> None:
            with JudgeClient(url) as client:
                cards.append([step.verdict_id for step in client.score(SMALL).steps])

        threads = [threading.Thread(target=score, args=(url,)) for url in (one, other) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(cards) == 6
        assert all(card == cards[0] for card in cards)
        assert provider.statuses == {200: 3}

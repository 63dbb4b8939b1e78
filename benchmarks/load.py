"""Two replicas under load: many clients, traces that are remembered and traces that are not, for some minutes.

Real processes over one PostgreSQL and one Redis; the model is the tests' fake provider. Each minute it prints requests,
errors, and the memory and open files of both replicas; at the end percentiles of the remembered verdicts.

    python benchmarks/load.py [--minutes 10] [--clients 200] [--uncached 0.1] [--steps 4] [--pause 1.0]

Fails when an answer was an error, a verdict undetermined, a replica's memory grew by more than 20% after the first
quarter, or files stay open when all clients have left.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fakes.provider import Provider
from killed import document
from replica import Replica
from scripted import always
from servers import Postgres, Redis

WARM = 50
"""Documents that are scored before, and remembered from then on."""
GROWTH = 1.2
POOLS = 60
"""Connections to stores and to the provider that a replica may come to keep open."""


@dataclass
class Seen:
    """What the clients saw."""

    remembered_s: list[float] = field(default_factory=list[float])
    judged_s: list[float] = field(default_factory=list[float])
    wrong: Counter[str] = field(default_factory=Counter[str])

    @property
    def requests(self) -> int:
        return len(self.remembered_s) + len(self.judged_s)


@dataclass(frozen=True)
class Size:
    """A process at one moment."""

    megabytes: float
    files: int

    @classmethod
    def of(cls, pid: int) -> "Size":
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return cls(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(list(Path(f"/proc/{pid}/fd").iterdir())))


async def score(http: httpx2.AsyncClient, url: str, trace: dict[str, Any], seen: Seen) -> None:
    started = time.perf_counter()
    try:
        answer = await http.post(f"{url}/v1/score", json={"trace": trace})
    except httpx2.HTTPError as error:
        seen.wrong[type(error).__name__] += 1
        return
    seconds = time.perf_counter() - started
    if answer.status_code != 200:
        seen.wrong[str(answer.status_code)] += 1
        return
    card = answer.json()
    if card["undetermined"]:
        seen.wrong["undetermined"] += 1
    (seen.judged_s if card["cached_steps"] < len(card["steps"]) else seen.remembered_s).append(seconds)


async def client(
    number: int, http: httpx2.AsyncClient, urls: list[str], options: argparse.Namespace, until: float, seen: Seen
) -> None:
    chance = random.Random(number)
    asked = 0
    while time.monotonic() < until:
        await asyncio.sleep(chance.uniform(0, 2 * options.pause))
        asked += 1
        new = chance.random() < options.uncached
        which = 1_000_000 * (number + 1) + asked if new else chance.randrange(WARM)
        await score(http, chance.choice(urls), document(which, options.steps), seen)


async def watched(replicas: list[Replica], options: argparse.Namespace, until: float, seen: Seen) -> list[list[Size]]:
    sizes: list[list[Size]] = []
    began = time.monotonic()
    each_s = max(options.minutes * 60 / 12, 5)
    while time.monotonic() < until:
        await asyncio.sleep(min(each_s, max(until - time.monotonic(), 0.1)))
        sizes.append([Size.of(replica.pid) for replica in replicas])
        told = "   ".join(f"{size.megabytes:6.0f} MB {size.files:4d} files" for size in sizes[-1])
        print(
            f"{time.monotonic() - began:5.0f} s  {seen.requests:7,} requests  {seen.wrong.total()} wrong   {told}",
            flush=True,
        )
    return sizes


async def at_rest(replicas: list[Replica]) -> list[Size]:
    """When all connections are closed."""
    await asyncio.sleep(3)
    return [Size.of(replica.pid) for replica in replicas]


async def load(replicas: list[Replica], options: argparse.Namespace) -> tuple[Seen, list[list[Size]], list[list[Size]]]:
    """(what clients saw, sizes under load, sizes at rest before and after)"""
    urls = [replica.url for replica in replicas]
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=5)
    async with httpx2.AsyncClient(timeout=120, limits=limits) as http:
        warm = Seen()
        for url in urls:  # the second has its pools open, too
            documents = (document(number, options.steps) for number in range(WARM))
            await asyncio.gather(*(score(http, url, each, warm) for each in documents))
        seen = Seen(wrong=warm.wrong)
    rest = [await at_rest(replicas)]
    async with httpx2.AsyncClient(timeout=120, limits=limits) as http:
        until = time.monotonic() + options.minutes * 60
        clients = [client(number, http, urls, options, until, seen) for number in range(options.clients)]
        watching = asyncio.ensure_future(watched(replicas, options, until, seen))
        await asyncio.gather(*clients, watching)
    rest.append(await at_rest(replicas))
    return seen, watching.result(), rest


def percentiles(name: str, seconds: list[float]) -> str:
    if len(seconds) < 100:
        return f"{name:12} {len(seconds)} answers"
    cuts = statistics.quantiles(seconds, n=100)
    return f"{name:12} {len(seconds):,} answers   p50 {cuts[49] * 1e3:,.0f} ms   p99 {cuts[98] * 1e3:,.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--uncached", type=float, default=0.1, help="share of requests whose trace is new")
    parser.add_argument("--steps", type=int, default=4, help="of each trace")
    parser.add_argument(
        "--pause", type=float, default=1.0, help="seconds that a client waits between requests, on average"
    )
    options = parser.parse_args()
    with ExitStack() as stack:
        provider = stack.enter_context(Provider(always("yes"), latency=0.2, record=False))
        redis, postgres = Redis(), Postgres()
        stack.enter_context(redis)
        stack.enter_context(postgres)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {
            "ledger_url": postgres.new_database(),
            "cache_url": redis.url,
            "judge": "openai/fake",
            "api_base": provider.base_url,
        }
        replicas: list[Replica] = []
        for number in range(2):
            (folder / str(number)).mkdir()
            replicas.append(stack.enter_context(Replica(folder / str(number), settings)))
        seen, sizes, rest = asyncio.run(load(replicas, options))
        asked = provider.count
    print(percentiles("remembered", seen.remembered_s))
    print(percentiles("judged", seen.judged_s))
    print(f"{seen.requests / options.minutes / 60:,.0f} requests/s; the model was asked {asked:,} times")
    print(f"wrong        {dict(seen.wrong) or 'nothing'}")
    memory = [end.megabytes / start.megabytes for start, end in zip(sizes[len(sizes) // 4], sizes[-1], strict=True)]
    print("memory       " + "   ".join(f"x{each:.2f}" for each in memory) + "   since the first quarter")
    files = [(start.files, end.files) for start, end in zip(*rest, strict=True)]
    print("open files   " + "   ".join(f"{start} → {end}" for start, end in files) + "   at rest, before and after")
    leaking = any(end > start + POOLS for start, end in files)
    sys.exit(bool(seen.wrong) or max(memory) > GROWTH or leaking)


if __name__ == "__main__":
    main()

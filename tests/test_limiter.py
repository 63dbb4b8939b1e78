"""The limiter against a simulated provider, in virtual time: every run is the same, and takes no time."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.direct_line import HTTPStatusError
from judge_service.limiter import CALLER, Limiter
from judge_service.pace import Pace
from judge_service.quota import Quota, read
from virtual_time import run


@dataclass
class Account:
    """A provider: so many at once, so many a minute, and now and then trouble of its own."""

    at_once: int = 10_000
    latency_s: float = 0.2
    trouble: float = 0.0
    per_minute: float | None = None
    asks_to_wait_s: float | None = None
    tells: bool = False
    in_flight: int = 0
    most_in_flight: int = 0
    answered: int = 0
    refused: int = 0
    order: list[object] = field(default_factory=list[object])
    seed: random.Random = field(default_factory=lambda: random.Random(7))
    left: float = 0.0
    filled_at: float | None = None

    async def ask(self) -> dict[str, str]:
        headers = self._quota()
        if headers is None or self.in_flight >= self.at_once or self.seed.random() < self.trouble:
            self.refused += 1
            await asyncio.sleep(0.002)
            wait = {"retry-after": str(self.asks_to_wait_s)} if self.asks_to_wait_s else {}
            raise HTTPStatusError(429, "too many", None, wait)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.order.append(CALLER.get())
        await asyncio.sleep(self.latency_s * self.seed.uniform(0.9, 1.1))
        self.in_flight -= 1
        self.answered += 1
        return headers

    def _quota(self) -> dict[str, str] | None:
        if self.per_minute is None:
            return {}
        now = asyncio.get_running_loop().time()
        self.left = min(self.per_minute, self.left + (now - (self.filled_at or now)) * self.per_minute / 60)
        self.filled_at = now
        if self.left < 1:
            return None
        self.left -= 1
        reset = (self.per_minute - self.left) / (self.per_minute / 60)
        told = {"limit": f"{self.per_minute:.0f}", "remaining": f"{int(self.left)}", "reset": f"{reset:.3f}s"}
        return {f"x-ratelimit-{part}-requests": value for part, value in told.items()} if self.tells else {}


async def _asked(account: Account, limiter: Limiter, backoff: random.Random) -> None:
    while True:
        try:
            async with limiter.permit(100) as permit:
                permit.answered(await account.ask())
                return
        except HTTPStatusError:
            await asyncio.sleep(backoff.uniform(0, 0.25))


async def _all(account: Account, count: int, limiter: Limiter | None = None) -> float:
    """Seconds until that many requests are answered."""
    limiter, backoff = limiter or Limiter(256, 60.0), random.Random(1)
    start = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(_asked(account, limiter, backoff))
    assert (limiter.pace.in_flight, limiter.waiting) == (0, 0)
    return asyncio.get_running_loop().time() - start


@pytest.mark.parametrize("at_once", [8, 64, 200])
def test_a_limit_that_nobody_told_is_found_and_hardly_ever_passed(at_once: int) -> None:
    account = Account(at_once=at_once)
    ideal = 1_000 / at_once * account.latency_s

    seconds = run(_all(account, 1_000))

    assert account.answered == 1_000
    assert seconds <= ideal * (1.10 if at_once <= 64 else 1.6)  # 200 at once: growing there takes a quarter of the run
    assert (
        account.refused <= (0.03 if at_once >= 64 else 0.07) * 1_000
    )  # of 8 at once, 24 are refused in the first moment


def test_a_long_run_stays_near_the_limit() -> None:
    account = Account(at_once=64)
    seconds = run(_all(account, 20_000))
    assert seconds <= 1.08 * 20_000 / 64 * account.latency_s
    assert account.refused <= 0.02 * 20_000


def test_random_trouble_does_not_throttle() -> None:
    account = Account(at_once=64, trouble=0.05)
    seconds = run(_all(account, 2_000))
    assert account.answered == 2_000
    assert seconds <= 1.5 * 2_000 / 64 * account.latency_s


def test_a_provider_that_turns_slow_under_load_gets_less() -> None:
    account = Account()

    async def slower() -> int:
        limiter = Limiter(256, 60.0)
        await _all(account, 500, limiter)
        before = limiter.pace.limit
        account.latency_s = 2.0
        await _all(account, 2_000, limiter)
        return int(before / limiter.pace.limit)

    assert run(slower()) >= 2


def test_quotas_that_the_headers_tell_are_kept_once_they_are_known() -> None:
    account = Account(per_minute=600, left=40, tells=True)
    seconds = run(_all(account, 640))
    assert account.refused <= 20  # all of them before the first answer told of a quota
    assert 60 <= seconds <= 66


def test_all_wait_when_the_provider_asks_one_to_wait() -> None:
    account = Account(per_minute=60, left=20, asks_to_wait_s=5)
    run(_all(account, 40))
    assert account.answered == 40
    assert account.refused <= 60


def test_one_callers_thousand_requests_do_not_keep_anothers_ten_waiting() -> None:
    account = Account(at_once=16)
    finished: dict[str, float] = {}

    async def caller(name: str, count: int, limiter: Limiter) -> None:
        CALLER.set(name)
        await _all_of(count, limiter)
        finished[name] = asyncio.get_running_loop().time()

    async def _all_of(count: int, limiter: Limiter) -> None:
        backoff = random.Random(count)
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(_asked(account, limiter, backoff))

    async def both() -> None:
        limiter = Limiter(16, 60.0)
        async with asyncio.TaskGroup() as group:
            group.create_task(caller("long", 1_000, limiter))
            group.create_task(caller("short", 10, limiter))

    run(both())
    assert finished["short"] < 0.15 * finished["long"]


def test_who_leaves_while_waiting_or_asking_takes_no_place_along() -> None:
    async def leaving() -> tuple[int, int]:
        account, limiter = Account(at_once=1_000), Limiter(4, 60.0)
        tasks = [asyncio.ensure_future(_asked(account, limiter, random.Random(0))) for _ in range(50)]
        await asyncio.sleep(0.05)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return limiter.pace.in_flight, limiter.waiting

    assert run(leaving()) == (0, 0)


@given(st.lists(st.sampled_from(["start", "answer", "refuse", "leave", "grow"]), max_size=200), st.integers(1, 300))
def test_a_pace_never_stops_and_never_passes_its_most(events: list[str], most: int) -> None:
    pace, now, level = Pace(most), 0.0, 0
    for event in events:
        now += 0.01
        if event == "start" and pace.room:
            level = pace.started(now)
        elif event == "grow":
            pace.grow(now)
        elif pace.in_flight and event == "answer":
            pace.answered(now, level, now - 0.1)
        elif pace.in_flight and event == "refuse":
            pace.refused(now, level, now - 0.01)
        elif pace.in_flight and event == "leave":
            pace.left()
        assert 1 <= pace.limit <= max(most, 1)
        assert pace.room or pace.in_flight >= 1


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"limit": "600", "remaining": "5", "reset": "6m0s"}, (600, 5, 360)),
        ({"limit": "600", "remaining": "5", "reset": "20ms"}, (600, 5, 0.02)),
        ({"limit": "600", "remaining": "5", "reset": "1h2m3.5s"}, (600, 5, 3723.5)),
        ({"limit": "600", "remaining": "5", "reset": "soon"}, (600, 5, None)),
        ({"limit": "600", "remaining": "9999"}, (600, 600, None)),
        ({"limit": "0", "remaining": "0"}, None),
        ({"limit": "1e400", "remaining": "nan"}, None),
        ({"limit": "600"}, None),
        ({}, None),
    ],
)
def test_quota_headers_are_read_or_left_alone(headers: Mapping[str, str], expected: object) -> None:
    told = {f"x-ratelimit-{part}-tokens": value for part, value in headers.items()}
    assert read(told, "tokens") == expected
    theirs = {f"anthropic-ratelimit-tokens-{part}": value for part, value in headers.items()}
    assert read(theirs, "tokens") == expected


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 100)), max_size=30))
def test_a_quota_always_becomes_ready(takes: list[tuple[float, float]]) -> None:
    quota, now = Quota(100.0, 100.0, 100 / 60, 0.0), 0.0
    for units, later in takes:
        now += later
        quota.take(units, now)
    wait = quota.ready_in(50, now)
    assert quota.ready_in(50, now + wait + 1e-3) <= 1e-2

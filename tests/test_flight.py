"""Requests for one verdict share one judge call, and outlive whoever made it."""

from dataclasses import dataclass, field

import anyio
import pytest

from judge_service.flight import Flights
from stepjudge.verdict import Answer, Cause, Verdict


def verdict(number: int, cause: Cause | None = None) -> Verdict:
    answer = Answer(criterion="valid", answer="undetermined" if cause else "yes", cause=cause)
    return Verdict(verdict_id=f"v{number}", key="k", step=1, rubric="r", judge="j", answers=(answer,))


@dataclass
class Desk:
    """A judge whose calls end when the test says so."""

    causes: tuple[Cause | None, ...] = ()
    """Of the verdict of each call, in order; none for later ones."""
    fails: int = 0
    """So many calls fail at first."""
    calls: int = 0
    at_once: int = 0
    may_end: anyio.Event = field(default_factory=anyio.Event)

    async def judge(self) -> Verdict:
        self.calls += 1
        self.at_once += 1
        number = self.calls
        try:
            assert self.at_once == 1
            await self.may_end.wait()
            if number <= self.fails:
                raise RuntimeError(f"call {number} failed")
            return verdict(number, self.causes[number - 1] if number <= len(self.causes) else None)
        finally:
            self.at_once -= 1


async def fly(desk: Desk, count: int) -> list[tuple[str, bool] | str]:
    """What `count` requests at once get: a verdict and whether they made the call, or an error."""
    flights, got = Flights(), list[tuple[str, bool] | str]()

    async def one() -> None:
        try:
            landed, own = await flights.fly("k", desk.judge)
            got.append((landed.verdict_id, own))
        except RuntimeError as error:
            got.append(str(error))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            desk.may_end.set()
    return got


@pytest.mark.parametrize("count", [1, 2, 50])
async def test_requests_at_once_cause_one_call(count: int) -> None:
    desk = Desk()
    got = await fly(desk, count)
    assert desk.calls == 1
    assert sorted(got) == [("v1", False)] * (count - 1) + [("v1", True)]


async def test_a_call_that_fails_is_handed_over_to_one_that_waits() -> None:
    desk = Desk(fails=2)
    got = await fly(desk, 5)
    assert desk.calls == 3
    assert sorted(map(str, got)) == sorted(
        ["call 1 failed", "call 2 failed", "('v3', True)", "('v3', False)", "('v3', False)"]
    )


@pytest.mark.parametrize("cause", ["budget", "provider", "malformed_reply", "truncated_reply", "rejected"])
async def test_a_verdict_that_is_not_remembered_is_not_shared(cause: Cause) -> None:
    desk = Desk(causes=(cause, cause))
    got = await fly(desk, 4)
    assert desk.calls == 3
    assert sorted(map(str, got)) == ["('v1', True)", "('v2', True)", "('v3', False)", "('v3', True)"]


@pytest.mark.parametrize("cause", ["judge_unsure", "refusal", "contradiction"])
async def test_an_undetermined_verdict_that_will_not_change_is_shared(cause: Cause) -> None:
    desk = Desk(causes=(cause,))
    await fly(desk, 4)
    assert desk.calls == 1


async def test_a_cancelled_leader_hands_over() -> None:
    flights, desk, got = Flights(), Desk(), list[tuple[str, bool]]()
    leader = anyio.CancelScope()

    async def first() -> None:
        with leader:
            await flights.fly("k", desk.judge)

    async def other() -> None:
        landed, own = await flights.fly("k", desk.judge)
        got.append((landed.verdict_id, own))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(other)
            group.start_soon(other)
            await anyio.wait_all_tasks_blocked()
            leader.cancel()
            await anyio.wait_all_tasks_blocked()
            desk.may_end.set()
    assert leader.cancelled_caught
    assert sorted(got) == [("v2", False), ("v2", True)]


async def test_one_that_stops_waiting_does_not_stop_the_call() -> None:
    flights, desk, got = Flights(), Desk(), list[str]()
    waiting = anyio.CancelScope()

    async def first() -> None:
        got.append((await flights.fly("k", desk.judge))[0].verdict_id)

    async def second() -> None:
        with waiting:
            await flights.fly("k", desk.judge)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            waiting.cancel()
            desk.may_end.set()
    assert (desk.calls, got) == (1, ["v1"])


async def test_other_keys_fly_beside_it_and_a_landed_one_flies_anew() -> None:
    flights = Flights()
    desks = {key: Desk() for key in ("a", "b")}

    async def one(key: str) -> None:
        await flights.fly(key, desks[key].judge)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(one, "a")
            group.start_soon(one, "b")
            await anyio.wait_all_tasks_blocked()
            assert [desk.calls for desk in desks.values()] == [1, 1]
            for desk in desks.values():
                desk.may_end.set()
        await one("a")
    assert [desk.calls for desk in desks.values()] == [2, 1]

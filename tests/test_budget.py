"""A budget is never exceeded, and nobody waits for money that will not come."""

from dataclasses import dataclass

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.budget import Budget

prices = st.floats(0.001, 0.4)


@dataclass(frozen=True)
class Asking:
    """A request that could cost `estimate` and does cost `share` of it."""

    estimate: float
    share: float


askings = st.lists(st.builds(Asking, estimate=prices, share=st.floats(0, 1)), max_size=12)


async def spend(budget: Budget, asking: Asking, refused: list[Asking]) -> None:
    if not await budget.reserve(asking.estimate):
        refused.append(asking)
        return
    await anyio.lowlevel.checkpoint()
    await budget.settle(asking.estimate, asking.estimate * asking.share)


async def spend_all(limit: float, wanted: list[Asking]) -> tuple[float, list[Asking]]:
    budget, refused = Budget(limit), list[Asking]()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for asking in wanted:
                group.start_soon(spend, budget, asking, refused)
    return budget.spent, refused


@given(st.floats(0, 2), askings)
def test_requests_at_once_never_spend_more_than_the_limit_and_none_waits_for_ever(
    limit: float, wanted: list[Asking]
) -> None:
    spent, refused = anyio.run(spend_all, limit, wanted)
    assert spent <= limit
    for asking in refused:
        assert spent + asking.estimate > limit


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=8))
def test_money_that_was_put_back_can_be_spent_to_the_last_cent(estimates: list[float]) -> None:
    async def run() -> bool:
        budget = Budget(0.3)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for estimate in estimates:
                    group.start_soon(spend, budget, Asking(estimate, 0), list[Asking]())
            return await budget.reserve(0.3)

    assert anyio.run(run)


async def test_a_reservation_waits_while_money_that_is_only_reserved_decides() -> None:
    budget, order = Budget(1.0), list[str]()

    async def second() -> None:
        order.append("second asks")
        assert await budget.reserve(0.6)
        order.append("second may")

    assert await budget.reserve(0.6)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            order.append("first is done")
            await budget.settle(0.6, 0.1)
    assert order == ["second asks", "first is done", "second may"]


async def test_a_waiting_reservation_is_refused_once_the_money_is_really_spent() -> None:
    budget, answers = Budget(1.0), list[bool]()

    async def second() -> None:
        answers.append(await budget.reserve(0.6))

    assert await budget.reserve(0.6)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            await budget.settle(0.6, 0.6)
    assert answers == [False]
    assert await budget.reserve(0.4)


async def test_one_that_stops_waiting_leaves_the_others_their_money() -> None:
    budget = Budget(1.0)
    assert await budget.reserve(1.0)
    with anyio.move_on_after(0.01) as scope:
        await budget.reserve(0.5)
    assert scope.cancelled_caught
    with anyio.fail_after(5):
        await budget.settle(1.0, 0.0)
        assert await budget.reserve(1.0)


async def test_a_cancelled_request_puts_its_money_back() -> None:
    budget = Budget(1.0)
    assert await budget.reserve(1.0)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await budget.settle(1.0, None)
    with anyio.fail_after(5):
        assert await budget.reserve(1.0)


@pytest.mark.parametrize(
    ("limit", "estimate", "fits"),
    [
        (None, 1e9, True),
        (None, None, True),
        (0.0, None, True),
        (0.0, 0.0, True),
        (0.0, 0.01, False),
        (1.0, 1.0, True),
        (1.0, 1.01, False),
    ],
)
async def test_what_fits_at_once(limit: float | None, estimate: float | None, fits: bool) -> None:
    budget = Budget(limit)
    with anyio.fail_after(5):
        assert await budget.reserve(estimate) == fits
        if fits:
            await budget.settle(estimate, estimate)
            assert budget.spent == (estimate or 0.0)

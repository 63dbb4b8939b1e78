"""A provider that is down is left alone for a while, nothing is paid meanwhile, and it is noticed when it is back."""

import asyncio
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.circuit import LONGEST_PAUSE_S, QUIET_S, Circuit, CircuitOpen
from judge_service.direct_line import HTTPStatusError
from judge_service.limiter import Limiter
from judge_service.provider_error import sign_of_life
from virtual_time import run

from fakes.provider import Provider
from scripted import always
from serving import serving


def document(number: int) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": f"Write {number}."}, {"role": "assistant", "content": f"{number}"}]
    }


def test_it_opens_after_failures_in_a_row_without_a_sign_of_life() -> None:
    circuit = Circuit(opens_after=3, first_pause_s=5)
    assert not circuit.failed(0, 0, probe=False)
    assert not circuit.failed(QUIET_S, 0, probe=False)
    assert circuit.failed(QUIET_S + 1, 0, probe=False)
    assert not circuit.admits(QUIET_S + 5.9)
    assert circuit.admits(QUIET_S + 6)
    assert circuit.state == "probing"
    assert not circuit.admits(QUIET_S + 7), "one request tries, and no second beside it"


def test_a_burst_of_refusals_and_one_sign_of_life_in_a_row_leave_it_closed() -> None:
    circuit = Circuit(opens_after=3, first_pause_s=5)
    assert not any(circuit.failed(0.1, 0, probe=False) for _ in range(1_000))
    circuit.answered(60)
    assert not any(circuit.failed(60 + 0.1 * number, 0, probe=False) for number in range(20))


def test_the_pause_doubles_up_to_a_minute_and_starts_anew_after_an_answer() -> None:
    circuit, now, pauses = Circuit(opens_after=1, first_pause_s=5), 100.0, list[float]()
    assert circuit.failed(now, 0, probe=False)
    for _ in range(6):
        pauses.append(circuit.remaining_s(now))
        now += pauses[-1]
        assert circuit.admits(now)
        assert circuit.failed(now, now, probe=True)
    assert pauses == [5, 10, 20, 40, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    circuit.answered(now)
    assert circuit.state == "closed"
    assert circuit.failed(now + QUIET_S, now, probe=False)
    assert circuit.remaining_s(now + QUIET_S) == 5


def test_what_was_on_its_way_when_it_opened_does_not_prolong_the_pause() -> None:
    circuit = Circuit(opens_after=1, first_pause_s=5)
    assert circuit.failed(10, 0, probe=False)
    assert not any(circuit.failed(11, 0, probe=False) for _ in range(50))
    assert circuit.remaining_s(11) == 4


@given(st.lists(st.sampled_from(["ask", "answer", "fail", "leave", "wait"]), max_size=100))
def test_whatever_happens_somebody_may_try_again_within_a_minute(events: list[str]) -> None:
    circuit, now, probe = Circuit(opens_after=2, first_pause_s=5), 0.0, False
    for event in events:
        now += 40 if event == "wait" else 1
        if event == "ask" and not probe:
            probe = circuit.admits(now) and circuit.probing
        elif event == "answer":
            circuit.answered(now)
            probe = False
        elif event == "fail":
            circuit.failed(now, now - 4, probe=probe)
            probe = False
        elif event == "leave" and probe:
            circuit.left()
            probe = False
    if probe:
        circuit.left()
    assert circuit.admits(now + LONGEST_PAUSE_S)


def test_a_minute_of_downtime_costs_a_handful_of_tries_and_holds_nobody_up() -> None:
    """In virtual time: a hundred steps each second, while the provider is down from second 10 to second 70."""

    async def minutes() -> tuple[int, float, int, float]:
        loop = asyncio.get_running_loop()
        limiter = Limiter(64, 60.0, Circuit(opens_after=10, first_pause_s=5))
        tries, slowest, answered_after, back_at = 0, 0.0, 0, 0.0

        async def step() -> None:
            nonlocal tries, slowest, answered_after, back_at
            entered = loop.time()
            try:
                async with limiter.permit(10) as permit:
                    down = 10 <= loop.time() < 70
                    tries += down
                    await asyncio.sleep(0.5)
                    if down:
                        raise HTTPStatusError(502, "bad gateway", None, {})
                    permit.answered({})
                    if loop.time() > 71:
                        back_at = back_at or loop.time()
                        answered_after += 1
            except CircuitOpen:
                assert loop.time() - entered < 5, "waiting for a provider that is down"
            except HTTPStatusError:
                slowest = max(slowest, loop.time() - entered)

        async with asyncio.TaskGroup() as group:
            for number in range(14_000):
                group.create_task(step())
                if number % 100 == 99:
                    await asyncio.sleep(1)
        return tries, slowest, answered_after, back_at

    tries, slowest, answered_after, back_at = run(minutes())
    assert tries <= 64 * (QUIET_S + 1) / 0.5 + 10
    assert slowest < 10
    assert back_at <= 70 + 40 + 2, "found within one pause of being back"
    assert answered_after > 1_000


def test_those_who_wait_are_let_go_when_it_opens_and_leave_no_place_taken() -> None:
    async def asked() -> tuple[list[str], int, int]:
        limiter = Limiter(1, 60.0, Circuit(opens_after=1, first_pause_s=60))

        async def failing() -> None:
            async with limiter.permit(1):
                await asyncio.sleep(QUIET_S + 1)
                raise HTTPStatusError(500, "broken", None, {})

        ended = await asyncio.gather(*(failing() for _ in range(20)), return_exceptions=True)
        return [type(each).__name__ for each in ended], limiter.pace.in_flight, limiter.waiting

    assert run(asked()) == (["HTTPStatusError"] + ["CircuitOpen"] * 19, 0, 0)


def test_a_provider_that_stops_and_comes_back(tmp_path: Path) -> None:
    with Provider(always("yes")) as provider:
        base = provider.base_url
    port = urlsplit(base).port or 0
    judge = {"model": "openai/fake", "api_base": base, "attempts": 2, "circuit_opens_after": 4, "circuit_pause_s": 1}

    with serving(tmp_path, judges={"far": judge}, judge="far") as url, httpx2.Client(base_url=url, timeout=60) as http:

        def score(number: int) -> dict[str, Any]:
            return http.post("/v1/score", json={"trace": document(number)}).json()

        def ready() -> tuple[int, str, dict[str, str]]:
            answer = http.get("/readyz")
            return answer.status_code, answer.json()["status"], answer.json()["details"]

        with Provider(always("yes"), port=port):
            assert score(0)["undetermined"] == 0
        assert ready() == (200, "ok", {})

        number, patience = 0, time.monotonic() + 60
        while not ready()[2] and time.monotonic() < patience:
            number += 1
            assert score(number)["causes"].keys() == {"provider"}
        status, state, details = ready()
        assert (status, state) == (200, "degraded"), "remembered verdicts are still given"
        assert "the circuit is open" in details["judge far"]

        shed = score(number + 1)
        reasons = " ".join(answer["reason"] for step in shed["steps"] for answer in step["details"])
        assert shed["causes"].keys() == {"provider"}
        if shed["requests"] == 0:  # else it was the one that tried
            assert "the circuit is open after" in reasons
        assert score(0)["undetermined"] == 0, "it is remembered"

        with Provider(always("yes"), port=port) as back:
            patience = time.monotonic() + 60
            while score(number + 2)["undetermined"] and time.monotonic() < patience:
                time.sleep(0.1)
            assert score(number + 2)["undetermined"] == 0
            assert ready() == (200, "ok", {})
            assert back.count == 1, "one request tried, and was the step itself"


@pytest.mark.parametrize(
    ("status", "expected"), [(500, False), (502, False), (503, False), (429, True), (401, True), (400, True)]
)
def test_a_refusal_is_a_sign_of_life_and_a_confession_is_none(status: int, expected: bool) -> None:
    assert sign_of_life(HTTPStatusError(status, "said", None, {})) is expected
    assert sign_of_life(ValueError("a key is missing")) is None

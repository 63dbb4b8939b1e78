"""A service that is told to stop finishes what it can in its grace time, turns new requests away, and keeps what is paid."""

import json
import signal
import socket
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from fakes.provider import Provider, Request
from killed import document
from replica import Replica
from scripted import always, asked_step
from serving import serving

NDJSON = {"accept": "application/x-ndjson"}


def stored(data_dir: Path) -> int:
    database = sqlite3.connect(data_dir / "ledger.sqlite3")
    try:
        return database.execute("SELECT count(*) FROM verdicts").fetchone()[0]
    finally:
        database.close()


def test_a_request_under_way_finishes_and_a_new_one_is_turned_away(tmp_path: Path) -> None:
    with (
        Provider(always("yes"), latency=2.0) as provider,
        Replica(tmp_path, judge="openai/fake", api_base=provider.base_url, grace_s=60) as replica,
        ThreadPoolExecutor() as pool,
        httpx2.Client(base_url=replica.url, timeout=60) as http,
    ):
        body = {"trace": document(1, 2)}
        begun = pool.submit(httpx2.post, f"{replica.url}/v1/score", json=body, timeout=60)
        provider.wait_until(lambda: provider.in_flight > 0, timeout=30)
        assert http.get("/healthz").status_code == 200
        replica.tell(signal.SIGTERM)
        provider_patience = time.monotonic() + 20
        while (ready := http.get("/readyz")).status_code == 200 and time.monotonic() < provider_patience:
            time.sleep(0.02)
        refused = http.post("/v1/score", json=body)

        assert ready.json()["details"] == {"service": "it is stopping"}
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.headers["content-type"] == "application/problem+json"
        card = begun.result()
        assert (card.status_code, card.json()["undetermined"]) == (200, 0)
        assert replica.wait() in (0, -signal.SIGTERM)
    assert stored(tmp_path) == 2


@pytest.mark.parametrize("headers", [{}, NDJSON])
def test_what_does_not_finish_in_the_grace_time_is_cut_and_what_was_paid_is_kept(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    def slow_third(request: Request) -> float:
        return 600.0 if asked_step(request) == 3 else 0.0

    with (
        Provider(always("yes"), latency=slow_third) as provider,
        Replica(tmp_path, judge="openai/fake", api_base=provider.base_url, grace_s=1) as replica,
        ThreadPoolExecutor() as pool,
    ):
        # the longest prompt goes first, and alone: of three steps the second is the longest that ends
        shorter = httpx2.post(f"{replica.url}/v1/score", json={"trace": document(1, 2)}, timeout=60)
        assert shorter.status_code == 200
        body = {"trace": document(1, 3)}
        begun = pool.submit(httpx2.post, f"{replica.url}/v1/score", json=body, headers=headers, timeout=60)
        provider.wait_until(lambda: provider.in_flight > 0, timeout=30)
        replica.tell(signal.SIGTERM)
        answer = begun.result()
        assert replica.wait() in (0, -signal.SIGTERM)
        assert "Traceback" not in replica.log

    if headers:
        last = json.loads(answer.text.splitlines()[-1])
        assert (last["type"], last["problem"]["status"]) == ("problem", 503)
    else:
        assert answer.status_code == 503
        assert "stopping" in answer.json()["title"]
    assert stored(tmp_path) == 2


@pytest.mark.parametrize("headers", [{}, NDJSON])
def test_a_client_that_goes_away_takes_its_judge_calls_along(tmp_path: Path, headers: dict[str, str]) -> None:
    with (
        Provider(always("yes"), latency=600.0) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url) as url,
    ):
        body = json.dumps({"trace": document(1, 5)}).encode()
        lines = ["POST /v1/score HTTP/1.1", "host: 127.0.0.1", "content-type: application/json"]
        lines += [f"content-length: {len(body)}", *(f"{name}: {value}" for name, value in headers.items())]
        with socket.create_connection(("127.0.0.1", urlsplit(url).port)) as leaving:
            leaving.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            provider.wait_until(lambda: provider.in_flight > 0, timeout=60)
        provider.wait_until(lambda: provider.disconnects > 0 and provider.in_flight == 0, timeout=30)
        assert provider.statuses == {0: provider.count}, "asked, and never answered"
        with httpx2.Client(base_url=url, timeout=30) as http:
            patience = time.monotonic() + 20
            while "requests_under_way 0" not in http.get("/metrics").text and time.monotonic() < patience:
                time.sleep(0.05)
            assert 'route="/v1/score",status="499"' in http.get("/metrics").text or headers


_LIBRARY = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")


@pytest.mark.skipif(not _LIBRARY.exists(), reason="libfaketime is not installed")
@pytest.mark.parametrize("jump", ["+3d", "-3d"])
def test_a_jump_of_the_clock_in_the_middle_changes_nothing_but_dates(tmp_path: Path, jump: str) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    fake = {
        "LD_PRELOAD": str(_LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }

    def jumping(request: Request) -> Any:
        clock.write_text(jump)
        return always("yes")(request)

    with (
        Provider(jumping, latency=0.2) as provider,
        Replica(tmp_path, preload=fake, judge="openai/fake", api_base=provider.base_url, concurrency=2) as replica,
        httpx2.Client(base_url=replica.url, timeout=60) as http,
    ):
        card = http.post("/v1/score", json={"trace": document(1, 6)}).json()
        again = http.post("/v1/score", json={"trace": document(1, 6)}).json()
        more = http.post("/v1/score", json={"trace": document(2, 2)}).json()
        dates = {each["created_at"][:10] for each in http.get("/v1/verdicts").json()["verdicts"]}
        ready = http.get("/readyz").json()
        replica.tell(signal.SIGTERM)
        assert replica.wait() in (0, -signal.SIGTERM)
    assert (card["undetermined"], again["undetermined"], more["undetermined"]) == (0, 0, 0)
    assert (again["requests"], provider.count) == (0, 8), "each step is paid for once"
    assert ready["status"] == "ok"
    assert dates, "and the clock really jumped"
    assert time.strftime("%Y-%m-%d", time.gmtime()) not in dates


def test_no_waiting_is_counted_on_a_clock_that_people_set() -> None:
    """`time.time` is nowhere in the service but in what is shown to people."""
    root = Path(__file__).parents[1] / "judge_service"
    found = subprocess.run(
        ["grep", "-rlE", r"time\.time\(|datetime\.now\(\)", root], capture_output=True, text=True, check=False
    )
    # a batch takes a day and outlives the process: only people's clock is the same after a restart
    assert {Path(each).name for each in found.stdout.split() if each.endswith(".py")} <= {"pile.py"}


def test_the_port_is_free_again_after_draining(tmp_path: Path) -> None:
    with Replica(tmp_path) as replica:
        port = replica.port
        replica.tell(signal.SIGTERM)
        replica.wait()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))

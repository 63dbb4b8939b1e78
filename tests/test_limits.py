"""Keys have limits: requests a minute and at once, and money a day; and they end, change and are revoked."""

import hashlib
import json
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.allowance import Allowance
from judge_service.budget import Budget
from judge_service.database import open_database
from judge_service.spending import Spending

from fakes.provider import Provider
from killed import document
from replica import Replica
from scripted import always
from servers import eventually
from serving import serving

DAY_USD = 0.016
"""A step's reply may cost 0.012, and costs about 0.002."""
PRICE = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.00001}


def key(secret: str, **limits: Any) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(secret.encode()).hexdigest(), "scopes": ["judge", "read"], **limits}


def ask(url: str, secret: str, number: int = 1, **body: Any) -> httpx2.Response:
    headers = {"authorization": f"Bearer {secret}"}
    return httpx2.post(f"{url}/v1/score", json={"trace": document(number, 1), **body}, headers=headers, timeout=60)


@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=60), st.integers(1, 20), st.integers(1, 5))
def test_no_minute_holds_more_than_twice_what_it_may_and_nobody_waits_for_ever(
    events: list[tuple[float, bool]], per_minute: int, at_once: int
) -> None:
    allowance, now, granted = Allowance(), 0.0, list[float]()
    for later, leaves in events:
        now += later
        if leaves and allowance.under_way:
            allowance.leave()
        refused = allowance.enter(per_minute, at_once, now)
        assert allowance.under_way <= at_once
        if refused is None:
            granted.append(now)
        elif refused.limit == "requests_per_minute":
            assert 0 < refused.retry_after_s <= 60 / per_minute + 1e-6
    for start in granted:
        # a bucket: what it holds, and what flows in meanwhile
        assert sum(start <= each < start + 60 for each in granted) <= 2 * per_minute


def test_the_request_beyond_the_minutes_is_told_when_to_come_back(tmp_path: Path) -> None:
    keys = {"ann": key("ann", requests_per_minute=3), "bob": key("bob")}
    with serving(tmp_path, api_keys=keys) as url:
        answers = [ask(url, "ann") for _ in range(5)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429, 429]
        refused = answers[-1]
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["detail"] == "the key 'ann' has reached its requests_per_minute"
        assert ask(url, "bob").status_code == 200


def test_a_key_has_so_many_requests_under_way_until_their_answers_are_out(tmp_path: Path) -> None:
    keys = {"ann": key("ann", requests_at_once=2)}
    with (
        Provider(always("yes"), latency=1.5) as provider,
        serving(tmp_path, api_keys=keys, judge="openai/fake", api_base=provider.base_url) as url,
        ThreadPoolExecutor() as pool,
    ):
        two = [pool.submit(ask, url, "ann", number) for number in range(2)]
        provider.wait_until(lambda: provider.in_flight == 2, timeout=30)
        assert ask(url, "ann", 3).status_code == 429
        assert [each.result().status_code for each in two] == [200, 200]
        assert ask(url, "ann", 3).status_code == 200


def test_a_days_money_is_shared_by_replicas_and_outlives_a_restart(tmp_path: Path, ledger_url: str) -> None:
    keys = {"ann": key("ann", usd_per_day=DAY_USD), "bob": key("bob")}
    with Provider(always("yes")) as provider:
        judge = {"model": "openai/fake", "api_base": provider.base_url, "max_tokens": 300, **PRICE}
        settings = {"api_keys": keys, "judges": {"j": judge}, "judge": "j", "ledger_url": ledger_url}
        spent, number, answers = 0.0, 0, list[httpx2.Response]()
        for replica in range(3):
            with serving(tmp_path / str(replica), **settings) as url:
                for _ in range(4):
                    number += 1
                    answers.append(ask(url, "ann", number))
                    if answers[-1].status_code == 200:
                        spent += answers[-1].json()["cost_usd"]
                assert ask(url, "bob", 100 + number).status_code == 200

    assert (answers[0].status_code, answers[0].json()["undetermined"]) == (200, 0)
    assert spent <= DAY_USD
    assert answers[8].json()["causes"].keys() == {"budget"}, "the third replica knows from its first request on"
    engine = open_database(ledger_url)
    today = datetime.now(UTC).date().isoformat()
    yesterday = (datetime.now(UTC) - timedelta(minutes=10)).date().isoformat()
    stored = sum(Spending(engine).of("ann", day) for day in {today, yesterday})
    engine.dispose()
    assert stored == pytest.approx(spent)


def test_when_the_days_money_is_gone_the_key_waits_for_midnight(tmp_path: Path) -> None:
    keys = {"ann": key("ann", usd_per_day=0)}
    with serving(tmp_path, api_keys=keys) as url:
        answer = ask(url, "ann")
    assert answer.status_code == 429
    left = (datetime.now(UTC) + timedelta(days=1)).replace(hour=0, minute=0, second=0) - datetime.now(UTC)
    assert abs(int(answer.headers["retry-after"]) - left.total_seconds()) < 120


async def test_a_budget_within_another_keeps_to_both() -> None:
    day = Budget(1.0)
    first, second = Budget(10.0, day), Budget(0.3, day)
    assert await first.reserve(0.8)
    assert not await second.reserve(0.5), "its own is too small"
    assert await second.reserve(0.2)
    await second.settle(0.2, 0.2)
    await first.settle(0.8, 0.75)
    assert not await first.reserve(0.1), "the day's is gone"
    assert await first.reserve(0.04)
    await first.settle(0.04, None)
    assert (day.spent, day.reserved, second.reserved) == (pytest.approx(0.95), False, False)


def test_an_old_key_is_valid_beside_the_new_one_until_its_time_is_over(tmp_path: Path) -> None:
    soon, past = datetime.now(UTC) + timedelta(hours=1), datetime.now(UTC) - timedelta(seconds=1)
    old = hashlib.sha256(b"old").hexdigest()
    keys = {
        "ann": key("new", old_sha256=old, old_not_after=soon.isoformat()),
        "bob": key("bob", old_sha256=hashlib.sha256(b"gone").hexdigest(), old_not_after=past.isoformat()),
        "eve": key("eve", not_after=past.isoformat()),
    }
    with serving(tmp_path, api_keys=keys) as url:
        statuses = {secret: ask(url, secret).status_code for secret in ("new", "old", "bob", "gone", "eve", "nobody")}
    assert statuses == {"new": 200, "old": 200, "bob": 200, "gone": 401, "eve": 401, "nobody": 401}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "stepjudge.json"
    path.write_text(json.dumps({"api_keys": {"ann": key("ann"), "bob": key("bob")}}))
    return path


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
def test_a_revoked_key_is_refused_after_a_hang_up_and_a_broken_file_changes_nothing(
    tmp_path: Path, config: Path
) -> None:
    with Replica(tmp_path, config=config) as replica:
        assert ask(replica.url, "bob").status_code == 200
        config.write_text(json.dumps({"api_keys": {"ann": key("ann"), "cyd": key("cyd")}}))
        replica.tell(signal.SIGHUP)
        eventually(lambda: ask(replica.url, "bob").status_code == 401)
        assert ask(replica.url, "cyd").status_code == 200

        for broken in ("{", json.dumps({"api_keys": {}}), json.dumps({"api_kees": {}})):
            config.write_text(broken)
            before = replica.log.count("the keys stay as they were")
            replica.tell(signal.SIGHUP)
            eventually(lambda before=before: replica.log.count("the keys stay as they were") > before)
        assert ask(replica.url, "ann").status_code == 200
        assert ask(replica.url, "bob").status_code == 401
        assert key("ann")["sha256"] not in replica.log

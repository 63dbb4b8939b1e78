"""The service over HTTP: answers, streams, refusals, and clients that go away."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stepjudge.client import AsyncJudgeClient, JudgeClient
from stepjudge.contract import Scored
from stepjudge.errors import JudgeRefused, JudgeUnreachable

from fakes.provider import Provider
from scripted import always
from serving import serving

TRACE: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "What is the capital of Peru?"},
        {"role": "assistant", "content": "Let me think about Peru."},
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": "Lima is the capital of Peru."},
    ]
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("data"), max_steps=50, max_body_bytes=100_000) as url:
        yield url


@pytest.fixture
def http(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url) as http:
        yield http


def test_the_offline_judge_answers_without_a_model(http: httpx2.Client) -> None:
    card = http.post("/v1/score", json={"trace": TRACE}).json()

    assert (card["judge"], card["requests"], card["cost_usd"]) == ("rules", 0, 0)
    assert card["provisional"] is True
    assert [step["index"] for step in card["steps"]] == [1, 2]
    assert card["undetermined"] == sum(
        answer["answer"] == "undetermined" for step in card["steps"] for answer in step["details"]
    )


@pytest.mark.parametrize(
    ("body", "status", "title", "says"),
    [
        ({"trace": TRACE, "rubric": "nope"}, 404, "Unknown rubric", "step"),
        ({"trace": TRACE, "rubric": "step@9.9.9"}, 404, "Unknown rubric", "1.0.0"),
        ({"trace": TRACE, "judge": "openai/gpt-5.2"}, 404, "Unknown judge", "rules"),
        ({"trace": TRACE, "steps": "5-2"}, 422, "Bad range of steps", "5-2"),
        ({"trace": TRACE, "steps": "90-"}, 422, "Bad range of steps", "1-2"),
        ({"trace": {"messages": []}}, 422, "Unreadable trace", "no steps"),
        ({"trace": {"what": 1}}, 422, "Unreadable trace", "openai-chat"),
        ({"trace": TRACE, "format": "yaml"}, 422, "Unreadable trace", "openai-chat"),
        ({"trace": {"messages": TRACE["messages"] * 40}}, 413, "Trace too long", "50"),
        ({"trace": TRACE, "group": "all"}, 422, "The request is not valid", "group"),
        ({"trace": TRACE, "surprise": 1}, 422, "The request is not valid", "surprise"),
        ({}, 422, "The request is not valid", "trace"),
    ],
)
def test_what_is_refused_is_a_problem_that_says_why(
    http: httpx2.Client, body: dict[str, Any], status: int, title: str, says: str
) -> None:
    response = http.post("/v1/score", json=body)

    problem = response.json()
    assert (response.status_code, problem["status"], problem["title"]) == (status, status, title)
    assert response.headers["content-type"] == "application/problem+json"
    assert says in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("GET", "/v1/score", 405), ("GET", "/v1/verdicts/none", 404)],
)
def test_errors_of_the_framework_are_problems_too(http: httpx2.Client, method: str, path: str, status: int) -> None:
    response = http.request(method, path)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")


def test_a_body_that_is_not_json_or_too_large_is_refused(http: httpx2.Client) -> None:
    headers = {"content-type": "application/json"}
    assert http.post("/v1/score", content=b"{", headers=headers).status_code == 422
    assert http.post("/v1/score", content=b"[" * 90_000, headers=headers).status_code in (400, 422)
    assert http.post("/v1/score", content=b'"' + b"x" * 200_000 + b'"', headers=headers).status_code == 413


def test_a_rubric_in_the_request_may_not_take_a_published_name(http: httpx2.Client) -> None:
    rubric = http.get("/v1/rubrics/step").json()
    rubric["title"] = "Mine"

    assert http.post("/v1/score", json={"trace": TRACE, "rubric": rubric}).json()["title"] == "Bad rubric"
    rubric["version"] = "1.0.1"
    assert http.post("/v1/score", json={"trace": TRACE, "rubric": rubric}).json()["rubric"]["version"] == "1.0.1"


def test_a_file_is_read_into_canonical_traces_that_score_the_same(http: httpx2.Client) -> None:
    lines = "\n".join(json.dumps(TRACE) for _ in range(3)).encode()
    read = http.post("/v1/traces", content=gzip.compress(lines)).json()["traces"]
    assert [trace["source_format"] for trace in read] == ["openai-chat"] * 3

    card, again = (http.post("/v1/score", json={"trace": each}).json() for each in (TRACE, read[0]))
    assert [step["verdict_id"] for step in card["steps"]] == [step["verdict_id"] for step in again["steps"]]
    refused = http.post("/v1/traces", content=b"neither JSON nor lines")
    assert (refused.status_code, refused.json()["title"]) == (422, "Unreadable trace")
    assert "openai-chat" in [each["name"] for each in http.get("/v1/formats").json()]


def test_rubrics_judges_and_health_are_listed(http: httpx2.Client) -> None:
    assert "step@1.0.0" in [f"{each['name']}@{each['version']}" for each in http.get("/v1/rubrics").json()]
    assert [judge["name"] for judge in http.get("/v1/judges").json()] == ["rules"]
    assert http.get("/healthz").json()["status"] == http.get("/readyz").json()["status"] == "ok"


def test_verdicts_are_paged_newest_first_and_none_twice(http: httpx2.Client) -> None:
    for number in range(5):
        http.post(
            "/v1/score",
            json={"trace": {"messages": [*TRACE["messages"], {"role": "assistant", "content": f"{number}"}]}},
        )
    seen: list[str] = []
    cursor = None
    while True:
        page = http.get("/v1/verdicts", params={"limit": 3} | ({"cursor": cursor} if cursor else {})).json()
        seen += [verdict["verdict_id"] for verdict in page["verdicts"]]
        assert len(page["verdicts"]) <= 3
        if (cursor := page["next_cursor"]) is None:
            break
    assert len(seen) == len(set(seen)) >= 7


def test_verdicts_stream_as_they_land(tmp_path: Path) -> None:
    def slow_first_step(request: Any) -> float:
        return 0.8 if "Judge step 1," in request.user else 0.0

    with (
        Provider(always("yes"), latency=slow_first_step) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url) as url,
        httpx2.Client(base_url=url, timeout=60) as http,
        http.stream("POST", "/v1/score", json={"trace": TRACE}, headers={"accept": "application/x-ndjson"}) as response,
    ):
        lines = [(time.monotonic(), json.loads(line)) for line in response.iter_lines()]

    assert [event.get("step", {}).get("index") for _, event in lines] == [2, 1, None]
    assert lines[1][0] - lines[0][0] > 0.4, "the first verdict did not wait for the second"
    assert lines[-1][1]["type"] == "scorecard"
    assert [event["done"] for _, event in lines[:-1]] == [1, 2]


def test_a_client_that_goes_away_stops_its_judge_calls(tmp_path: Path) -> None:
    with (
        Provider(always("yes"), latency=30.0) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url) as url,
    ):
        for headers in ({}, {"accept": "application/x-ndjson"}):
            gone = provider.disconnects
            with pytest.raises(httpx2.ReadTimeout), httpx2.Client(base_url=url) as http:
                http.post(
                    "/v1/score",
                    json={"trace": TRACE},
                    headers=headers,
                    timeout=httpx2.Timeout(60, read=15 if not gone else 2),
                )
            provider.wait_until(lambda gone=gone: provider.disconnects > gone and provider.in_flight == 0)


def test_concurrent_requests_for_one_verdict_share_one_call(tmp_path: Path) -> None:
    with (
        Provider(always("yes"), latency=0.3) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url) as url,
        JudgeClient(url) as client,
        ThreadPoolExecutor(10) as pool,
    ):
        cards = list(pool.map(client.score, [TRACE] * 10))
        calls = provider.count

    assert calls == 2
    assert {card.scores.step_level.numerator for card in cards} == {2}
    assert sum(card.requests for card in cards) == 2, "only who asked is charged"


def test_the_client_calls_back_with_each_step_and_returns_the_scorecard(url: str) -> None:
    steps: list[Scored] = []
    with JudgeClient(url) as client:
        card = client.score(TRACE, on_step=steps.append)
    assert [(event.done, event.total) for event in steps] == [(1, 2), (2, 2)]
    assert {event.step.index for event in steps} == {step.index for step in card.steps}


async def test_the_asynchronous_client_is_its_twin(url: str) -> None:
    async with AsyncJudgeClient(url) as client:
        card = await client.score(TRACE)
        assert (await client.audit(card.steps[0].verdict_id)).state_matches
        assert [judge.name for judge in await client.judges()] == ["rules"]


async def test_an_error_in_the_callers_own_block_stays_itself(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with AsyncJudgeClient.embedded(data_dir=tmp_path):
            raise ZeroDivisionError
    with pytest.raises(JudgeRefused), JudgeClient.embedded(data_dir=tmp_path) as client:
        client.score(TRACE, rubric="nope")


def test_a_refusal_carries_the_problem_also_while_streaming(url: str) -> None:
    with JudgeClient(url) as client:
        heard: list[Scored] = []
        for on_step in (None, heard.append):
            with pytest.raises(JudgeRefused) as refused:
                client.score(TRACE, rubric="nope", on_step=on_step)
            assert refused.value.problem.status == 404


def test_a_service_that_cannot_start_leaves_nothing_running(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").write_bytes(b"no database at all" * 100)
    threads = threading.active_count()
    for _ in range(3):
        with pytest.raises(JudgeUnreachable, match="not a database"), JudgeClient.embedded(data_dir=tmp_path):
            pass
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    "settings", [{"port": "x"}, {"surprise": 1}, {"ledger_url": "nosuch://"}, {"judges": {"a": 1}}]
)
def test_settings_that_do_not_hold_are_one_error_of_the_library(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(JudgeUnreachable, match="cannot start"), JudgeClient.embedded(data_dir=tmp_path, **settings):
        pass


def test_a_misspelt_setting_is_named_when_the_service_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("STEPJUDGE_CONCURENCY", "4")
    with JudgeClient.embedded(data_dir=tmp_path):
        pass
    assert "STEPJUDGE_CONCURENCY" in caplog.text
    assert "STEPJUDGE_CONCURRENCY" in caplog.text


def test_nobody_there_is_unreachable() -> None:
    with JudgeClient("http://127.0.0.1:9") as client, pytest.raises(JudgeUnreachable, match="no answer from"):
        client.score(TRACE)

"""`/metrics` tells what the service did, in a form that Prometheus reads, and no caller can fill it with names."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from judge_service.metrics import OTHER, Metrics

from fakes.faults import UNAUTHORIZED
from fakes.provider import Provider
from judged import SMALL, judged
from killed import document
from scripted import always
from serving import serving


def read(page: str, name: str, labels: Mapping[str, str] | None = None) -> float:
    """The sum of a number over all labels that are not given."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == f"stepjudge_{name}" and (labels or {}).items() <= sample.labels.items()
    )


def test_what_was_asked_judged_and_paid_is_counted(tmp_path: Path) -> None:
    with judged(tmp_path) as service, httpx2.Client(base_url=service.url, timeout=60) as http:
        cards: list[dict[str, Any]] = [http.post("/v1/score", json={"trace": SMALL}).json() for _ in range(3)]
        http.get("/v1/verdicts/nope")
        page = http.get("/metrics").text
        usage = service.provider.usage

    steps = len(cards[0]["steps"])
    assert read(page, "requests_total", {"route": "/v1/score", "status": "200", "method": "POST"}) == 3
    assert read(page, "requests_total", {"route": "/v1/verdicts/{verdict_id}", "status": "404"}) == 1
    assert read(page, "request_seconds_count", {"route": "/v1/score"}) == 3
    assert read(page, "verdicts_total", {"source": "judged", "judge": "openai/scripted"}) == steps
    assert read(page, "verdicts_total", {"source": "remembered"}) == 2 * steps
    assert read(page, "judge_seconds_count") == read(page, "ledger_write_seconds_count") == steps
    assert read(page, "model_requests_total", {"end": "completion"}) == service.provider.count == steps
    assert read(page, "tokens_total", {"kind": "prompt"}) == usage.prompt_tokens
    assert read(page, "tokens_total", {"kind": "cached"}) == usage.cached_tokens
    assert read(page, "tokens_total", {"kind": "completion"}) == usage.completion_tokens
    assert read(page, "limiter_in_flight") == read(page, "limiter_waiting") == read(page, "circuit_open") == 0
    assert read(page, "limiter_places") >= 1
    assert read(page, "cache_well") == 1
    assert "process_open_fds" in page


def test_answers_that_could_not_be_had_are_counted_by_cause(tmp_path: Path) -> None:
    with (
        Provider(always("yes"), faults=lambda _request: UNAUTHORIZED) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url) as url,
    ):
        card = httpx2.post(f"{url}/v1/score", json={"trace": document(1, 2)}, timeout=60).json()
        page = httpx2.get(f"{url}/metrics", timeout=60).text
    assert card["causes"] == {"rejected": read(page, "undetermined_answers_total", {"cause": "rejected"})}
    assert read(page, "model_requests_total", {"end": "rejected"}) == 2


def test_it_takes_a_key_that_may_read_where_there_are_keys(tmp_path: Path) -> None:
    def hashed(secret: str, *scopes: str) -> dict[str, object]:
        return {"sha256": hashlib.sha256(secret.encode()).hexdigest(), "scopes": scopes}

    with serving(tmp_path, api_keys={"prometheus": hashed("p", "read"), "ann": hashed("a", "judge")}) as url:
        statuses = [
            httpx2.get(f"{url}/metrics", headers={"authorization": f"Bearer {secret}"}, timeout=60).status_code
            for secret in ("nobody", "a", "p")
        ]
    assert statuses == [401, 403, 200]


def test_a_path_that_is_no_route_and_a_method_that_is_none_make_no_new_numbers(tmp_path: Path) -> None:
    with serving(tmp_path) as url, httpx2.Client(base_url=url, timeout=60) as http:
        for number in range(20):
            http.get(f"/nothing/{number}")
            http.request(f"BREW{number}", "/healthz")
        page = http.get("/metrics").text
    assert read(page, "requests_total", {"route": "none", "status": "404"}) == 20
    assert read(page, "requests_total", {"method": "OTHER"}) == 20
    assert "BREW" not in page
    assert "nothing" not in page


def test_names_of_judges_beyond_a_hundred_are_one() -> None:
    metrics = Metrics()
    for number in range(300):
        metrics.judged(f"judge {number}", 0.1)
    page = metrics.page().decode()
    assert read(page, "judge_seconds_count", {"judge": OTHER}) == 200
    assert read(page, "judge_seconds_count") == 300


def test_two_services_in_one_process_count_for_themselves(tmp_path: Path) -> None:
    with serving(tmp_path / "a") as first, serving(tmp_path / "b") as second:
        httpx2.get(f"{first}/v1/judges", timeout=60)
        pages = [httpx2.get(f"{url}/metrics", timeout=60).text for url in (first, second)]
    assert [read(page, "requests_total", {"route": "/v1/judges"}) for page in pages] == [1, 0]

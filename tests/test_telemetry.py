"""Spans of requests, steps and model calls reach a collector over OTLP, in one trace, without a word of any content."""

from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from judge_service.telemetry import Tracing

from fakes.collector import Collector
from fakes.faults import UNAUTHORIZED
from fakes.provider import Provider
from judged import SMALL, judged
from killed import WORD, document
from scripted import always
from serving import serving

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"
SERVER, CLIENT = 2, 3


def test_a_request_is_one_trace_down_to_the_model_calls(tmp_path: Path) -> None:
    with (
        Collector() as collector,
        judged(tmp_path, otlp_endpoint=collector.url, temperature=0.5, seed=7) as service,
    ):
        port = urlsplit(service.provider.base_url).port
        headers = {"traceparent": PARENT, "x-request-id": "r-1"}
        card = httpx2.post(f"{service.url}/v1/score", json={"trace": SMALL}, headers=headers, timeout=60).json()
        usage = service.provider.usage
    (request,) = [span for span in collector.spans if span.attributes.get("http.route") == "/v1/score"]
    steps, calls = collector.named("judge step"), collector.named("chat scripted")

    assert (request.trace_id, request.parent_id, request.kind) == (TRACE_ID, "b7ad6b7169203331", SERVER)
    assert request.attributes["http.request.method"] == "POST"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["stepjudge.request_id"] == "r-1"
    assert request.attributes["stepjudge.verdicts.judged"] == len(steps) == len(calls) == 3
    assert {span.trace_id for span in collector.spans} == {TRACE_ID}
    assert {span.parent_id for span in steps} == {request.span_id}
    assert {span.parent_id for span in calls} == {span.span_id for span in steps}
    assert {span.attributes["stepjudge.verdict_id"] for span in steps} == {each["verdict_id"] for each in card["steps"]}

    for call in calls:
        asked = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "scripted",
            "gen_ai.request.temperature": 0.5,
            "gen_ai.request.seed": 7,
            "gen_ai.request.max_tokens": 4_096,
            "gen_ai.response.finish_reasons": ["stop"],
            "server.address": "127.0.0.1",
            "server.port": port,
        }
        assert asked.items() <= call.attributes.items()
        assert call.kind == CLIENT
    tokens = [sum(call.attributes[f"gen_ai.usage.{kind}_tokens"] for call in calls) for kind in ("input", "output")]
    assert tokens == [usage.prompt_tokens, usage.completion_tokens]
    judged_events = [event for span in steps for event in span.events]
    assert {name for name, _ in judged_events} == {"gen_ai.evaluation.result"}
    labels = {each["gen_ai.evaluation.score.label"] for _, each in judged_events}
    assert labels <= {"yes", "no", "not_applicable", "undetermined"}


def test_no_span_holds_a_word_of_a_trace_a_prompt_or_a_reply(tmp_path: Path) -> None:
    with (
        Collector() as collector,
        Provider(always("yes"), api_key="sk-very-secret-key-123") as provider,
        serving(
            tmp_path,
            judge="openai/fake",
            api_base=provider.base_url,
            api_key="sk-very-secret-key-123",
            otlp_endpoint=collector.url,
        ) as url,
    ):
        answer = httpx2.post(f"{url}/v1/score", json={"trace": document(17, 2)}, timeout=60).json()
        assert answer["undetermined"] == 0
    assert len(collector.named("judge step")) == 2
    for word in (WORD, "scripted for step", "sk-very-secret"):
        assert word.encode() not in collector.raw


def test_a_model_that_fails_fails_its_span_with_the_cause(tmp_path: Path) -> None:
    with (
        Collector() as collector,
        Provider(always("yes"), faults=lambda _request: UNAUTHORIZED) as provider,
        serving(tmp_path, judge="openai/fake", api_base=provider.base_url, otlp_endpoint=collector.url) as url,
    ):
        httpx2.post(f"{url}/v1/score", json={"trace": document(1, 1)}, timeout=60)
    (call,) = collector.named("chat fake")
    assert call.failed
    assert call.attributes["error.type"] == "rejected"
    (step,) = collector.named("judge step")
    assert not step.failed, "an answer that cannot be had is an answer"
    assert {each.get("error.type") for _, each in step.events} >= {"rejected"}


def test_a_collector_that_is_not_there_costs_nobody_an_answer(tmp_path: Path) -> None:
    with serving(tmp_path, otlp_endpoint="http://127.0.0.1:9") as url:
        assert httpx2.post(f"{url}/v1/score", json={"trace": document(1, 1)}, timeout=60).status_code == 200


@pytest.mark.parametrize("failing", [False, True])
def test_without_a_collector_there_are_no_spans(failing: bool) -> None:
    tracing = Tracing()
    with pytest.raises(ZeroDivisionError) if failing else tracing.span("a", {}), tracing.span("b", {}) as span:
        assert span.trace_id is None
        if failing:
            raise ZeroDivisionError

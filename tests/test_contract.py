"""The published contract: a fuzzer reads the OpenAPI document and finds the service to keep to it.

STEPJUDGE_FUZZ is how many requests of each kind it makes; 2000 takes about an hour.
"""
# pyright: basic

import os
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from serving import serving

EXAMPLES = int(os.environ.get("STEPJUDGE_FUZZ", "30"))
FUZZING = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize="STEPJUDGE_FUZZ" not in os.environ,
)

TRACE = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("data")) as url:
        httpx2.post(f"{url}/v1/score", json={"trace": TRACE}).raise_for_status()
        yield url


PATHS = [
    ("POST", "/v1/score"),
    ("POST", "/v1/estimate"),
    ("POST", "/v1/metrics/nemo"),
    ("POST", "/v1/traces"),
    ("GET", "/v1/formats"),
    ("GET", "/v1/verdicts"),
    ("GET", "/v1/verdicts/{verdict_id}"),
    ("POST", "/v1/labels"),
    ("GET", "/v1/labels"),
    ("GET", "/v1/labels/export"),
    ("POST", "/v1/states"),
    ("GET", "/v1/states/{state_digest}/{step_digest}"),
    ("GET", "/v1/states/{state_digest}/{step_digest}/verdicts"),
    ("GET", "/v1/queue"),
    ("GET", "/v1/agreement"),
    ("POST", "/v1/stale"),
    ("GET", "/v1/batches"),
    ("POST", "/v1/batches"),
    ("POST", "/v1/batches/collect"),
    ("GET", "/v1/rubrics"),
    ("GET", "/v1/rubrics/{reference}"),
    ("GET", "/v1/judges"),
    ("GET", "/metrics"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
]


SPOILABLE = [
    (method, path)
    for method, path in PATHS
    if (method == "POST" and path not in ("/v1/batches", "/v1/batches/collect"))  # these take nothing
    or path in ("/v1/verdicts", "/v1/labels", "/v1/labels/export", "/v1/queue", "/v1/agreement")
]
"""Operations that a request can be malformed for: they take a body or a query."""


@pytest.mark.parametrize(("method", "path"), PATHS, ids=[f"{method} {path}" for method, path in PATHS])
def test_every_operation_keeps_to_the_document(url: str, method: str, path: str) -> None:
    fuzz(url, method, path, GenerationMode.POSITIVE)


@pytest.mark.parametrize(("method", "path"), SPOILABLE, ids=[f"{method} {path}" for method, path in SPOILABLE])
def test_a_malformed_request_is_refused_as_the_document_says(url: str, method: str, path: str) -> None:
    fuzz(url, method, path, GenerationMode.NEGATIVE)


def fuzz(url: str, method: str, path: str, mode: GenerationMode) -> None:
    operation = schemathesis.openapi.from_url(f"{url}/openapi.json")[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @FUZZING
    def keeps(case: schemathesis.Case) -> None:
        # no schema can say what a trace is, or which rubrics there are: a request may fit the schema and be refused
        case.call_and_validate(base_url=url, excluded_checks=[positive_data_acceptance])

    keeps()


@pytest.mark.parametrize("path", ["/v1/score", "/v1/estimate", "/v1/metrics/nemo"])
def test_whatever_is_said_about_a_real_trace_is_answered_as_documented(url: str, path: str) -> None:
    operation = schemathesis.openapi.from_url(f"{url}/openapi.json")[path]["POST"]

    @given(case=operation.as_strategy())
    @FUZZING
    def keeps(case: schemathesis.Case) -> None:
        body: Any = case.body
        setattr(case, "body", {**body, "trace": TRACE, "format": None})  # noqa: B010 (its annotation is read-only)
        case.call_and_validate(base_url=url, excluded_checks=[positive_data_acceptance])

    keeps()


def test_the_document_lists_every_route(url: str) -> None:
    document = httpx2.get(f"{url}/openapi.json").json()
    listed = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert listed == set(PATHS)


def test_fields_are_described_in_the_document(url: str) -> None:
    schemas = httpx2.get(f"{url}/openapi.json").json()["components"]["schemas"]
    assert schemas["Scorecard"]["properties"]["range"]["description"].startswith("The steps that the scores cover")

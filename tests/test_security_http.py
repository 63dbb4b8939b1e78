"""The service on the wire: hostile bodies, addresses that a caller would like to choose, and what browsers are told."""

import hashlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from judge_service.protection import PROTECTION

from fakes.faults import Fault, first
from fakes.provider import Provider
from scripted import always
from serving import serving

TRACE: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(always("yes")) as provider:
        yield provider


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[str]:
    judges = {"named": {"model": "openai/fake", "api_base": provider.base_url}}
    with serving(tmp_path_factory.mktemp("data"), judges=judges) as url:
        yield url


def post(url: str, body: bytes | str, **headers: str) -> httpx2.Response:
    return httpx2.post(
        f"{url}/v1/score", content=body, headers={"content-type": "application/json", **headers}, timeout=60
    )


# --- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        '{"trace": ' + "[" * 100_000,
        '{"trace": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"trace": ' + '{"a":' * 5_000 + "1" + "}" * 5_000 + "}",
        '{"trace": {"messages": ' + "9" * 100_000 + "}}",
        '{"trace": 1e999999}',
        '{"trace": -1e999999}',
        '{"trace": NaN}',
        '{"trace": {"messages": [{"role": "user", "content": "\\ud800"}]}}',
        '{"trace": "\x00"}',
        "",
        "null",
        '{"trace": {}, "trace": []}',
        b"\xff\xfe",
        json.dumps({"trace": {**TRACE, "messages": [{"role": "\r\nx: y"}] * 50_000}}),
    ],
    ids=lambda body: hashlib.sha256(body if isinstance(body, bytes) else body.encode()).hexdigest()[:8],
)
def test_a_hostile_body_is_refused_as_a_problem(url: str, body: bytes | str) -> None:
    answer = post(url, body)
    assert answer.status_code in (400, 413, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 20_000
    assert httpx2.get(f"{url}/healthz").json()["status"] == "ok"


def test_numbers_of_any_size_in_arguments_are_scored(url: str) -> None:
    arguments = '{"n": ' + "9" * 4_000 + ', "x": 1e400, "y": -0.0}'
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert post(url, json.dumps({"trace": {"messages": messages}})).status_code == 200


def test_a_body_beyond_the_limit_is_refused_also_when_its_length_is_not_told(tmp_path: Path) -> None:
    with serving(tmp_path, max_body_bytes=10_000) as small:
        assert post(small, b" " * 20_000).status_code == 413
        pieces = (b" " * 1_000 for _ in range(50))
        answer = httpx2.post(f"{small}/v1/score", content=pieces, headers={"content-type": "application/json"})
        assert answer.status_code == 413


def test_a_body_that_says_it_is_packed_is_not_unpacked(url: str) -> None:
    import gzip

    packed = gzip.compress(json.dumps({"trace": TRACE}).encode())
    assert post(url, packed, **{"content-encoding": "gzip"}).status_code in (400, 415, 422)


# --- headers ---------------------------------------------------------------------------------------------------------


def test_an_id_with_a_line_break_reaches_no_header(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(
            f"GET /healthz HTTP/1.1\r\nhost: {host}\r\nx-request-id: a\rset-cookie: evil=1\r\nconnection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: raw.recv(65_536), b""))
    head = answer.partition(b"\r\n\r\n")[0].lower()
    assert b"set-cookie" not in head
    sent = httpx2.get(f"{url}/healthz", headers={"x-request-id": "a b;c=%0d%0aset-cookie:x"})
    assert sent.headers["x-request-id"].isalnum()
    assert "set-cookie" not in sent.headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/v1/verdicts", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/v1/verdicts/none", 404),
        ("GET", "/none", 404),
        ("PUT", "/v1/score", 405),
        ("POST", "/v1/score", 422),
        ("GET", "/metrics", 200),
    ],
)
def test_every_answer_is_protected(url: str, method: str, path: str, status: int) -> None:
    answer = httpx2.request(method, f"{url}{path}", json={} if method == "POST" else None)
    assert answer.status_code == status
    assert PROTECTION.items() <= dict(answer.headers).items()


def test_so_are_verdicts_and_refusals_of_other_hosts_and_the_documentation_may_still_load(url: str) -> None:
    scored = post(url, json.dumps({"trace": TRACE}))
    streamed = post(url, json.dumps({"trace": TRACE}), accept="application/x-ndjson")
    elsewhere = httpx2.get(f"{url}/v1/judges", headers={"host": "evil.example"})
    assert elsewhere.status_code == 403
    for answer in (scored, streamed, elsewhere):
        assert PROTECTION.items() <= dict(answer.headers).items()
    assert httpx2.get(f"{url}/docs").headers["content-security-policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "POST"])
def test_no_other_site_may_read_an_answer(url: str, method: str) -> None:
    headers = {
        "origin": "https://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }
    answer = httpx2.request(method, f"{url}/v1/score", headers=headers)
    assert [name for name in answer.headers if name.startswith("access-control")] == []


# --- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"api_base": "http://169.254.169.254/"},
        {"judge": {"model": "openai/x", "api_base": "http://127.0.0.1:1"}},
        {"judge": "openai/x"},
        {"judge": "http://127.0.0.1:1/x"},
        {"judge": "openai//127.0.0.1:1"},
        {"judge": "named", "api_key": "k"},
        {"rubric": "file:///etc/passwd"},
        {"rubric": "../../etc/passwd"},
        {"trace": "file:///etc/passwd"},
        {"trace": {"$ref": "http://127.0.0.1:1"}},
    ],
    ids=str,
)
def test_a_caller_chooses_no_address_and_no_file(url: str, provider: Provider, more: dict[str, Any]) -> None:
    before = len(provider.requests)
    answer = post(url, json.dumps({"trace": TRACE, **more}))
    assert answer.status_code in (404, 422), answer.text
    assert "root:" not in answer.text
    assert len(provider.requests) == before


def test_with_any_model_a_caller_names_a_model_and_still_no_address(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, any_model=True, api_base=provider.base_url) as open_one:
        assert post(open_one, json.dumps({"trace": TRACE, "judge": "openai/other"})).status_code == 200
        for name in (
            "custom/http://127.0.0.1:1",
            "oobabooga/x",
            "openai/../x",
            "openai/x?api_base=y",
            "github_copilot/x",
        ):
            assert post(open_one, json.dumps({"trace": TRACE, "judge": name})).status_code in (404, 422), name


def test_a_redirect_of_the_provider_is_not_followed(tmp_path: Path) -> None:
    with Provider(always("yes")) as elsewhere:
        moved = Fault("moved", 307, b"", headers=lambda: {"location": f"{elsewhere.base_url}/chat/completions"})
        with (
            Provider(always("yes"), faults=first(9, moved)) as provider,
            serving(tmp_path, judge="openai/fake", api_base=provider.base_url, api_key="sk-not-for-others") as url,
        ):
            card = post(url, json.dumps({"trace": TRACE})).json()
        assert card["steps"][0]["details"][0]["cause"] is not None
        assert elsewhere.requests == ()


def test_a_schema_in_a_trace_fetches_nothing(url: str, provider: Provider) -> None:
    host = provider.base_url.removesuffix("/v1")
    tool = {"name": "f", "parameters": {"$ref": f"{host}/schema.json"}}
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": f"{host}/picture.png"}}
    trace = {
        "tools": [{"type": "function", "function": tool}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}, image]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ],
    }
    before = len(provider.requests)
    assert post(url, json.dumps({"trace": trace, "judge": "rules"})).status_code == 200
    assert len(provider.requests) == before

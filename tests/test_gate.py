"""Keys: without them the service is for this machine alone, with them each caller has scopes."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from judge_service.gate import UnsafeAddress, check_address
from judge_service.settings import ApiKey, Settings
from stepjudge.cli.key import key
from stepjudge.client import JudgeClient
from stepjudge.errors import JudgeRefused

from serving import serving

TRACE = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}


def api_key(secret: str, *scopes: str) -> ApiKey:
    return ApiKey.model_validate({"sha256": hashlib.sha256(secret.encode()).hexdigest(), "scopes": scopes})


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    keys = {
        "ann": api_key("ann-secret", "judge", "read"),
        "bob": api_key("bob-secret", "read"),
        "eve": api_key("eve-secret", "admin"),
    }
    with serving(tmp_path_factory.mktemp("data"), api_keys=keys) as url:
        yield url


@pytest.mark.parametrize(
    ("secret", "path", "status"),
    [
        (None, "/v1/judges", 401),
        ("wrong", "/v1/judges", 401),
        ("ann-secre", "/v1/judges", 401),
        ("bob-secret", "/v1/judges", 200),
        ("eve-secret", "/v1/verdicts", 200),
        (None, "/healthz", 200),
    ],
)
def test_a_key_opens_what_its_scopes_say(url: str, secret: str | None, path: str, status: int) -> None:
    headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
    response = httpx2.get(f"{url}{path}", headers=headers)
    assert response.status_code == status
    if status == 401:
        assert response.headers["www-authenticate"] == "Bearer"


def test_a_reader_may_not_spend(url: str) -> None:
    with JudgeClient(url, api_key="ann-secret") as ann:
        assert ann.score(TRACE).judge == "rules"
    with JudgeClient(url, api_key="bob-secret") as bob, pytest.raises(JudgeRefused) as refused:
        bob.score(TRACE)
    assert refused.value.problem.status == 403
    assert "'judge'" in refused.value.problem.detail


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "judge.example"])
def test_without_keys_only_loopback_is_listened_on(host: str) -> None:
    with pytest.raises(UnsafeAddress, match="API keys"):
        check_address(host, {})
    check_address(host, {"ann": api_key("x", "read")})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    check_address(host, {})


def test_a_made_key_fits_the_setting_that_is_printed_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    printed = CliRunner().invoke(key, ["ann", "--scope", "judge"]).output
    secret = printed.split("STEPJUDGE_CLIENT_KEY=")[1].split()[0]
    monkeypatch.setenv("STEPJUDGE_API_KEYS", printed.split("STEPJUDGE_API_KEYS='")[1].split("'")[0])

    with (
        serving(tmp_path, **Settings().model_dump(include={"api_keys"})) as url,
        JudgeClient(url, api_key=secret) as client,
    ):
        assert client.score(TRACE).judge == "rules"
    assert secret not in Settings().model_dump_json()


@pytest.mark.parametrize(
    ("host", "status"), [("evil.example", 403), ("localhost:1", 200), ("[::1]:80", 200), ("", 403)]
)
def test_without_keys_a_request_meant_for_another_host_is_refused(tmp_path: Path, host: str, status: int) -> None:
    with serving(tmp_path) as url:
        response = httpx2.get(f"{url}/v1/judges", headers={"host": host})
    assert response.status_code == status

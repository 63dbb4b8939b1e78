"""Secrets: whatever fails, none that the service holds comes out anywhere: logs, answers, reports, metrics or files."""

import hashlib
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fakes.faults import Fault, error_body
from fakes.provider import Provider, Request
from killed import document
from replica import Replica
from scripted import always
from servers import Redis

PLACES = (
    "STEPJUDGE_API_KEY",
    "a judge's api_key",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "a password in STEPJUDGE_CACHE_URL",
    "a password in HTTPS_PROXY",
    "a caller's key",
)


class Planted:
    """A marked secret for each place, so that what leaks tells from where."""

    def __init__(self) -> None:
        self.of = {place: f"sk-planted{number}-{uuid.uuid4().hex}" for number, place in enumerate(PLACES)}

    def leaks(self, where: str, raw: bytes | str) -> list[str]:
        data = raw.encode() if isinstance(raw, str) else raw
        return [f"{place} in {where}" for place, secret in self.of.items() if secret.encode() in data]


def echoing(planted: Planted, status: int) -> Fault:
    """A provider that says back what it was given, and more."""
    words = f"bad key {planted.of['STEPJUDGE_API_KEY']} or {planted.of[PLACES[1]]}; Authorization: Bearer "
    said = error_body(words + planted.of["OPENAI_API_KEY"], kind="auth", code=planted.of["ANTHROPIC_API_KEY"])
    return Fault("echo", status, said)


@pytest.mark.parametrize("failure", ["none", "401", "500", "hang", "down", "no cache"])
def test_no_planted_secret_comes_out(tmp_path: Path, failure: str, redis_server: Redis) -> None:
    planted = Planted()
    data = tmp_path / "data"
    data.mkdir()
    leaks: list[str] = []

    def faults(_request: Request) -> Fault | None:
        match failure:
            case "401" | "500":
                return echoing(planted, int(failure))
            case "hang":
                return Fault("hang", ending="never")
            case _:
                return None

    with Provider(always("yes"), faults=faults) as provider:
        base = "http://127.0.0.1:9/v1" if failure == "down" else provider.base_url
        password = planted.of["a password in STEPJUDGE_CACHE_URL"]
        at = redis_server.url.partition("://")[2] if redis_server.url.startswith("redis://") else "127.0.0.1:9/0"
        cache = f"redis://:{password}@{'127.0.0.1:9/0' if failure == 'no cache' else at}"
        limits: dict[str, Any] = {"api_base": base, "attempts": 2, "max_wait_s": 0.1, "timeout_s": 1}
        caller = planted.of["a caller's key"]
        keys = {"ann": {"sha256": hashlib.sha256(caller.encode()).hexdigest(), "scopes": ["admin"]}}
        settings = {
            "STEPJUDGE_API_KEY": planted.of["STEPJUDGE_API_KEY"],
            "STEPJUDGE_API_BASE": base,
            "STEPJUDGE_CACHE_URL": cache,
            "STEPJUDGE_JUDGES": json.dumps(
                {
                    "direct": {"model": "openai/fake", "api_key": planted.of["a judge's api_key"], **limits},
                    "wrapped": {"model": "openai/fake", "via": "litellm", "api_key": planted.of[PLACES[1]], **limits},
                }
            ),
            "STEPJUDGE_API_KEYS": json.dumps(keys),
            "STEPJUDGE_LOG_LEVEL": "debug",
            "OPENAI_API_KEY": planted.of["OPENAI_API_KEY"],
            "ANTHROPIC_API_KEY": planted.of["ANTHROPIC_API_KEY"],
            "HTTPS_PROXY": f"http://user:{planted.of['a password in HTTPS_PROXY']}@127.0.0.1:9",
        }
        with (
            Replica(data, preload=settings) as replica,
            httpx2.Client(base_url=replica.url, timeout=300, trust_env=False) as http,
        ):
            http.headers["authorization"] = f"Bearer {caller}"
            # litellm takes seconds to import, and has words of its own for errors of the provider only
            wrapped = ("wrapped",) if failure in ("401", "500") else ()
            for number, judge in enumerate(("direct", *wrapped, "rules")):
                body = {"trace": document(number, 1), "judge": judge}
                leaks += planted.leaks(f"a scorecard of {judge}", http.post("/v1/score", json=body).content)
            streamed = http.post(
                "/v1/score",
                json={"trace": document(9, 1), "judge": "direct"},
                headers={"accept": "application/x-ndjson"},
            )
            leaks += planted.leaks("a stream", streamed.content)
            # a key in the wrong place is not said back
            wrong = http.post("/v1/score", json={"trace": document(1, 1), "api_key": caller, "rubric": {"x": caller}})
            assert wrong.status_code == 422
            leaks += planted.leaks("a problem", wrong.content)
            paths = ["/v1/judges", "/v1/verdicts", "/v1/labels", "/metrics", "/readyz", "/openapi.json"]
            paths += [f"/v1/verdicts/{each['verdict_id']}" for each in http.get("/v1/verdicts").json()["verdicts"]]
            for path in paths:
                answer = http.get(path)
                assert answer.status_code in (200, 503), path
                leaks += planted.leaks(path, answer.content)
            log = replica.log
        leaks += planted.leaks("the log", log)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STEPJUDGE_")}
        shown = subprocess.run(
            [sys.executable, "-c", "from stepjudge.cli.main import main; main()", "config", "--all"],
            env={**clean, **settings},
            capture_output=True,
            check=False,
        )
        leaks += planted.leaks("stepjudge config", shown.stdout + shown.stderr)
    files = [each for each in data.rglob("*") if each.is_file()]
    assert files
    for each in files:
        leaks += planted.leaks(each.name, each.read_bytes())
    assert leaks == []


def test_the_scan_finds_what_is_there(tmp_path: Path) -> None:
    planted = Planted()
    (tmp_path / "x").write_text(planted.of["OPENAI_API_KEY"])
    assert planted.leaks("x", (tmp_path / "x").read_bytes()) == ["OPENAI_API_KEY in x"]

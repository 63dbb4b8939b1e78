"""What compose.yaml would start is started as processes: nginx, two replicas, Redis and PostgreSQL; and one replica dies."""

import hashlib
import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
import yaml

from judge_service.database import open_database
from judge_service.settings import Settings

from fakes.provider import Provider, Request
from killed import WORD, document
from replica import Replica
from scripted import always, asked_step
from servers import Postgres, Redis, Server

ROOT = Path(__file__).parents[1]
NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)
KEY = "the-callers-key"
HEADERS = {"authorization": f"Bearer {KEY}"}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())


class Nginx(Server):
    """With the project's own configuration, in which addresses and folders are replaced."""

    def __init__(self, replicas: list[Replica]) -> None:
        super().__init__()
        text = (ROOT / "deploy" / "nginx.conf").read_text()
        for number, replica in enumerate(replicas, 1):
            text = text.replace(f"service-{number}:8262", f"127.0.0.1:{replica.port}")
        assert "service-" not in text
        text = text.replace("listen 8080", f"listen 127.0.0.1:{self.port}").replace("/tmp/", f"{self.folder}/")
        (self.folder / "nginx.conf").write_text(text)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        assert NGINX is not None
        return [NGINX, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), "-g", "daemon off;"]

    def answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/healthz").status_code == 200
        except httpx2.TransportError:
            return False


def latency(request: Request) -> float:
    """Of document 99, only the first step that is asked about gets an answer: the longest prompt, which goes first."""
    return 600.0 if f"{WORD}99 " in request.user and asked_step(request) != 3 else 0.3


@contextmanager
def cluster(folder: Path, provider: Provider, redis: Redis, ledger: str) -> Generator[tuple[Nginx, list[Replica]]]:
    environment = COMPOSE["services"]["service-1"]["environment"]
    keys = {"ann": {"sha256": hashlib.sha256(KEY.encode()).hexdigest(), "scopes": ["judge", "read"]}}
    own = {
        "api_keys": json.dumps(keys),
        "ledger_url": ledger,
        "cache_url": redis.url,
        "judge": "openai/fake",
        "judges": "{}",
        "api_base": provider.base_url,
    }
    rest = {name.removeprefix("STEPJUDGE_").lower(): value for name, value in environment.items()}
    replicas = [Replica(_made(folder / str(number)), {**rest, **own}) for number in (1, 2)]
    with replicas[0], replicas[1], Nginx(replicas) as nginx:
        assert isinstance(nginx, Nginx)
        yield nginx, replicas


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_two_replicas_behind_a_proxy_go_on_when_one_dies_and_when_one_is_told_to_stop(
    tmp_path: Path, redis_server: Redis, postgres_server: Postgres
) -> None:
    ledger = postgres_server.new_database()
    with (
        Provider(always("yes"), latency=latency, record=False) as provider,
        cluster(tmp_path, provider, redis_server, ledger) as (nginx, replicas),
        httpx2.Client(base_url=nginx.url, headers=HEADERS, timeout=60) as http,
        ThreadPoolExecutor(16) as pool,
    ):
        assert http.get("/metrics").status_code == 404

        def score(number: int) -> httpx2.Response:
            return http.post("/v1/score", json={"trace": document(number, 3)})

        streaming = {"accept": "application/x-ndjson"}
        with http.stream("POST", "/v1/score", json={"trace": document(0, 3)}, headers=streaming) as answer:
            types = [json.loads(line)["type"] for line in answer.iter_lines()]
        assert types == ["step", "step", "step", "scorecard"]
        with http.stream("POST", "/v1/score", json={"trace": document(99, 3)}, headers=streaming) as answer:
            first = json.loads(next(answer.iter_lines()))
        assert first["step"]["index"] == 3, "it came although the others never will: nothing is held back"
        provider.wait_until(lambda: provider.in_flight == 0, timeout=30)

        under_way = [pool.submit(score, number) for number in range(1, 17)]
        provider.wait_until(lambda: provider.in_flight >= 8, timeout=30)
        replicas[0].tell(signal.SIGKILL)
        replicas[0].wait()
        answers = [each.result() for each in under_way]
        assert [answer.status_code for answer in answers] == [200] * 16
        assert sum(answer.json()["undetermined"] for answer in answers) == 0

        again = [score(number).json() for number in range(17)]
        assert sum(card["requests"] for card in again) == 0, "the other replica remembers all of it"

        replicas[0].start()
        under_way = [pool.submit(score, number) for number in range(20, 36)]
        time.sleep(0.2)
        replicas[1].tell(signal.SIGTERM)
        assert [each.result().status_code for each in under_way] == [200] * 16
        assert replicas[1].wait() in (0, -signal.SIGTERM)
        paid = provider.count
        lines = [json.loads(line) for line in replicas[1].log.splitlines()]
        assert {each["key"] for each in lines if each.get("route") == "/v1/score"} == {"ann"}
    engine = open_database(ledger)
    with engine.connect() as connection:
        keys = connection.execute(sa.text("SELECT key, count(*) FROM verdicts GROUP BY key")).all()
    engine.dispose()
    assert len(keys) == 33 * 3 + 1
    assert paid <= 33 * 3 + 3 + 32, "twice at most what was in flight where one died"


def test_every_setting_that_the_composition_names_exists_and_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = {"ann": {"sha256": "a" * 64, "scopes": ["judge"]}}
    given = {"STEPJUDGE_API_KEYS": json.dumps(hashed), "POSTGRES_PASSWORD": "p"}
    for service in ("service-1", "service-2"):
        for name, value in COMPOSE["services"][service]["environment"].items():
            monkeypatch.setenv(name, _filled(str(value), given))
            assert name.removeprefix("STEPJUDGE_").lower() in Settings.model_fields
    settings = Settings()
    assert settings.judges == {}
    grace = float(COMPOSE["services"]["service-1"]["stop_grace_period"].removesuffix("s"))
    assert grace >= settings.grace_s + 20


def _filled(text: str, given: dict[str, str]) -> str:
    """As Compose fills in variables: `${NAME:?error}` and `${NAME:-otherwise}`."""
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: given[found[1]], text)
    return re.sub(r"\$\{(\w+):-((?:[^{}]|\{\})*)\}", lambda found: given.get(found[1], found[2]), text)


def test_the_composition_is_well_formed() -> None:
    services: dict[str, Any] = COMPOSE["services"]
    for name, service in services.items():
        assert service.keys() <= {
            "build", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image", "ports", "read_only",
            "restart", "security_opt", "shm_size", "stop_grace_period", "tmpfs", "user", "volumes",
        }  # fmt: skip
        assert set(service.get("depends_on", {})) <= services.keys(), name
        for other, condition in service.get("depends_on", {}).items():
            checked = "healthcheck" in services[other] or "HEALTHCHECK" in (ROOT / "Dockerfile").read_text()
            assert condition == {"condition": "service_healthy"}
            assert checked
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).exists()
        if name != "postgres":
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]


def test_the_image_runs_as_nobody_in_particular_from_locked_packages() -> None:
    text = (ROOT / "Dockerfile").read_text()
    stages = text.split("\nFROM ")
    assert len(stages) == 3
    assert re.search(r"^USER stepjudge$", stages[-1], re.MULTILINE)
    assert text.count("--require-hashes") == 2
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for source in copied.split():
            assert (ROOT / source).exists(), source
    lock = (ROOT / "requirements" / "service.lock").read_text()
    for package in ("redis", "psycopg-binary", "opentelemetry-sdk", "prometheus-client"):
        assert re.search(rf"^{package}==", lock, re.MULTILINE), package


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_nginx_takes_the_configuration(tmp_path: Path) -> None:
    text = (ROOT / "deploy" / "nginx.conf").read_text().replace("/tmp/", f"{tmp_path}/")
    (tmp_path / "nginx.conf").write_text(re.sub(r"service-\d", "127.0.0.1", text))
    assert NGINX is not None
    done = subprocess.run(
        [NGINX, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

"""The http check, against a real server on a loopback port."""

import gzip
import json
import os
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from checks.checking import checked, outcome

STATE = {"orders": [{"id": 1, "state": "refunded"}]}


class Service(BaseHTTPRequestHandler):
    """What an agent might have left running."""

    def do_GET(self) -> None:
        match self.path:
            case "/state":
                self._answer(200, json.dumps(STATE).encode())
            case "/headers":
                self._answer(200, json.dumps(dict(self.headers.items())).encode())
            case "/moved":
                self._answer(302, b"", Location="/state")
            case "/away":
                port = self.headers["Host"].rpartition(":")[2]
                self._answer(302, b"", Location=f"http://localhost:{port}/state")
            case "/circle":
                self._answer(302, b"", Location="/circle")
            case "/big":
                self._answer(200, b"x" * 100_000)
            case "/bomb":
                packed = gzip.compress(b"x" * 50_000_000)
                self._answer(200, packed, **{"Content-Encoding": "gzip"})
            case "/slow":
                self.send_response(200)
                self.end_headers()
                for _ in range(100):
                    time.sleep(0.1)
                    self.wfile.write(b"x")
            case "/broken":
                self.wfile.write(b"no http at all")
            case _:
                self._answer(404, b"nothing here")

    def do_POST(self) -> None:
        self._answer(200, self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


class Server(ThreadingHTTPServer):
    """One that does not print the broken pipes of clients that left."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address


@pytest.fixture(scope="module")
def service() -> Generator[str]:
    with Server(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("/state", {}, "pass"),
        ("/state", {"query": "$.orders[0].state", "value": {"equals": "refunded"}}, "pass"),
        ("/state", {"query": "$.orders[0].state", "value": {"equals": "open"}}, "fail"),
        ("/state", {"text": {"contains": "refunded"}}, "pass"),
        ("/state", {"status": [404, 500]}, "fail"),
        ("/absent", {}, "fail"),
        ("/absent", {"status": 404, "text": {"equals": "nothing here"}}, "pass"),
        ("/absent", {"status": None}, "pass"),
        ("/absent", {"status": 404, "value": {"exists": True}}, "fail"),
        ("/echo", {"method": "POST", "body": {"a": [1]}, "query": "$.a[0]", "value": {"equals": 1}}, "pass"),
        ("/headers", {"headers": {"X-Own": "1"}, "query": "$['X-Own']", "value": {"equals": "1"}}, "pass"),
        ("/moved", {"query": "$.orders[0].id", "value": {"equals": 1}}, "pass"),
        ("/moved", {"status": 302}, "pass"),
        ("/away", {}, "error"),
        ("/circle", {}, "error"),
        ("/big", {"max_bytes": 10_000}, "error"),
        ("/bomb", {"max_bytes": 1_000_000}, "error"),
        ("/slow", {"timeout_s": 1}, "error"),
        ("/broken", {}, "error"),
    ],
)
async def test_a_service_answers_as_it_must(service: str, path: str, fields: dict[str, Any], expected: str) -> None:
    result = await checked({"kind": "http", "url": service + path, **fields})
    assert result.outcome == expected, result
    assert "broke:" not in result.reason


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://[::1]:9/x", "http://localhost:9/x"])
async def test_a_service_that_is_not_there_is_an_error_unless_the_attempt_had_to_set_it_up(url: str) -> None:
    assert await outcome({"kind": "http", "url": url}) == "error"
    assert await outcome({"kind": "http", "url": url, "unreachable": "fail"}) == "fail"


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://0.0.0.0:9/", "http://127.0.0.1.example/"],
)
async def test_a_host_that_nobody_allowed_is_not_contacted(url: str) -> None:
    result = await checked({"kind": "http", "url": url, "unreachable": "fail", "timeout_s": 5})
    assert result.outcome == "error"
    assert "nobody allowed the checks to reach it" in result.reason


async def test_a_host_is_allowed_with_its_port_or_with_all(service: str) -> None:
    port = service.rpartition(":")[2]
    document = {"kind": "http", "url": f"http://0.0.0.0:{port}/state"}
    assert await outcome(document, hosts=frozenset({"0.0.0.0:1"})) == "error"
    assert await outcome(document, hosts=frozenset({f"0.0.0.0:{port}"})) == "pass"
    assert await outcome(document, hosts=frozenset({"0.0.0.0"})) == "pass"


async def test_no_proxy_of_the_environment_is_used(service: str) -> None:
    os.environ["HTTP_PROXY"] = "http://127.0.0.1:9"
    try:
        assert await outcome({"kind": "http", "url": f"{service}/state"}) == "pass"
    finally:
        del os.environ["HTTP_PROXY"]

"""Asking a judge service goes wrong in its own errors only, and no message of theirs tells a secret."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stepjudge.client import AsyncJudgeClient, JudgeClient
from stepjudge.errors import JudgeRefused, JudgeUnreachable, StepjudgeError, UnreadableTrace

from judged import SMALL

SECRET = "sk-very-secret"


class Odd(BaseHTTPRequestHandler):
    """Answers with what its path asks for: a redirect, bytes that are not the gzip they say, no JSON."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Not into the test's output."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        kind = self.path.split("/")[1]
        code, headers = {
            "redirect": (307, {"location": f"https://user:{SECRET}@elsewhere.example/v1/score"}),
            "gzip": (200, {"content-encoding": "gzip"}),
        }.get(kind, (200, {}))
        body = b"<html>hello</html>"
        self.send_response(code)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def odd() -> Iterator[str]:
    """`host:port` of a server that is no judge service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def deep(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


def circular() -> dict[str, Any]:
    document = dict(SMALL)
    document["messages"] = [*SMALL["messages"], document]
    return document


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({**SMALL, "at": [datetime(2026, 1, 1, tzinfo=UTC)]}, r"at\[0\]: is of type datetime, which is no JSON"),
        ({**SMALL, "at": {"x": object()}}, r"at\.x: is of type object"),
        ({**SMALL, "at": {1}}, "at: is of type set"),
        ({**SMALL, "at": b"x"}, "at: is of type bytes"),
        ({**SMALL, (1, 2): 1}, "a key is of type tuple"),
        (circular(), r"messages\[6\]: holds itself"),
        ({**SMALL, "at": deep(3_000)}, "levels deep"),
    ],
)
def test_a_document_that_is_no_json_is_unreadable_and_the_place_is_named(
    document: Any, says: str, tmp_path: Path
) -> None:
    for client in (
        JudgeClient("http://127.0.0.1:9"),
        JudgeClient.embedded(data_dir=tmp_path, judge="rules"),
    ):
        with client, pytest.raises(UnreadableTrace, match=says):
            client.score(document)


def test_lone_surrogates_and_numbers_that_are_none_are_read_as_before(tmp_path: Path) -> None:
    odd = {**SMALL, "at": float("nan"), "text": "\ud800"}
    with JudgeClient.embedded(data_dir=tmp_path, judge="rules") as client:
        assert len(client.score(odd).steps) == 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://{odd}/gzip", "no answer from http://{odd}/gzip"),
        ("http://{odd}/redirect", r"a redirect to https://elsewhere\.example: use that address"),
        ("http://{odd}/html", "no judge service"),
        ("http://user:{secret}@{odd}/html", "no judge service"),
        ("http://user:{secret}@127.0.0.1:9", "no answer from http://127.0.0.1:9"),
        ("http://user:{secret}@127.0.0.1:99999", "is no address of a service"),
        ("http://user:{secret}@[bad", "no answer from http://%5bbad"),
        ("ftp://user:{secret}@127.0.0.1", "is no address of a service"),
        ("127.0.0.1:8262", "is no address of a service"),
        ("http://" + "a" * 300, "no answer from http://aaa"),
    ],
)
async def test_what_is_no_service_is_unreachable_and_its_password_is_not_told(
    odd: str, url: str, says: str, stream: bool
) -> None:
    names = {"odd": odd, "secret": SECRET}
    with pytest.raises(JudgeUnreachable, match=says.format(**names)) as caught:
        async with AsyncJudgeClient(url.format(**names)) as client:
            await client.score(SMALL, on_step=(lambda _: None) if stream else None)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\x00", "ä", "\u202e"])
async def test_a_key_that_no_header_can_hold_is_refused_and_not_told(odd: str, end: str) -> None:
    with pytest.raises(StepjudgeError, match="key of the service") as caught:
        async with AsyncJudgeClient(f"http://{odd}/html", api_key=f"{SECRET}{end}x") as client:
            await client.score(SMALL)
    assert SECRET not in str(caught.value)
    assert not isinstance(caught.value, JudgeRefused)

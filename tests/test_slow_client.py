"""Clients that send or read slowly do not keep the service from others."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest
import uvicorn

from judge_service.app import create_app
from judge_service.listener import listener
from judge_service.settings import Settings

from killed import document
from servers import eventually

PATIENCE_S = 1.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[uvicorn.Server]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), patience_s=PATIENCE_S, max_connections=60, port=0)
    server = listener(create_app(settings), settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "it did not start"
        time.sleep(0.01)
    yield server
    server.should_exit = True
    thread.join()


@pytest.fixture
def address(server: uvicorn.Server) -> tuple[str, int]:
    return server.servers[0].sockets[0].getsockname()


def said(connection: socket.socket) -> bytes:
    """All that comes until the other side ends the connection."""
    connection.settimeout(30)
    pieces = list[bytes]()
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET /healthz HTT", b"HTTP/1.1 408"),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ", b"HTTP/1.1 408"),
        (b"POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{", b""),
    ],
)
def test_a_request_that_never_ends_is_ended(address: tuple[str, int], sent: bytes, answer: bytes) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(sent)
        assert said(connection)[: len(answer)] == answer


def test_one_that_drips_is_ended_too_and_one_that_is_merely_slow_is_served(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as dripping, socket.create_connection(address) as slow:
        dripping.sendall(b"POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n")
        body = json.dumps({"trace": document(1, 1), "rubric": "step", "format": None}).encode()
        body += b" " * (600_000 - len(body))
        slow.sendall(
            b"POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"connection: close\r\ncontent-length: 600000\r\n\r\n"
        )
        ended = False
        for start in range(0, len(body), 100_000):
            slow.sendall(body[start : start + 100_000])
            time.sleep(PATIENCE_S / 2)
            try:
                dripping.sendall(b" ")
            except ConnectionError:
                ended = True
        assert said(slow).startswith(b"HTTP/1.1 200")
        assert ended or said(dripping) == b""


def test_a_hundred_slow_clients_leave_room_for_others(address: tuple[str, int]) -> None:
    with contextlib.ExitStack() as many:
        for _ in range(100):
            connection = many.enter_context(socket.create_connection(address))
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"GET /healthz HTTP/1.1\r\nx-slow: ")
        patience = time.monotonic() + 30
        served = 0
        while not served and time.monotonic() < patience:
            with contextlib.suppress(httpx2.TransportError):
                served = httpx2.get(f"http://127.0.0.1:{address[1]}/healthz", timeout=5).status_code
        assert served == 200


def test_who_does_not_read_the_answer_is_let_go(server: uvicorn.Server, address: tuple[str, int]) -> None:
    """The answer is larger than all buffers between: the service waits for the reader, and then no more."""
    body = json.dumps({"trace": document(7, 2_000)}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(address)
        head = b"POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        connection.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        first = connection.recv(1_000)
        assert first.startswith(b"HTTP/1.1 200")
        length = int(first.lower().split(b"content-length: ")[1].split()[0])
        eventually(lambda: not server.server_state.connections, timeout_s=30)
        assert len(first + said(connection)) < length, "it was cut"


def test_a_quick_client_may_keep_its_connection(address: tuple[str, int]) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{address[1]}", timeout=60) as http:
        for _ in range(3):
            assert http.get("/healthz").status_code == 200
            time.sleep(PATIENCE_S * 1.3)

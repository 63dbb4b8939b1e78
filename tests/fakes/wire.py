"""A connection is one client's socket: it takes requests off it one at a time and puts answers back.

Only what HTTP/1.1 clients of model APIs use: keep-alive, Content-Length bodies, chunked answers for streams.
It is written by hand because a framework costs ten times what the fake's own work does.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD = 64 * 1024
_REASONS = {status.value: status.phrase for status in HTTPStatus} | {529: "Overloaded"}


@dataclass(frozen=True, slots=True)
class Head:
    method: str
    path: str
    headers: Mapping[str, str]


def parsed_head(raw: bytes) -> Head:
    """ValueError when it is not HTTP."""
    line, *fields = raw.decode("latin-1").split("\r\n")
    method, target, _version = line.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    return Head(method, target.partition("?")[0], headers)


def answer(status: int, body: bytes, headers: Mapping[str, str], content_type: str = "application/json") -> bytes:
    return _start(status, {"content-type": content_type, "content-length": str(len(body)), **headers}) + body


def streamed(events: Iterable[bytes], headers: Mapping[str, str]) -> bytes:
    start = _start(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **headers})
    return start + b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"


def _start(status: int, headers: Mapping[str, str]) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}\r\n{fields}\r\n".encode("latin-1")


class Connection(asyncio.Protocol):
    """`handle` is called with each whole request and must lead to one `send`, one `cut`, or wait for the client."""

    def __init__(self, handle: Callable[["Connection", Head, bytes], None], opened: set["Connection"]) -> None:
        self._handle = handle
        self._opened = opened
        self._buffer = bytearray()
        self._head: Head | None = None
        self._body_start = 0
        self._answering = False
        self._timer: asyncio.TimerHandle | None = None
        self.left: Callable[[], None] | None = None
        """Called if the client goes away before it was answered."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        self._opened.discard(self)
        if self._timer:
            self._timer.cancel()
        if self._answering and self.left:
            self.left()

    def after(self, seconds: float, give: Callable[[], None]) -> None:
        """Now, when there is nothing to wait for; never, when the client has left by then."""
        if seconds <= 0:
            give()
        else:
            self._timer = asyncio.get_running_loop().call_later(seconds, give)

    def send(self, response: bytes) -> None:
        self._answering = False
        self._transport.write(response)
        if self._head and self._head.headers.get("connection", "").lower() == "close":
            self._transport.close()
        self._head = None
        self._advance()

    def cut(self, fragment: bytes) -> None:
        self._answering = False
        self._transport.write(fragment)
        self._transport.close()

    def abort(self) -> None:
        self._answering = False
        self._transport.abort()

    def _advance(self) -> None:
        while not self._answering and not self._transport.is_closing():
            try:
                head = self._head or self._take_head()
                body = self._take_body(head) if head else None
            except ValueError:
                self.cut(answer(400, b'{"error":{"message":"not an HTTP request that is read here"}}', {}))
                return
            if head is None or body is None:
                return
            self._answering = True
            self._handle(self, head, body)

    def _take_head(self) -> Head | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD:
                raise ValueError("endless head")
            return None
        self._head = parsed_head(bytes(self._buffer[:end]))
        self._body_start = end + 4
        return self._head

    def _take_body(self, head: Head) -> bytes | None:
        if "transfer-encoding" in head.headers:
            raise ValueError("chunked requests are not read")
        end = self._body_start + int(head.headers.get("content-length", 0))
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[self._body_start : end])
        del self._buffer[:end]
        return body

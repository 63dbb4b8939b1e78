"""The in-process transport speaks to an ASGI app without a socket, and passes a streamed answer on as it is made."""

from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import anyio
import httpx2
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream

Asgi = Any
Message = MutableMapping[str, Any]


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Requests run as tasks of `group`, each until its answer is complete or closed."""

    def __init__(self, app: Asgi, state: dict[str, Any], group: TaskGroup) -> None:
        self._app = app
        self._state = state
        self._group = group

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(await request.aread())
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": ("127.0.0.1", 0),
            "root_path": "",
            "state": dict(self._state),
        }
        self._group.start_soon(exchange.run, self._app, scope)
        try:
            await exchange.started.wait()
        except BaseException:
            await exchange.aclose()  # a cancelled caller has left: the app must know, or it goes on and pays
            raise
        if exchange.failed is not None:
            raise exchange.failed
        return httpx2.Response(exchange.status, headers=exchange.headers, stream=exchange)


class _Exchange(httpx2.AsyncByteStream):
    """One request and the answer to it."""

    def __init__(self, body: bytes) -> None:
        self.started = anyio.Event()
        self.failed: Exception | None = None
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._body: bytes | None = body
        self._closed = anyio.Event()
        self._scope = anyio.CancelScope()
        self._send, self._chunks = anyio.create_memory_object_stream[bytes](100)

    async def run(self, app: Asgi, scope: dict[str, Any]) -> None:
        with self._scope:
            try:
                await app(scope, self._receive, self._take)
            except Exception as error:  # a bug of the app: it belongs to whoever asked, not to the task group
                self.failed = error
        self._send.close()
        self.started.set()

    async def aclose(self) -> None:
        """The caller wants no more: the app sees a client that went away."""
        self._closed.set()
        self._chunks.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks: MemoryObjectReceiveStream[bytes] = self._chunks
        async for chunk in chunks:
            yield chunk
        if self.failed is not None:
            raise self.failed

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._closed.wait()
        return {"type": "http.disconnect"}

    async def _take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", []))
            self.started.set()
            return
        if message.get("body") and not self._closed.is_set():
            try:
                await self._send.send(message["body"])
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
        if not message.get("more_body", False):
            self._send.close()

"""Draining ends a service in order: new requests are turned away, those under way finish, and late ones are cut.

What was paid for by then is stored before a request that is cut ends: a verdict is on its way to the ledger behind a
shield. Whoever asks again gets it from there.
"""

from collections.abc import Callable

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepjudge.contract import Broken
from stepjudge.errors import Problem

_ANSWERED_ALWAYS = ("/healthz", "/readyz", "/metrics")
_STORING_S = 20.0
"""What a request may take that was cut: as long as the ledger waits for its database, and a little."""

_STOPPING = Problem(
    title="The service is stopping",
    status=503,
    detail="ask again, another replica or this one after its restart: verdicts that have landed are stored",
)


class Drain:
    """Requests under way, and whether more are taken. For the tasks of one event loop."""

    def __init__(self) -> None:
        self.begun = False
        self._scopes: set[anyio.CancelScope] = set()

    @property
    def under_way(self) -> int:
        return len(self._scopes)

    def begin(self) -> None:
        """Take no more requests."""
        self.begun = True

    async def finish(self, grace_s: float, hurried: Callable[[], bool] = lambda: False) -> int:
        """Wait for the requests under way, for up to `grace_s` or until somebody is in a hurry; then cut them.

        Returns how many were cut.
        """
        with anyio.move_on_after(grace_s):
            while self._scopes and not hurried():  # noqa: ASYNC110  the hurry is a flag of uvicorn's
                await anyio.sleep(0.05)
        cut = tuple(self._scopes)
        for scope in cut:
            scope.cancel()
        with anyio.move_on_after(_STORING_S):
            while self._scopes and not hurried():  # noqa: ASYNC110  the hurry is a flag of uvicorn's
                await anyio.sleep(0.02)
        return len(cut)

    def enter(self, scope: anyio.CancelScope) -> None:
        self._scopes.add(scope)

    def leave(self, scope: anyio.CancelScope) -> None:
        self._scopes.discard(scope)


class Draining:
    """Counts requests, turns new ones away once draining has begun, and tells those that are cut."""

    def __init__(self, app: ASGIApp, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _ANSWERED_ALWAYS:
            await self._app(scope, receive, send)
        elif self._drain.begun:
            await _turned_away(scope, receive, send)
        else:
            await self._served(scope, receive, send)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(send)
        with anyio.CancelScope() as cut:
            self._drain.enter(cut)
            try:
                await self._app(scope, receive, answer)
            finally:
                self._drain.leave(cut)
        if cut.cancelled_caught and not answer.finished:
            await answer.cut(scope, receive)


class _Answer:
    """What was sent of an answer so far."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lines = False
        self.started = False
        self.finished = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self._lines = Headers(raw=list(message.get("headers", []))).get("content-type") == "application/x-ndjson"
        else:
            self.finished = not message.get("more_body", False)
        await self._send(message)

    async def cut(self, scope: Scope, receive: Receive) -> None:
        """Say why there is no more; an answer that is neither begun nor made of lines just breaks off."""
        if not self.started:
            await _turned_away(scope, receive, self._send)
        elif self._lines:
            line = Broken(problem=_STOPPING).model_dump_json().encode() + b"\n"
            await self._send({"type": "http.response.body", "body": line, "more_body": False})


async def _turned_away(scope: Scope, receive: Receive, send: Send) -> None:
    response = Response(_STOPPING.model_dump_json(), _STOPPING.status, media_type="application/problem+json")
    headers: MutableHeaders = response.headers
    headers["retry-after"] = "1"
    headers["connection"] = "close"
    await response(scope, receive, send)

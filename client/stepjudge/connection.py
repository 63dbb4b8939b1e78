"""A connection is how a client reaches its service: over HTTP, or without a socket to one in this process."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx2
from pydantic import ValidationError

from stepjudge.address import address, place, service_key
from stepjudge.errors import JudgeUnreachable, Problem
from stepjudge.inprocess import Asgi, InProcessTransport

EMBEDDED = "http://stepjudge.embedded"
NO_ANSWER = (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError)
"""What the way to a service may raise; a host's name that cannot be one is a UnicodeError."""


@asynccontextmanager
async def over_http(url: str, api_key: str | None, timeout_s: float) -> AsyncGenerator[httpx2.AsyncClient]:
    """Raises JudgeUnreachable for a url that is no address, and for a key that no header can hold."""
    base, key = address(url), service_key(api_key)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    timeout = httpx2.Timeout(timeout_s, connect=10.0)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
    async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=timeout, limits=limits) as http:
        yield http


@asynccontextmanager
async def embedded(settings: Mapping[str, Any]) -> AsyncGenerator[httpx2.AsyncClient]:
    raised: BaseException | None = None
    async with AsyncExitStack() as stack:
        app, state = await _started(settings, stack)
        group = await stack.enter_async_context(anyio.create_task_group())
        transport = InProcessTransport(app, state, group)
        async with httpx2.AsyncClient(base_url=EMBEDDED, transport=transport, timeout=None) as http:
            try:
                yield http
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                # the caller's own: a task group would wrap it, and the caller's `except` would miss it
                raised = error
        group.cancel_scope.cancel()
    if raised is not None:
        raise raised


async def _started(settings: Mapping[str, Any], stack: AsyncExitStack) -> tuple[Asgi, dict[str, Any]]:
    """The service, started, and its state. Raises JudgeUnreachable when it cannot start."""
    try:
        from judge_service.app import create_app
        from judge_service.errors import JudgeError
        from judge_service.settings import Settings
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("judge_service", "stepjudge") and "." in (error.name or ""):
            raise  # a broken installation of ours, which no further package mends
        raise JudgeUnreachable(
            f"the embedded service needs more packages ({error.name}): pip install 'stepjudge[service]'"
        ) from error
    # in one's own process there is nobody to protect from: any model may be named, and no key is asked for
    chosen: dict[str, Any] = {"any_model": True, "api_keys": {}, **settings}
    try:
        app = create_app(Settings(**chosen))
        return app, dict(await stack.enter_async_context(app.router.lifespan_context(app)) or {})
    except (JudgeError, ValueError, OSError) as error:
        raise JudgeUnreachable(f"the embedded service cannot start: {error}") from error


def problem(response: httpx2.Response) -> Problem:
    """The problem in the answer; one is made up when a proxy, or the limit on bodies, answered without one."""
    try:
        return Problem.model_validate_json(response.content)
    except ValidationError:
        return Problem(title=response.reason_phrase or "Error", status=response.status_code, detail=response.text[:500])


def unreachable(error: Exception, http: httpx2.AsyncClient) -> JudgeUnreachable:
    """Says what happened. Only what the network says is quoted: other errors quote what was sent, the key too."""
    about = str(error) if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError) else ""
    return JudgeUnreachable(f"no answer from {place(http.base_url)}: {about or type(error).__name__}")

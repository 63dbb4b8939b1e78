"""The gate lets a caller in: by a key with the right scope, or anybody where the service listens on loopback only."""

import hashlib
import hmac
import ipaddress
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from judge_service.errors import Forbidden, Unauthorized
from judge_service.limits import Limits
from judge_service.settings import ApiKey, Scope
from judge_service.visit import VISIT

EMBEDDED_HOST = "stepjudge.embedded"
"""What the in-process client calls the service; no network can carry a request to it."""


_KEY = HTTPBearer(scheme_name="key", auto_error=False, description="A key of this service, made with `stepjudge key`.")


class UnsafeAddress(Exception):
    """Without keys, the service is for this machine alone."""


def check_address(host: str, keys: Mapping[str, ApiKey]) -> None:
    """Raises UnsafeAddress when the address can be reached from elsewhere and there are no keys."""
    if not keys and not _loopback(host):
        raise UnsafeAddress(
            f"refusing to listen on {host!r} without API keys: anybody who reaches it could spend your money. "
            "Listen on 127.0.0.1, or make a key with `stepjudge key NAME` and set STEPJUDGE_API_KEYS."
        )


def holder(presented: str | None, keys: Mapping[str, ApiKey]) -> tuple[str, ApiKey] | None:
    """Whose key this is. Every stored hash is compared, each in constant time."""
    digest = hashlib.sha256((presented or "").encode()).hexdigest()
    now = datetime.now(UTC)
    found = None
    for name, key in keys.items():
        for sha256, not_after in ((key.sha256, key.not_after), (key.old_sha256 or "", key.old_not_after)):
            if hmac.compare_digest(digest, sha256) and (not_after is None or now < not_after):
                found = name, key
    return found


class LoopbackOnly:
    """Turns requests away that were meant for another host: without keys, a web page could otherwise speak to us.

    A page on the web can make its own name point at this machine (DNS rebinding); the Host header still tells.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _meant_for_us(scope):
            refused = Forbidden(
                "without API keys, this service answers to names of this machine only, such as 127.0.0.1"
            )
            body = refused.problem().model_dump_json()
            await Response(body, refused.status, media_type="application/problem+json")(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _meant_for_us(scope: AsgiScope) -> bool:
    host = Headers(scope=scope).get("host", "")
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return _loopback(name.strip("[]")) or name == EMBEDDED_HOST


def needs(scope: Scope) -> Callable[..., AsyncGenerator[None]]:
    """A dependency that refuses callers whose key lacks the scope, or has reached its limits; until the answer is out."""

    async def check(
        request: Request, _documented: Annotated[object, Security(_KEY, scopes=[scope])]
    ) -> AsyncGenerator[None]:
        keys = request.app.state.settings.api_keys
        if not keys:
            yield
            return
        kind, _, presented = request.headers.get("authorization", "").partition(" ")
        found = holder(presented.strip(), keys) if kind.lower() == "bearer" else None
        if found is None:
            raise Unauthorized("give a key of this service as `Authorization: Bearer …`")
        name, key = found
        if scope not in key.scopes and "admin" not in key.scopes:
            raise Forbidden(f"the key {name!r} lacks the scope {scope!r}")
        if visit := VISIT.get():
            visit.holder = name
        limits: Limits = request.state.limits
        async with limits.admitted(name, key) as purse:
            request.state.purse = purse
            yield

    return check


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

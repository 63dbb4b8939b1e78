"""The gate lets a caller in: by a key with the right scope, or anybody where the service listens on loopback only."""

import hashlib
import hmac
import ipaddress
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import Request

from judge_service.errors import Forbidden, Unauthorized
from judge_service.settings import ApiKey, Scope


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
    found = None
    for name, key in keys.items():
        if hmac.compare_digest(digest, key.sha256):
            found = name, key
    return found


def needs(scope: Scope) -> Callable[[Request], Coroutine[Any, Any, None]]:
    """A dependency that refuses callers whose key lacks the scope."""

    async def check(request: Request) -> None:
        keys = request.app.state.settings.api_keys
        if not keys:
            return
        kind, _, presented = request.headers.get("authorization", "").partition(" ")
        found = holder(presented.strip(), keys) if kind.lower() == "bearer" else None
        if found is None:
            raise Unauthorized("give a key of this service as `Authorization: Bearer …`")
        name, key = found
        if scope not in key.scopes and "admin" not in key.scopes:
            raise Forbidden(f"the key {name!r} lacks the scope {scope!r}")

    return check


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

"""A visitor is who looks at a page: the holder of a key who has signed in, or anybody where the service needs no keys.

The cookie names the key's holder and an end, under a MAC. Its secret is made of the ledger's own key, which replicas
share, and of the hash of the visitor's key: a key that is revoked or changed ends its sessions.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request

from judge_service.api.state import LedgerDep, SettingsDep
from judge_service.errors import Forbidden, JudgeError
from judge_service.limits import Limits
from judge_service.settings import ApiKey, Scope
from judge_service.visit import VISIT

SESSION = timedelta(hours=12)

_MOST_FORM_BYTES = 64 * 1024


class SignInNeeded(JudgeError):
    """Nobody has signed in, or the session is over."""

    status = 401
    title = "Sign in"


class ForgedForm(JudgeError):
    """The form does not come from a page of this service."""

    status = 403
    title = "Form refused"


@dataclass(frozen=True)
class Visitor:
    name: str | None
    """Of the key's holder; null where no keys are needed."""
    scopes: frozenset[Scope]
    form_token: str = field(repr=False)
    """What every form of this visitor must carry."""

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes


ANYBODY: frozenset[Scope] = frozenset({"read", "judge", "label", "admin"})


async def visitor(request: Request, settings: SettingsDep, ledger: LedgerDep) -> Visitor | None:
    """Who looks; null when nobody has signed in, and somebody must."""
    secret = _secret(ledger.fence_key)
    if not settings.api_keys:
        return Visitor(None, ANYBODY, anonymous_token(ledger.fence_key))
    cookie = request.cookies.get(cookie_name(request), "")
    found = _session(cookie, settings.api_keys, secret)
    if found is None:
        return None
    name, key = found
    return Visitor(name, frozenset(key.scopes), _mac(secret, "form", cookie))


VisitorOrNoneDep = Annotated[Visitor | None, Depends(visitor)]


def admits(scope: Scope) -> Callable[..., AsyncGenerator[Visitor]]:
    """A dependency that gives the visitor, if the key has the scope and is within its limits, until the page is out."""

    async def check(request: Request, who: VisitorOrNoneDep, settings: SettingsDep) -> AsyncGenerator[Visitor]:
        if who is None:
            raise SignInNeeded("sign in with a key of this service")
        if not who.may(scope):
            raise Forbidden(f"the key {who.name!r} lacks the scope {scope!r}")
        if who.name is None:
            yield who
            return
        if visit := VISIT.get():
            visit.holder = who.name
        limits: Limits = request.state.limits
        async with limits.admitted(who.name, settings.api_keys[who.name]) as purse:
            request.state.purse = purse
            yield who

    return check


ReaderDep = Annotated[Visitor, Depends(admits("read"))]
LabellerDep = Annotated[Visitor, Depends(admits("label"))]


async def form(request: Request, who: VisitorOrNoneDep, ledger: LedgerDep) -> dict[str, str]:
    """The fields of a form that one of our pages sent. Raises ForgedForm when another site may have sent it."""
    if not _same_origin(request):
        raise ForgedForm("the form was sent from another site")
    fields = await _fields(request)
    token = request.headers.get("x-form-token") or fields.pop("form_token", "")
    expected = who.form_token if who else anonymous_token(ledger.fence_key)
    if not hmac.compare_digest(token.encode(), expected.encode()):
        raise ForgedForm("the form is of another session: load the page again, and send it once more")
    return fields


FormDep = Annotated[dict[str, str], Depends(form)]


def cookie_name(request: Request) -> str:
    """Over TLS the browser itself holds the cookie to this host."""
    return "__Host-stepjudge" if request.url.scheme == "https" else "stepjudge"


def cookie(name: str, key_sha256: str, fence_key: str) -> str:
    """A session that begins now."""
    end = int((datetime.now(UTC) + SESSION).timestamp())
    body = f"{base64.urlsafe_b64encode(name.encode()).decode()}.{end}"
    return f"{body}.{_mac(_secret(fence_key), 'session', body, key_sha256)}"


def anonymous_token(fence_key: str) -> str:
    """The token of forms that nobody in particular sends. Other sites cannot read it."""
    return _mac(_secret(fence_key), "form")


def _session(cookie: str, keys: dict[str, ApiKey], secret: bytes) -> tuple[str, ApiKey] | None:
    body, _, mac = cookie.rpartition(".")
    encoded, _, end = body.partition(".")
    try:
        name = base64.urlsafe_b64decode(encoded.encode()).decode()
        over = datetime.fromtimestamp(int(end), UTC) < datetime.now(UTC)
    except (ValueError, binascii.Error, OverflowError, OSError):
        return None
    key = keys.get(name)
    if key is None or over:
        return None
    now = datetime.now(UTC)
    for sha256, not_after in ((key.sha256, key.not_after), (key.old_sha256, key.old_not_after)):
        valid = sha256 is not None and (not_after is None or now < not_after)
        if valid and hmac.compare_digest(mac.encode(), _mac(secret, "session", body, sha256 or "").encode()):
            return name, key
    return None


def _same_origin(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


async def _fields(request: Request) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        return {}
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_FORM_BYTES:
            raise ForgedForm(f"the form has more than {_MOST_FORM_BYTES} bytes")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=200))


def _secret(fence_key: str) -> bytes:
    return hmac.digest(bytes.fromhex(fence_key), b"stepjudge audit room", "sha256")


def _mac(secret: bytes, *parts: str) -> str:
    message = b"".join(hashlib.sha256(part.encode()).digest() for part in parts)
    return hmac.new(secret, message, "sha256").hexdigest()

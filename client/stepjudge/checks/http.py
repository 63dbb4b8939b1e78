"""The http check: what a service that the attempt set up or changed answers to one request."""

import ipaddress
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

import httpx2
from pydantic import BeforeValidator, Field, JsonValue, model_validator

from stepjudge.checks.check import CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import TextCondition, ValueCondition, shown
from stepjudge.checks.running.content import Malformed, read_content
from stepjudge.checks.running.query import Query, selected

MAX_REDIRECTS = 5


def _several(value: object) -> object:
    return (value,) if isinstance(value, int) else value


class Http(Check):
    """One request. It goes to this machine, or to a host that whoever runs the checks allowed, and nowhere else."""

    kind: Literal["http"] = "http"
    url: str = Field(max_length=8_000)
    method: Literal["GET", "HEAD", "POST"] = "GET"
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    body: JsonValue = None
    """Sent as JSON with POST."""
    status: Annotated[tuple[int, ...] | None, BeforeValidator(_several)] = (200,)
    """One or several; null: whichever."""
    text: TextCondition | None = None
    """Of the body."""
    query: Query = "$"
    value: ValueCondition | None = None
    """Of what the query selects in the body, which must then be JSON."""
    unreachable: Literal["error", "fail"] = "error"
    """What it means when nothing listens there: `fail` where the attempt had to set the service up."""
    max_bytes: int = Field(default=8 * 2**20, gt=0, le=2**30)
    timeout_s: float = Field(default=30, gt=0, le=86_400)

    @model_validator(mode="after")
    def _is_a_web_address(self) -> Self:
        _origin(self.url)
        if self.body is not None and self.method != "POST":
            raise ValueError("body: only with POST")
        return self

    async def run(self, scene: Scene) -> Finding:
        try:
            status, body = await self._answer(scene.hosts)
        except httpx2.ConnectError as error:
            return Finding(outcome=self.unreachable, reason=f"{self.url} cannot be reached: {error}")
        except httpx2.HTTPError as error:
            raise CannotCheck(f"{self.url} gave no whole answer: {type(error).__name__}: {error}") from error
        return await in_thread(lambda clock: self._found(status, body.decode("utf-8", "replace"), clock))

    async def _answer(self, hosts: frozenset[str]) -> tuple[int, bytes]:
        url = self.url
        # `trust_env` off: a proxy, or a password from a netrc file, would go along to whatever the suite names.
        async with httpx2.AsyncClient(trust_env=False, timeout=self.timeout_s) as client:
            for _ in range(MAX_REDIRECTS):
                _refuse_foreign(url, hosts)
                async with client.stream(self.method, url, headers=self._headers(), json=self.body) as answer:
                    target = answer.headers.get("location") if answer.is_redirect and self._follows(answer) else None
                    if target is None:
                        return answer.status_code, await self._body(answer)
                    following = str(answer.url.join(target))
                    if _origin(following) != _origin(self.url):
                        raise CannotCheck(f"{url} redirects elsewhere, to {following}, which is not followed")
                    url = following
        raise CannotCheck(f"{self.url} redirects more than {MAX_REDIRECTS} times")

    def _headers(self) -> dict[str, str]:
        return {"accept-encoding": "identity", **self.headers}

    def _follows(self, answer: httpx2.Response) -> bool:
        return self.method != "POST" and (self.status is None or answer.status_code not in self.status)

    async def _body(self, answer: httpx2.Response) -> bytes:
        body = bytearray()
        async for chunk in answer.aiter_bytes(65_536):
            body += chunk
            if len(body) > self.max_bytes:
                raise CannotCheck(f"{self.url} answers with more than {self.max_bytes:,} bytes")
        return bytes(body)

    def _found(self, status: int, body: str, clock: Clock) -> Finding:
        unmet: list[str] = []
        evidence = [CheckEvidence.of("status", str(status)), CheckEvidence.of("body", body)]
        if self.status is not None and status not in self.status:
            unmet.append(f"answers {status}")
        if self.text is not None:
            unmet += [f"answers with a body that {each}" for each in self.text.unmet(body, clock)]
        if self.value is not None:
            try:
                values = selected(self.query, read_content(body, "json"), clock)
            except Malformed as error:
                unmet.append(f"answers with {error}")
            else:
                evidence.append(CheckEvidence.of(f"body {self.query}", "\n".join(map(shown, values[:50]))))
                unmet += [f"at {self.query}: {each}" for each in self.value.unmet(values, clock)]
        reason = f"{self.method} {self.url} {'; '.join(unmet) or f'answers {status}, as it must'}"
        return Finding(outcome="fail" if unmet else "pass", reason=reason, evidence=tuple(evidence))


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no web address such as http://127.0.0.1:8000/orders")
    return parts.scheme, parts.hostname.lower(), parts.port or (443 if parts.scheme == "https" else 80)


def _refuse_foreign(url: str, hosts: frozenset[str]) -> None:
    _, host, port = _origin(url)
    if not (_is_loopback(host) or host in hosts or f"{host}:{port}" in hosts):
        raise CannotCheck(f"{host}:{port} is not on this machine, and nobody allowed the checks to reach it")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

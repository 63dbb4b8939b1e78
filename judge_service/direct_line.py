"""The direct line: one pooled HTTP client to an endpoint that speaks OpenAI's chat completions, and nothing between.

It costs a tenth of litellm's processor time for each request, and litellm's import (seconds) is never paid.
"""
# pyright: basic

import json
import os
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
import anyio
import certifi
import orjson
from yarl import URL

from judge_service.confidence import Token
from judge_service.line import Asking, Said, Used
from judge_service.model_name import provider
from judge_service.model_settings import ModelSettings
from judge_service.terms import Terms, held_to

OPENAI = "https://api.openai.com/v1"
SPEAK_IT = frozenset(("openai", "hosted_vllm", "openai_like", "custom_openai", "lm_studio", "llamafile"))
"""Providers whose API is OpenAI's chat completions, at an address that is known."""

_LONGEST_ANSWER = 32 * 2**20
_LONGEST_OBJECTION = 4_000


class HTTPStatusError(Exception):
    """The provider answered with an error."""

    def __init__(self, status: int, said: str, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(f"{status}: {said}")
        self.status_code = status
        self.body = body
        self.response = self
        self.headers = headers


class MissingKey(ValueError):
    """No key is set for a provider that asks for one."""


class UnreadableAnswer(Exception):
    """A status of 200, and no completion behind it."""


class Wire:
    """The pooled HTTP client that all direct lines of a service share; it opens with the first request."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            context = ssl.create_default_context()
            context.load_verify_locations(certifi.where())
            self._session = aiohttp.ClientSession(
                # how many are under way at once is the limiter's decision
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ssl=context),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=True,  # proxies
                auto_decompress=True,
            )
        return self._session

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def reaches(settings: ModelSettings, at: tuple[str, ...]) -> bool:
    """Whether the direct line can carry these requests: the protocol is OpenAI's, and there is one address for them."""
    whose = provider(settings.model)
    return whose in SPEAK_IT and len(at) <= 1 and (bool(at) or whose == "openai")


class DirectLine:
    """Requests to one address."""

    def __init__(self, settings: ModelSettings, at: tuple[str, ...], wire: Wire) -> None:
        base = settings.api_base or (at[0] if at else OPENAI)
        self._settings = settings
        self._wire = wire
        self._at = at
        self._url = URL(base.rstrip("/") + "/chat/completions", encoded=True)
        secret = key_of(settings)
        self._lacks_key = secret is None and not settings.api_base and provider(settings.model) == "openai"
        self._headers = {
            "authorization": f"Bearer {secret or 'none'}",
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": "stepjudge",
        }
        self._timeout = aiohttp.ClientTimeout(total=settings.timeout_s)

    async def terms(self) -> Terms:
        return Terms("json_schema", ())

    async def send(self, asking: Asking) -> Said:
        if self._lacks_key:
            raise MissingKey(f"no key for {self._settings.model}: set OPENAI_API_KEY, or the judge's api_key")
        written = json.dumps(body(self._settings, self._at, asking)).encode()
        with anyio.fail_after(self._settings.timeout_s + 5):
            async with self._wire.session().post(
                self._url, data=written, headers=self._headers, timeout=self._timeout, allow_redirects=False
            ) as response:
                raw = await read_all(response, _LONGEST_ANSWER)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status != 200:
            raise refused(response.status, raw, headers)
        return said_in(raw, asking.terms, headers)


def key_of(settings: ModelSettings) -> str | None:
    """A key from the environment belongs to the provider, not to whoever listens at an address of ours."""
    if settings.api_key:
        return settings.api_key.get_secret_value().strip()
    if settings.api_base or provider(settings.model) != "openai":
        return None
    return os.environ.get("OPENAI_API_KEY", "").strip() or None


def body(settings: ModelSettings, at: tuple[str, ...], asking: Asking) -> dict[str, Any]:
    """A request as OpenAI's chat completions take it."""
    base = settings.api_base or (at[0] if at else OPENAI)
    return {
        "model": settings.model.partition("/")[2],
        "messages": asking.messages,
        "max_completion_tokens" if base == OPENAI else "max_tokens": asking.limit,
        **settings.optional(asking.terms.dropped),
        **held_to(asking.schema, asking.terms.mode),
    }


async def read_all(response: aiohttp.ClientResponse, longest: int) -> bytes:
    """The body, which may have so many bytes. Raises UnreadableAnswer."""
    found = bytearray()
    async for piece in response.content.iter_any():
        found += piece
        if len(found) > longest:
            raise UnreadableAnswer(f"the provider's answer is longer than {longest} bytes")
    return bytes(found)


def refused(status: int, raw: bytes, headers: Mapping[str, str]) -> HTTPStatusError:
    """The error behind an answer with another status than 200."""
    try:
        document: Any = json.loads(raw)
    except (ValueError, RecursionError):
        document = None
    error = document.get("error", document) if isinstance(document, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    words = said if isinstance(said, str) else raw.decode(errors="replace")
    return HTTPStatusError(status, words[:_LONGEST_OBJECTION], error, headers)


def said_in(raw: bytes, terms: Terms, headers: Mapping[str, str]) -> Said:
    """Raises UnreadableAnswer where this is no chat completion."""
    try:
        document = _parsed(raw)
        choice = document["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        if terms.mode == "tool" and message.get("tool_calls"):
            text = message["tool_calls"][0]["function"].get("arguments") or ""
        usage = document.get("usage") or {}
        return Said(
            text=_text(text),
            finish_reason=_text(choice.get("finish_reason") or ""),
            refusal=message.get("refusal") or None,
            model=document.get("model"),
            used=Used(
                _count(usage.get("prompt_tokens")),
                _count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
                _count(usage.get("completion_tokens")),
            ),
            tokens=_tokens(choice),
            headers=headers,
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise UnreadableAnswer(f"the provider's answer is no chat completion: {error!r}"[:300]) from error


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        return json.loads(raw)  # a lone surrogate in a reply is no reason to lose it


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was expected, not {type(value).__name__}")
    return value


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tokens(choice: dict[str, Any]) -> tuple[Token, ...]:
    """The tokens with their probabilities; none where what stands there is something else."""
    try:
        content = (choice.get("logprobs") or {}).get("content") or ()
        tokens = [Token(_text(each["token"]), float(each["logprob"]), _Others(each)) for each in content]
    except (TypeError, KeyError, AttributeError, ValueError):
        return ()
    return tuple(tokens)


class _Others:
    """A token's alternatives, read when somebody looks: of a reply's tokens, few spell an answer."""

    def __init__(self, token: dict[str, Any]) -> None:
        self._token = token

    def __iter__(self) -> Iterator[tuple[str, float]]:
        for other in self._token.get("top_logprobs") or ():
            if isinstance(other, dict) and isinstance(other.get("token"), str):
                logprob = other.get("logprob")
                if isinstance(logprob, int | float):
                    yield other["token"], logprob

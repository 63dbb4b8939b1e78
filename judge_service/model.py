"""A model is asked with messages and a JSON Schema, and gives a completion or says why there is none.

This module alone knows litellm and tenacity. All retrying happens here.
"""
# pyright: basic

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import anyio
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from judge_service import provider_error
from judge_service.confidence import Token
from judge_service.endpoint import addresses, has_no_address
from judge_service.model_settings import ModelSettings
from judge_service.price import Price
from judge_service.prompt import Prompt
from judge_service.secret import secrets
from judge_service.terms import OPTIONAL, Mode, Terms, held_to
from stepjudge.value import JsonObject
from stepjudge.verdict import Cause


@dataclass(frozen=True)
class Completion:
    """One reply of a model, and what it took."""

    text: str
    finish_reason: str
    refusal: str | None
    mode: Mode
    dropped: tuple[str, ...]
    """Parameters that the provider did not take."""
    model: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    latency_s: float
    attempts: int
    perhaps_billed: int
    """Tries before this reply that the provider may have charged for, although their replies never came."""
    tokens: tuple[Token, ...]
    """Token probabilities, where the provider tells them."""


class ModelUnavailable(Exception):
    """No completion, and whether that may pass. The message holds no secret, no path and no traceback."""

    def __init__(self, message: str, *, cause: Cause, attempts: int, perhaps_billed: int = 0) -> None:
        super().__init__(message)
        self.cause: Cause = cause
        self.attempts = attempts
        self.perhaps_billed = perhaps_billed
        """Tries that the provider may have charged for: they ran out of time, or their connection broke."""


class Model(Protocol):
    """What a judge needs of a model."""

    @property
    def reply_limit(self) -> int:
        """Most tokens that a usual reply may have."""
        ...

    async def complete(
        self, prompt: Prompt, said: Sequence[tuple[str, str]], schema: JsonObject, limit: int
    ) -> Completion:
        """Ask with the prompt, followed by earlier (reply, objection) pairs, for a reply of up to `limit` tokens.

        Raises ModelUnavailable.
        """
        ...

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """USD at the listed price, without discount for cached tokens; null when the price is not known."""
        ...


class LitellmModel:
    """Any model that litellm reaches. It remembers what a provider turned down, once the request went through without.

    What is conceded to an error that another request does not meet is forgotten with the request that failed.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._at = addresses(settings.model, settings.api_base, os.environ)
        self._specification = settings.specification(os.environ)
        self._price = Price(settings, self._at, _litellm)
        self._terms: Terms | None = None
        self.reply_limit = settings.max_tokens

    def specification(self) -> JsonObject:
        """What its answers depend on, as it was when the model was made."""
        return self._specification

    async def complete(
        self, prompt: Prompt, said: Sequence[tuple[str, str]], schema: JsonObject, limit: int
    ) -> Completion:
        if has_no_address(self._settings.model, self._at):
            reason = f"{self._settings.model!r} is on nobody's server: api_base is not set"
            raise ModelUnavailable(reason, cause="rejected", attempts=0)
        litellm = await anyio.to_thread.run_sync(_litellm)
        if self._terms is None:
            self._terms = _supported(litellm, self._settings.model)
        terms = self._terms
        conversation = messages(self._settings.model, prompt, said)
        tries = _Tries()
        while True:
            started = time.perf_counter()
            try:
                response = await self._persist(litellm, self._request(conversation, schema, terms, limit), tries)
            except Exception as error:
                # litellm raises whatever its providers, their SDKs and its own gaps raise: none of it is ours
                conceded = terms.after(str(error)) if provider_error.cause(error) == "rejected" else None
                if conceded is None:
                    raise self._unavailable(error, tries) from error
                terms = conceded
                continue
            self._terms = self._terms.joined(terms)
            return _completion(response, self._price, terms, time.perf_counter() - started, tries)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        return self._price.of(prompt_tokens, completion_tokens)

    def _unavailable(self, error: Exception, tries: "_Tries") -> ModelUnavailable:
        known = secrets(_secret(self._settings.api_key), os.environ)
        return ModelUnavailable(
            provider_error.words(error, known),
            cause=provider_error.cause(error),
            attempts=tries.count,
            perhaps_billed=tries.perhaps_billed,
        )

    def _request(self, messages: list[Any], schema: JsonObject, terms: Terms, limit: int) -> dict[str, Any]:
        settings = self._settings
        optional = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": settings.seed,
            "logprobs": True if settings.logprobs else None,
            "top_logprobs": 5 if settings.logprobs else None,
        }
        request: dict[str, Any] = {
            "model": settings.model,
            "messages": messages,
            "max_tokens": limit,
            "timeout": settings.timeout_s,
            # litellm and the SDK below it would retry behind our back
            "num_retries": 0,
            "max_retries": 0,
            **{key: value for key, value in optional.items() if value is not None and key not in terms.dropped},
            **held_to(schema, terms.mode),
        }
        if settings.api_base:
            # a key from the environment belongs to the provider, not to whoever listens at this address
            request |= {"api_base": settings.api_base, "api_key": _secret(settings.api_key) or "none"}
        elif settings.api_key:
            request["api_key"] = _secret(settings.api_key)
        return request

    async def _persist(self, litellm: Any, request: dict[str, Any], tries: "_Tries") -> Any:
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(self._settings.attempts),
            wait=self._wait,
            sleep=anyio.sleep,
            reraise=True,
        ):
            with attempt, tries.another():
                with anyio.fail_after(self._settings.timeout_s + 5):
                    return await litellm.acompletion(**request)
        raise AssertionError("tenacity either returns or raises")

    def _may_pass(self, error: BaseException) -> bool:
        return provider_error.transient(error) and (provider_error.retry_after(error) or 0) <= self._settings.max_wait_s

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = provider_error.retry_after(error) if error else None
        backoff = wait_random_exponential(multiplier=0.25, max=self._settings.max_wait_s)(state)
        return backoff if asked is None else asked + min(backoff, 0.25)


class _Tries:
    """Counts the tries of one request."""

    def __init__(self) -> None:
        self.count = 0
        self.perhaps_billed = 0

    @contextmanager
    def another(self) -> Iterator[None]:
        self.count += 1
        try:
            yield
        except Exception as error:
            self.perhaps_billed += provider_error.perhaps_billed(error)
            raise


@cache
def _litellm() -> Any:
    """litellm, imported late (seconds) and kept from fetching price lists and beta headers over the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    import litellm

    litellm.suppress_debug_info = True
    return litellm


def _supported(litellm: Any, model: str) -> Terms:
    """The strictest mode litellm can pass on to this provider, and what it cannot. Unknown models get everything."""
    try:
        known = litellm.get_supported_openai_params(model) or []
    except Exception:  # litellm raises bare exceptions for a model whose provider it cannot tell; the call will say so
        known = []
    if not known:
        return Terms("json_schema", ())
    dropped = tuple(name for name in OPTIONAL if name not in known)
    if "response_format" in known:
        return Terms("json_schema", dropped)
    return Terms("tool" if "tools" in known else "text", dropped)


def messages(model: str, prompt: Prompt, said: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """System, trace and question, then the conversation about replies that were not accepted.

    Anthropic caches up to marked blocks; others cache prefixes by themselves and some choke on a `cache_control` key.
    """
    if re.search(r"anthropic|claude", model):
        marked = {"cache_control": {"type": "ephemeral"}}
        blocks: list[dict[str, Any]] = [{"type": "text", "text": block} for block in prompt.blocks]
        blocks[-1] |= marked
        system: Any = [{"type": "text", "text": prompt.system, **marked}]
        user: Any = [*blocks, {"type": "text", "text": prompt.question}]
    else:
        system, user = prompt.system, prompt.user
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    for reply, objection in said:
        messages += [{"role": "assistant", "content": reply or "(nothing)"}, {"role": "user", "content": objection}]
    return messages


def _completion(response: Any, price: Price, terms: Terms, latency_s: float, tries: _Tries) -> Completion:
    choice = response.choices[0]
    message = choice.message
    text = message.content or ""
    if terms.mode == "tool" and message.tool_calls:
        text = message.tool_calls[0].function.arguments or ""
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    return Completion(
        text=text,
        finish_reason=choice.finish_reason or "",
        refusal=getattr(message, "refusal", None),
        mode=terms.mode,
        dropped=terms.dropped,
        model=response.model,
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        cached_tokens=getattr(details, "cached_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        cost_usd=price.charged(response),
        latency_s=latency_s,
        attempts=tries.count,
        perhaps_billed=tries.perhaps_billed,
        tokens=_tokens(choice),
    )


def _tokens(choice: Any) -> tuple[Token, ...]:
    content = getattr(getattr(choice, "logprobs", None), "content", None) or []
    return tuple(
        Token(item.token, item.logprob, tuple((other.token, other.logprob) for other in item.top_logprobs or []))
        for item in content
    )


def _secret(key: SecretStr | None) -> str | None:
    return key.get_secret_value() if key else None

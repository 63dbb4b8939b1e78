"""A model is asked with messages and a JSON Schema, and gives a completion or says why there is none.

This module alone knows litellm, tenacity and what providers reject. All retrying happens here.
"""
# pyright: basic

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Literal, Protocol

import anyio
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from judge_service.confidence import Token
from judge_service.prompt import Prompt
from stepjudge.value import JsonObject, Value
from stepjudge.verdict import Cause

Mode = Literal["json_schema", "tool", "json_object", "text"]
"""How the model is held to the reply's shape, from the strictest to a mere request."""

_MODES: tuple[Mode, ...] = ("json_schema", "tool", "json_object", "text")
_TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_OPTIONAL = ("temperature", "seed", "top_p", "top_logprobs", "logprobs")
_TOOL = "answer"


class ModelSettings(Value):
    """Which model, where, and with which sampling parameters."""

    model: str
    """Any litellm name, such as `openai/gpt-5.2` or `anthropic/claude-sonnet-5`."""
    api_base: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int = 4_096
    """Limit of one reply."""
    logprobs: bool = True
    """Ask for token probabilities where the provider has them; they become the confidence of answers."""
    timeout_s: float = 120.0
    attempts: int = 5
    """Tries of one request, for failures that may pass."""
    max_wait_s: float = 60.0
    """Longest wait between two tries. A provider that asks for longer is taken at its word: no verdict."""
    input_cost_per_token: float | None = None
    """In USD, for a model that the bundled price list does not know."""
    output_cost_per_token: float | None = None

    def specification(self) -> JsonObject:
        """What an answer depends on: no key, and nothing about waiting."""
        return self.model_dump(mode="json", include={"model", "api_base", "temperature", "top_p", "seed", "max_tokens"})


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
    tokens: tuple[Token, ...]
    """Token probabilities, where the provider tells them."""


class ModelUnavailable(Exception):
    """No completion, and whether that may pass."""

    def __init__(self, message: str, *, cause: Cause, attempts: int) -> None:
        super().__init__(message)
        self.cause: Cause = cause
        self.attempts = attempts


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
    """Any model that litellm reaches. It remembers which mode and parameters the provider turned down."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._mode: Mode | None = None
        self._dropped: tuple[str, ...] = ()
        self.reply_limit = settings.max_tokens

    async def complete(
        self, prompt: Prompt, said: Sequence[tuple[str, str]], schema: JsonObject, limit: int
    ) -> Completion:
        litellm = await anyio.to_thread.run_sync(_litellm)
        if self._mode is None:
            self._mode, self._dropped = _supported(litellm, self._settings.model)
        conversation = messages(self._settings.model, prompt, said)
        attempts = 0
        while True:
            started = time.perf_counter()
            mode, dropped = self._mode, self._dropped
            request = self._request(conversation, schema, mode, dropped, limit)
            try:
                response, tries = await self._persist(litellm, request)
            except ModelUnavailable as error:
                attempts += error.attempts
                if not self._concede(mode, dropped, error):
                    raise ModelUnavailable(str(error), cause=error.cause, attempts=attempts) from error
                continue
            return _completion(response, self, mode, dropped, time.perf_counter() - started, attempts + tries)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        per_token = self._prices()
        return None if per_token is None else prompt_tokens * per_token[0] + completion_tokens * per_token[1]

    def _prices(self) -> tuple[float, float] | None:
        given, taken = self._settings.input_cost_per_token, self._settings.output_cost_per_token
        if given is not None and taken is not None:
            return given, taken
        if self._settings.api_base:
            return None  # a name on somebody's own server says nothing about money
        try:
            info = _litellm().get_model_info(self._settings.model)
        except Exception:  # litellm raises a bare Exception for a model that is not in its list
            return None
        return (info.get("input_cost_per_token") or 0.0, info.get("output_cost_per_token") or 0.0)

    def _request(
        self, messages: list[Any], schema: JsonObject, mode: Mode, dropped: Sequence[str], limit: int
    ) -> dict[str, Any]:
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
            **{key: value for key, value in optional.items() if value is not None and key not in dropped},
            **_held_to(schema, mode),
        }
        if settings.api_base:
            # a key from the environment belongs to the provider, not to whoever listens at this address
            request |= {"api_base": settings.api_base, "api_key": _secret(settings.api_key) or "none"}
        elif settings.api_key:
            request["api_key"] = _secret(settings.api_key)
        return request

    async def _persist(self, litellm: Any, request: dict[str, Any]) -> tuple[Any, int]:
        tries = 0
        try:
            async for attempt in AsyncRetrying(
                retry=retry_if_exception(self._may_pass),
                stop=stop_after_attempt(self._settings.attempts),
                wait=self._wait,
                sleep=anyio.sleep,
                reraise=True,
            ):
                with attempt:
                    tries += 1
                    with anyio.fail_after(self._settings.timeout_s + 5):
                        return await litellm.acompletion(**request), tries
        except Exception as error:
            if not _from_provider(litellm, error):
                raise
            raise ModelUnavailable(_words(error), cause=_cause(error), attempts=tries) from error
        raise AssertionError("tenacity either returns or raises")

    def _may_pass(self, error: BaseException) -> bool:
        return _transient(error) and (_retry_after(error) or 0) <= self._settings.max_wait_s

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = _retry_after(error) if error else None
        backoff = wait_random_exponential(multiplier=0.25, max=self._settings.max_wait_s)(state)
        return backoff if asked is None else asked + min(backoff, 0.25)

    def _concede(self, mode: Mode, dropped: tuple[str, ...], error: ModelUnavailable) -> bool:
        """Give up a parameter that the provider turned down by name, or hold it to the shape less strictly."""
        if error.cause != "rejected":
            return False
        if (mode, dropped) != (self._mode, self._dropped):
            return True  # another request has conceded meanwhile: try what it left
        text = str(error).lower()
        for name in _OPTIONAL:
            if name not in dropped and re.search(rf"\b{name}\b", text):
                extra = ("top_logprobs",) if name == "logprobs" else ()
                self._dropped = (*dropped, name, *extra)
                return True
        names_mode = {
            "json_schema": r"response_format|schema|output_format|structured",
            "tool": r"tool",
            "json_object": r"response_format|json",
        }
        if mode in names_mode and re.search(names_mode[mode], text):
            self._mode = _MODES[_MODES.index(mode) + 1]
            return True
        return False


@cache
def _litellm() -> Any:
    """litellm, imported late (seconds) and kept from fetching price lists and beta headers over the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    import litellm

    litellm.suppress_debug_info = True
    return litellm


def _supported(litellm: Any, model: str) -> tuple[Mode, tuple[str, ...]]:
    """The strictest mode litellm can pass on to this provider, and what it cannot. Unknown models get everything."""
    try:
        known = litellm.get_supported_openai_params(model) or []
    except Exception:  # litellm raises bare exceptions for a model whose provider it cannot tell; the call will say so
        known = []
    if not known:
        return "json_schema", ()
    dropped = tuple(name for name in _OPTIONAL if name not in known)
    if "response_format" in known:
        return "json_schema", dropped
    return ("tool" if "tools" in known else "text"), dropped


def _held_to(schema: JsonObject, mode: Mode) -> dict[str, Any]:
    match mode:
        case "json_schema":
            form = {"name": _TOOL, "schema": schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": form}}
        case "tool":
            function = {"name": _TOOL, "description": "Gives the answers.", "parameters": schema}
            return {
                "tools": [{"type": "function", "function": function}],
                "tool_choice": {"type": "function", "function": {"name": _TOOL}},
            }
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case "text":
            return {}


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


def _completion(
    response: Any, model: LitellmModel, mode: Mode, dropped: tuple[str, ...], latency_s: float, attempts: int
) -> Completion:
    choice = response.choices[0]
    message = choice.message
    text = message.content or ""
    if mode == "tool" and message.tool_calls:
        text = message.tool_calls[0].function.arguments or ""
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    return Completion(
        text=text,
        finish_reason=choice.finish_reason or "",
        refusal=getattr(message, "refusal", None),
        mode=mode,
        dropped=dropped,
        model=response.model,
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        cached_tokens=getattr(details, "cached_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        cost_usd=_cost(response, model, usage),
        latency_s=latency_s,
        attempts=attempts,
        tokens=_tokens(choice),
    )


def _cost(response: Any, model: LitellmModel, usage: Any) -> float | None:
    """litellm's figure knows cached tokens, but is made up where we hold that the price is not known."""
    prices = model._prices()
    if prices is None or usage is None:
        return None
    listed = response._hidden_params.get("response_cost")
    own = model._settings.input_cost_per_token is not None
    return listed if listed and not own else usage.prompt_tokens * prices[0] + usage.completion_tokens * prices[1]


def _tokens(choice: Any) -> tuple[Token, ...]:
    content = getattr(getattr(choice, "logprobs", None), "content", None) or []
    return tuple(
        Token(item.token, item.logprob, tuple((other.token, other.logprob) for other in item.top_logprobs or []))
        for item in content
    )


def _from_provider(litellm: Any, error: BaseException) -> bool:
    """Provider errors derive from openai.APIError; litellm adds bare ones for parameters and unknown providers."""
    import openai

    return isinstance(error, (openai.APIError, TimeoutError, litellm.exceptions.BudgetExceededError))


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _transient(error: BaseException) -> bool:
    if isinstance(error, TimeoutError):
        return True
    if "insufficient_quota" in _codes(error):
        return False  # a 429 that no waiting mends
    status = _status(error)
    return status in _TRANSIENT or (status is None and _named(error, "APIConnectionError", "APIError"))


def _cause(error: BaseException) -> Cause:
    if _named(error, "ContextWindowExceededError") or "context_length_exceeded" in _codes(error):
        return "context_too_long"
    if _named(error, "ContentPolicyViolationError") or "content_filter" in _codes(error):
        return "content_filter"
    return "provider" if _transient(error) else "rejected"


def _codes(error: BaseException) -> tuple[str, ...]:
    """The provider's own words for the kind of error, which litellm does not always turn into a class."""
    body = getattr(error, "body", None)
    fields = body if isinstance(body, dict) else {}
    return tuple(
        str(value) for value in (fields.get("code"), fields.get("type"), getattr(error, "code", None)) if value
    )


def _named(error: BaseException, *names: str) -> bool:
    return any(cls.__name__ in names for cls in type(error).__mro__)


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "the provider gave no answer in time"
    return _without_secrets(str(error))[:2_000]


def _without_secrets(text: str) -> str:
    """Providers like to echo the key they turned down."""
    return re.sub(r"\b(sk|key|Bearer)[-_ ][A-Za-z0-9*_\-]{6,}", r"\1-…", text)


def _secret(key: SecretStr | None) -> str | None:
    return key.get_secret_value() if key else None


def _retry_after(error: BaseException | None) -> float | None:
    """Seconds that the provider asks us to wait, from `retry-after-ms` or either form of `retry-after`."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    if milliseconds := headers.get("retry-after-ms"):
        return _number(milliseconds, 0.001)
    if not (after := headers.get("retry-after")):
        return None
    seconds = _number(after, 1)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(after) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _number(text: str, scale: float) -> float | None:
    try:
        return max(0.0, float(text) * scale)
    except ValueError:
        return None

"""A provider's model: asked over its line, within its limiter, as often as it may take. All retrying happens here."""

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from judge_service import provider_error
from judge_service.circuit import CircuitOpen
from judge_service.direct_line import DirectLine, Wire, reaches
from judge_service.endpoint import addresses, has_no_address
from judge_service.limiter import Limiter, Limiters
from judge_service.line import Asking, Line, Said
from judge_service.litellm_line import LitellmLine, litellm
from judge_service.messages import messages
from judge_service.model import Completion, ModelUnavailable
from judge_service.model_settings import ModelSettings
from judge_service.price import Price
from judge_service.prompt import Prompt
from judge_service.secret import secrets
from judge_service.terms import Terms
from stepjudge.value import JsonObject

_CHARACTERS_PER_TOKEN = 4


class ProviderModel:
    """Any model that can be reached. It remembers what a provider turned down, once the request went through without.

    What is conceded to an error that another request does not meet is forgotten with the request that failed.
    """

    def __init__(self, settings: ModelSettings, wire: Wire, limiters: Limiters) -> None:
        self._settings = settings
        self._at = addresses(settings.model, settings.api_base, os.environ)
        self._specification = settings.specification(os.environ)
        self._price = Price(settings, self._at, litellm)
        self._line = _line(settings, self._at, wire)
        self._limiter = limiters.of(self._at, settings)
        self._terms: Terms | None = None
        self.reply_limit = settings.max_tokens

    @property
    def limiter(self) -> Limiter:
        return self._limiter

    def specification(self) -> JsonObject:
        """What its answers depend on, as it was when the model was made."""
        return self._specification

    async def complete(
        self, prompt: Prompt, said: Sequence[tuple[str, str]], schema: JsonObject, limit: int
    ) -> Completion:
        if has_no_address(self._settings.model, self._at):
            reason = f"{self._settings.model!r} is on nobody's server: api_base is not set"
            raise ModelUnavailable(reason, cause="rejected", attempts=0)
        if self._terms is None:
            self._terms = await self._line.terms()
        terms = self._terms
        conversation = messages(self._settings.model, prompt, said)
        tokens = prompt.length // _CHARACTERS_PER_TOKEN + limit
        tries = _Tries()
        while True:
            started = time.perf_counter()
            try:
                answer = await self._persist(Asking(conversation, schema, terms, limit), tokens, tries)
            except CircuitOpen as error:
                raise self._down(error, tries) from error
            except Exception as error:
                # a line raises whatever providers, their SDKs and litellm's own gaps raise: none of it is ours
                conceded = terms.after(str(error)) if provider_error.cause(error) == "rejected" else None
                if conceded is None:
                    raise self._unavailable(error, tries) from error
                terms = conceded
                continue
            self._terms = self._terms.joined(terms)
            return self._completion(answer, terms, time.perf_counter() - started, tries)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        return self._price.of(prompt_tokens, completion_tokens)

    async def _persist(self, asking: Asking, tokens: int, tries: "_Tries") -> Said:
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(self._settings.attempts),
            wait=self._wait,
            sleep=anyio.sleep,
            reraise=True,
        ):
            with attempt:
                async with self._limiter.permit(tokens) as permit:
                    with tries.another():
                        answer = await self._line.send(asking)
                    permit.answered(answer.headers)
                    return answer
        raise AssertionError("tenacity either returns or raises")

    def _completion(self, answer: Said, terms: Terms, latency_s: float, tries: "_Tries") -> Completion:
        return Completion(
            text=answer.text,
            finish_reason=answer.finish_reason,
            refusal=answer.refusal,
            mode=terms.mode,
            dropped=terms.dropped,
            model=answer.model,
            prompt_tokens=answer.used.prompt_tokens,
            cached_tokens=answer.used.cached_tokens,
            completion_tokens=answer.used.completion_tokens,
            cost_usd=self._price.charged(answer.used, answer.listed_cost_usd),
            latency_s=latency_s,
            attempts=tries.count,
            perhaps_billed=tries.perhaps_billed,
            tokens=answer.tokens,
        )

    def _down(self, error: CircuitOpen, tries: "_Tries") -> ModelUnavailable:
        return ModelUnavailable(
            self._words(error), cause="provider", attempts=tries.count, perhaps_billed=tries.perhaps_billed
        )

    def _words(self, error: Exception) -> str:
        key = self._settings.api_key
        return provider_error.words(error, secrets(key.get_secret_value() if key else None, os.environ))

    def _unavailable(self, error: Exception, tries: "_Tries") -> ModelUnavailable:
        return ModelUnavailable(
            self._words(error),
            cause=provider_error.cause(error),
            attempts=tries.count,
            perhaps_billed=tries.perhaps_billed,
        )

    def _may_pass(self, error: BaseException) -> bool:
        if isinstance(error, CircuitOpen):
            return False
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
    def another(self) -> Generator[None]:
        self.count += 1
        try:
            yield
        except Exception as error:
            self.perhaps_billed += provider_error.perhaps_billed(error)
            raise


def _line(settings: ModelSettings, at: tuple[str, ...], wire: Wire) -> Line:
    direct = settings.via == "direct" or (settings.via == "auto" and reaches(settings, at))
    return DirectLine(settings, at, wire) if direct else LitellmLine(settings)

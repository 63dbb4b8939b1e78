"""A batched model answers from the pile; a question that has no reply there is laid on it, and waits."""

import hashlib
import json
import os
from collections.abc import Sequence

import anyio

from judge_service import provider_error
from judge_service.batches.pile import Letter, Pile
from judge_service.direct_line import UnreadableAnswer, body, refused, said_in
from judge_service.endpoint import addresses
from judge_service.line import Asking, Said
from judge_service.litellm_line import litellm
from judge_service.messages import messages
from judge_service.model import SAMPLE, Completion, ModelUnavailable
from judge_service.model_settings import ModelSettings
from judge_service.price import Price
from judge_service.prompt import Prompt
from judge_service.secret import secrets
from judge_service.terms import Terms
from stepjudge.value import JsonObject


class BatchedModel:
    """Speaks the `Model` protocol, at the price of a batch. `judge` is the name under which questions are laid."""

    def __init__(self, settings: ModelSettings, judge: str, pile: Pile) -> None:
        self._settings = settings
        self._judge = judge
        self._pile = pile
        self._at = addresses(settings.model, settings.api_base, os.environ)
        self._price = Price(settings, self._at, litellm)
        self._terms = Terms("json_schema", ())
        self.reply_limit = settings.max_tokens

    def specification(self) -> JsonObject:
        """The same as of the model that is asked at once: so are its verdicts."""
        return self._settings.specification(os.environ)

    async def complete(
        self, prompt: Prompt, said: Sequence[tuple[str, str]], schema: JsonObject, limit: int
    ) -> Completion:
        return await anyio.to_thread.run_sync(self._complete, prompt, said, schema, limit, SAMPLE.get())

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        plain = self._price.of(prompt_tokens, completion_tokens)
        return None if plain is None else plain * self._settings.batch_price

    def _complete(
        self, prompt: Prompt, said: Sequence[tuple[str, str]], schema: JsonObject, limit: int, sample: int
    ) -> Completion:
        conversation = messages(self._settings.model, prompt, said)
        terms = self._terms
        while True:
            written = json.dumps(body(self._settings, self._at, Asking(conversation, schema, terms, limit))).encode()
            digest = self._digest(written, sample)
            letter = self._pile.letter(digest)
            if letter is None:
                self._pile.lay(digest, self._judge, written)
                raise ModelUnavailable("the question waits in a batch", cause="in_batch", attempts=0)
            try:
                answer = _answer(letter, terms)
            except UnreadableAnswer as error:
                self._pile.reopen(digest, str(error))
                raise ModelUnavailable("the question waits in a batch", cause="in_batch", attempts=0) from error
            except Exception as error:  # what the provider refused, read as that of a request that was made at once
                conceded = terms.after(str(error)) if provider_error.cause(error) == "rejected" else None
                if conceded is None:
                    self._pile.forget(digest)
                    raise self._unavailable(error) from error
                terms = conceded
                continue
            self._terms = self._terms.joined(terms)
            return self._completion(answer, terms)

    def _digest(self, written: bytes, sample: int) -> str:
        """A provider's replies to samples of one question must stay apart, although they read the same."""
        at = json.dumps([self._settings.model, self._at, sample]).encode()
        return hashlib.sha256(at + written).hexdigest()

    def _completion(self, answer: Said, terms: Terms) -> Completion:
        cost = self._price.charged(answer.used, None)
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
            cost_usd=None if cost is None else cost * self._settings.batch_price,
            latency_s=0.0,
            attempts=1,
            perhaps_billed=0,
            tokens=answer.tokens,
        )

    def _unavailable(self, error: Exception) -> ModelUnavailable:
        key = self._settings.api_key
        words = provider_error.words(error, secrets(key.get_secret_value() if key else None, os.environ))
        return ModelUnavailable(words, cause=provider_error.cause(error), attempts=1)


class NeverAnswered(ConnectionError):
    """No batch that had the question answered it."""


def _answer(letter: Letter, terms: Terms) -> Said:
    """Raises UnreadableAnswer, NeverAnswered, HTTPStatusError."""
    if letter.status == 0:
        raise NeverAnswered(f"no batch answered the question: {letter.said}")
    if letter.status != 200:
        raise refused(letter.status, letter.body, {})
    return said_in(letter.body, terms, {})

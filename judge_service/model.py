"""A model is asked with a prompt and a JSON Schema, and gives a completion or says why there is none."""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from judge_service.confidence import Token
from judge_service.prompt import Prompt
from judge_service.terms import Mode
from stepjudge.value import JsonObject
from stepjudge.verdict import Cause

SAMPLE: ContextVar[int] = ContextVar("sample", default=0)
"""Which sample of an answer is asked for. A model that keeps replies keeps those of two samples apart."""


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

"""A line is a way to a provider: it carries one request there, and what was said back, or raises what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from judge_service.confidence import Token
from judge_service.terms import Terms
from stepjudge.value import JsonObject


@dataclass(frozen=True)
class Used:
    """Tokens that the provider counted; null where it did not say."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Asking:
    """One request, before it takes the shape that its line gives it."""

    messages: list[dict[str, Any]]
    schema: JsonObject
    terms: Terms
    limit: int
    """Most tokens of the reply."""


@dataclass(frozen=True)
class Said:
    """What a provider answered."""

    text: str
    finish_reason: str
    refusal: str | None
    model: str | None
    used: Used
    tokens: tuple[Token, ...]
    """Token probabilities, where the provider tells them."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the answer, names in lower case: they tell how much more may be asked."""
    listed_cost_usd: float | None = None
    """What the line itself says that it cost."""


class Line(Protocol):
    """What a model needs of its way to the provider."""

    async def terms(self) -> Terms:
        """The strictest terms that the provider is thought to take."""
        ...

    async def send(self, asking: Asking) -> Said:
        """Ask once. Whatever goes wrong rises as it is; `provider_error` reads it."""
        ...

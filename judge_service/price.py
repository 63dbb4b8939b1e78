"""A price is what a model's tokens cost in USD: as the settings say, or as litellm's list says where that holds."""
# pyright: basic

from collections.abc import Callable
from typing import Any

from judge_service import price_list
from judge_service.endpoint import listed_price_holds
from judge_service.line import Used
from judge_service.model_settings import ModelSettings


class Price:
    """The price of one model at one endpoint. litellm is handed in, so that it is imported only where it is needed."""

    def __init__(self, settings: ModelSettings, at: tuple[str, ...], litellm: Callable[[], Any]) -> None:
        self._settings = settings
        self._listed = settings.priced_as or (settings.model if listed_price_holds(settings.model, at) else None)
        self._litellm = litellm

    def of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Without discount for cached tokens; null when the price is not known."""
        per_token = self._given() or self._from_list()
        return None if per_token is None else prompt_tokens * per_token[0] + completion_tokens * per_token[1]

    def charged(self, used: Used, told_usd: float | None) -> float | None:
        """What a reply cost, with the list's discounts; null when the price, or the number of tokens, is unknown.

        `told_usd` is litellm's own figure, which is made up where no price is known.
        """
        if used.prompt_tokens is None or used.completion_tokens is None:
            return None
        plain = self.of(used.prompt_tokens, used.completion_tokens)
        if plain is None or self._given() or self._listed is None:
            return plain
        if told_usd and not self._settings.priced_as:
            return told_usd
        if (listed := price_list.entry(self._listed)) is not None:
            asked = listed.get("input_cost_per_token", 0.0)
            cached = min(used.cached_tokens or 0, used.prompt_tokens)
            return plain - cached * (asked - listed.get("cache_read_input_token_cost", asked))
        litellm = self._litellm()
        usage = litellm.Usage(
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            total_tokens=used.prompt_tokens + used.completion_tokens,
            prompt_tokens_details={"cached_tokens": used.cached_tokens or 0},
        )
        return sum(litellm.cost_per_token(model=self._listed, usage_object=usage))

    def _given(self) -> tuple[float, float] | None:
        asked, answered = self._settings.input_cost_per_token, self._settings.output_cost_per_token
        return None if asked is None or answered is None else (asked, answered)

    def _from_list(self) -> tuple[float, float] | None:
        if self._listed is None:
            return None
        if (listed := price_list.entry(self._listed)) is not None:
            return listed.get("input_cost_per_token", 0.0), listed.get("output_cost_per_token", 0.0)
        try:
            info = self._litellm().get_model_info(self._listed)
        except Exception:  # litellm raises a bare Exception for a model that is not in its list
            return None
        return (info.get("input_cost_per_token") or 0.0, info.get("output_cost_per_token") or 0.0)

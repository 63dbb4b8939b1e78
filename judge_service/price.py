"""A price is what a model's tokens cost in USD: as the settings say, or as litellm's list says where that holds."""
# pyright: basic

from collections.abc import Callable
from typing import Any

from judge_service.endpoint import listed_price_holds
from judge_service.model_settings import ModelSettings


class Price:
    """The price of one model at one endpoint. litellm is handed in, so that it is imported when it is first needed."""

    def __init__(self, settings: ModelSettings, at: tuple[str, ...], litellm: Callable[[], Any]) -> None:
        self._settings = settings
        self._listed = settings.priced_as or (settings.model if listed_price_holds(settings.model, at) else None)
        self._litellm = litellm

    def of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Without discount for cached tokens; null when the price is not known."""
        per_token = self._given() or self._from_list()
        return None if per_token is None else prompt_tokens * per_token[0] + completion_tokens * per_token[1]

    def charged(self, response: Any) -> float | None:
        """What a response cost, with the list's discounts; null when the price, or the number of tokens, is unknown."""
        usage = getattr(response, "usage", None)
        plain = self.of(usage.prompt_tokens, usage.completion_tokens) if usage else None
        if plain is None or self._given():
            return plain
        if self._settings.priced_as:
            return sum(self._litellm().cost_per_token(model=self._settings.priced_as, usage_object=usage))
        # litellm's own figure is made up where no price is known, but that has been ruled out
        return response._hidden_params.get("response_cost") or plain

    def _given(self) -> tuple[float, float] | None:
        asked, answered = self._settings.input_cost_per_token, self._settings.output_cost_per_token
        return None if asked is None or answered is None else (asked, answered)

    def _from_list(self) -> tuple[float, float] | None:
        if self._listed is None:
            return None
        try:
            info = self._litellm().get_model_info(self._listed)
        except Exception:  # litellm raises a bare Exception for a model that is not in its list
            return None
        return (info.get("input_cost_per_token") or 0.0, info.get("output_cost_per_token") or 0.0)

"""The settings of a model judge: which model, where, how it is sampled, and how long and how dearly it may take."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import ConfigDict, Field, SecretStr

from judge_service.endpoint import ApiBase, addresses
from judge_service.model_name import ModelName
from stepjudge.value import JsonObject, Value

Temperature = Annotated[float, Field(ge=0, le=2)]
Seed = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
"""What fits the 64 bits that providers take."""


class ModelSettings(Value):
    """Which model, where, and with which sampling parameters."""

    model_config = ConfigDict(hide_input_in_errors=True)

    model: ModelName
    """Any litellm name with its provider, such as `openai/gpt-5.2` or `anthropic/claude-sonnet-5`."""
    api_base: ApiBase | None = None
    """Address of the server, without credentials."""
    api_key: SecretStr | None = None
    temperature: Temperature | None = 0.0
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: Seed | None = None
    max_tokens: int = Field(default=4_096, gt=0)
    """Limit of one reply."""
    logprobs: bool = True
    """Ask for token probabilities where the provider has them; they become the confidence of answers."""
    timeout_s: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=5, ge=1)
    """Tries of one request, for failures that may pass."""
    max_wait_s: float = Field(default=60.0, ge=0)
    """Longest wait between two tries. A provider that asks for longer is taken at its word: no verdict."""
    input_cost_per_token: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """In USD, for a model whose price the bundled list does not know. Without both prices, neither counts."""
    output_cost_per_token: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    priced_as: ModelName | None = None
    """The model of the bundled price list whose price holds here, for an address that is not the provider's own."""

    def specification(self, environ: Mapping[str, str]) -> JsonObject:
        """What an answer depends on: no key, and nothing about waiting."""
        at = addresses(self.model, self.api_base, environ)
        sampling = self.model_dump(mode="json", include={"model", "temperature", "top_p", "seed", "max_tokens"})
        return {**sampling, "api_base": " or ".join(at) or None}

"""The settings of a model judge: which model, where, how it is sampled, and how long and how dearly it may take."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

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
    via: Literal["auto", "direct", "litellm"] = "auto"
    """How requests travel. `direct`: one pooled HTTP client, for endpoints that speak OpenAI's chat completions.
    `auto`: direct where the provider's name says so, litellm for everything else."""
    max_in_flight: int = Field(default=256, ge=1)
    """Most requests under way at once. How many really are is learnt from the provider's answers."""
    timeout_s: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=5, ge=1)
    """Tries of one request, for failures that may pass."""
    max_wait_s: float = Field(default=60.0, ge=0)
    """Longest wait between two tries. A provider that asks for longer is taken at its word: no verdict."""
    circuit_opens_after: int = Field(default=10, ge=1)
    """Failed tries in a row, without a sign of life for seconds, after which nothing is asked for a while."""
    circuit_pause_s: float = Field(default=5.0, gt=0)
    """How long that is, before one request tries again; doubled each time that fails, up to a minute."""
    input_cost_per_token: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """In USD, for a model whose price the bundled list does not know. Without both prices, neither counts."""
    output_cost_per_token: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    batch_price: float = Field(default=0.5, ge=0, le=1)
    """What a token costs in a batch, as a share of its price in a request that is answered at once."""
    priced_as: ModelName | None = None
    """The model of the bundled price list whose price holds here, for an address that is not the provider's own."""

    def optional(self, dropped: Collection[str]) -> dict[str, Any]:
        """The parameters of sampling that a request can do without, except those that the provider does not take."""
        chosen = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "logprobs": True if self.logprobs else None,
            "top_logprobs": 5 if self.logprobs else None,
        }
        return {name: value for name, value in chosen.items() if value is not None and name not in dropped}

    def specification(self, environ: Mapping[str, str]) -> JsonObject:
        """What an answer depends on: no key, and nothing about waiting."""
        at = addresses(self.model, self.api_base, environ)
        sampling = self.model_dump(mode="json", include={"model", "temperature", "top_p", "seed", "max_tokens"})
        return {**sampling, "api_base": " or ".join(at) or None}

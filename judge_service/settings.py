"""Settings of the service, from the environment (`STEPJUDGE_…`) or from keywords; nothing else reads the environment."""

from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from judge_service.model import ModelSettings
from stepjudge.value import Value

Scope = Literal["read", "judge", "label", "admin"]


class ApiKey(Value):
    """A key that callers may present: only its hash is known here."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: tuple[Scope, ...]


class Settings(BaseSettings):
    """Every default works without a key, a server or a network."""

    model_config = SettingsConfigDict(
        env_prefix="STEPJUDGE_", frozen=True, extra="forbid", use_attribute_docstrings=True, env_nested_delimiter="__"
    )

    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("stepjudge")))
    """Folder of the cache and of the default ledger."""
    ledger_url: str | None = None
    """SQLAlchemy URL of the ledger; SQLite in the data folder when null."""
    rubric_dirs: tuple[Path, ...] = ()
    """Further folders of rubrics, beside the shipped ones."""
    judge: str = "rules"
    """The default judge: `rules`, one of `judges`, or a litellm model name."""
    judges: dict[str, ModelSettings] = Field(default_factory=dict[str, ModelSettings])
    """Judges by name, as JSON."""
    any_model: bool = False
    """Whether callers may name any litellm model, at this service's expense."""
    api_base: str | None = None
    """Address of an OpenAI-compatible server for models that are named without settings of their own."""
    api_key: SecretStr | None = None
    """Key for those models. Without `api_base`, the provider's own environment variable serves too."""
    temperature: float | None = 0.0
    seed: int | None = None
    max_tokens: int = Field(default=4_096, gt=0)
    timeout_s: float = Field(default=120.0, gt=0)
    concurrency: int = Field(default=32, gt=0)
    """Steps that are judged at the same time."""
    max_cost_usd: float | None = Field(default=1.0, ge=0)
    """Limit of what one request may spend on models; a request may ask for less, not for more."""
    max_steps: int = Field(default=10_000, gt=0)
    max_body_bytes: int = Field(default=128 * 2**20, gt=0)
    host: str = "127.0.0.1"
    port: int = Field(default=8262, ge=0, le=65_535)
    api_keys: dict[str, ApiKey] = Field(default_factory=dict[str, ApiKey])
    """Keys by the name of their holder, as JSON. Without any, the service listens on loopback only."""

    @property
    def ledger(self) -> str:
        return self.ledger_url or f"sqlite:///{self.data_dir / 'ledger.sqlite3'}"

    def model(self, name: str) -> ModelSettings:
        """The settings of a model judge: its own, or the common ones."""
        return self.judges.get(name) or ModelSettings(
            model=name,
            api_base=self.api_base,
            api_key=self.api_key,
            temperature=self.temperature,
            seed=self.seed,
            max_tokens=self.max_tokens,
            timeout_s=self.timeout_s,
        )

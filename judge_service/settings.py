"""Settings of the service, from the environment (`STEPJUDGE_…`) or from keywords; nothing else reads the environment."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

import platformdirs
from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from judge_service.endpoint import ApiBase
from judge_service.model_name import why_not_a_model
from judge_service.model_settings import ModelSettings, Seed, Temperature
from stepjudge.value import Value

RULES = "rules"
"""The judge that asks no model."""

Scope = Literal["read", "judge", "label", "admin"]

_OF_CALLERS = ("URL", "CLIENT_KEY")
"""Variables that the client and the commands read."""


def _printable(name: str) -> str:
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise ValueError("a judge's name has up to 200 characters, all of which can be seen")
    return name


JudgeName = Annotated[str, AfterValidator(_printable)]


class ApiKey(Value):
    """A key that callers may present: only its hash is known here."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: tuple[Scope, ...]


class Settings(BaseSettings):
    """Every default works without a key, a server or a network."""

    model_config = SettingsConfigDict(
        env_prefix="STEPJUDGE_",
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        env_nested_delimiter="__",
        hide_input_in_errors=True,  # a setting may be a key
    )

    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("stepjudge")))
    """Folder of the cache and of the default ledger."""
    ledger_url: str | None = None
    """SQLAlchemy URL of the ledger; SQLite in the data folder when null."""
    rubric_dirs: tuple[Path, ...] = ()
    """Further folders of rubrics, beside the shipped ones."""
    judge: JudgeName = RULES
    """The default judge: `rules`, one of `judges`, or a litellm model name."""
    judges: dict[JudgeName, ModelSettings] = Field(default_factory=dict[str, ModelSettings])
    """Judges by name, as JSON."""
    any_model: bool = False
    """Whether callers may name models of the providers that litellm knows, at this service's expense."""
    api_base: ApiBase | None = None
    """Address, without credentials, of an OpenAI-compatible server for models named without settings of their own."""
    api_key: SecretStr | None = None
    """Key for those models. Without `api_base`, the provider's own environment variable serves too."""
    temperature: Temperature | None = 0.0
    seed: Seed | None = None
    max_tokens: int = Field(default=4_096, gt=0)
    timeout_s: float = Field(default=120.0, gt=0)
    concurrency: int = Field(default=32, gt=0)
    """Steps that are judged at the same time."""
    max_cost_usd: float | None = Field(default=1.0, ge=0)
    """About what one request may spend on models: nothing is asked whose estimate goes beyond.

    A request may ask for less, not for more. What has no known price, and tries that were charged for although no reply
    came, are not seen.
    """
    max_steps: int = Field(default=10_000, gt=0)
    max_body_bytes: int = Field(default=128 * 2**20, gt=0)
    host: str = "127.0.0.1"
    port: int = Field(default=8262, ge=0, le=65_535)
    api_keys: dict[str, ApiKey] = Field(default_factory=dict[str, ApiKey])
    """Keys by the name of their holder, as JSON. Without any, the service listens on loopback only."""

    @model_validator(mode="after")
    def _every_judge_can_be_made(self) -> Self:
        if RULES in self.judges:
            raise ValueError(f"judges: the name {RULES!r} is taken by the offline rules")
        if self.judge != RULES and self.judge not in self.judges and (reason := why_not_a_model(self.judge)):
            raise ValueError(f"judge: {self.judge!r} is neither {RULES!r} nor one of `judges`, and {reason}")
        return self

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


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each `STEPJUDGE_…` variable that nothing reads, with the name that was probably meant."""
    known = [*(name.upper() for name in Settings.model_fields), *_OF_CALLERS]
    told: list[str] = []
    for variable in sorted(environ):
        prefix, _, name = variable.upper().partition("_")
        if prefix != "STEPJUDGE" or _owner(name) in known:
            continue
        close = get_close_matches(name, known, n=1)
        told.append(f"{variable} is no setting of stepjudge" + (f": is STEPJUDGE_{close[0]} meant?" if close else ""))
    return told


def _owner(name: str) -> str:
    """The setting that a variable is, or is a part of, as `JUDGES__FAST` is of the judges."""
    owner, nested, _ = name.partition("__")
    return owner if nested and owner in ("JUDGES", "API_KEYS") else name

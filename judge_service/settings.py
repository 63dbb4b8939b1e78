"""Settings of the service: keywords, the environment (`STEPJUDGE_…`), a file; nothing else reads the environment."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

import platformdirs
from pydantic import AfterValidator, AwareDatetime, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from judge_service.config_file import BadConfigFile, read_config
from judge_service.court_settings import CascadeSettings, JudgeSettings, JurySettings
from judge_service.endpoint import ApiBase
from judge_service.model_name import why_not_a_model
from judge_service.model_settings import ModelSettings, Seed, Temperature
from stepjudge.trust import TrustRule
from stepjudge.value import Value

RULES = "rules"
"""The judge that asks no model."""

Scope = Literal["read", "judge", "label", "admin"]

CONFIG_FILE = "STEPJUDGE_CONFIG"
"""Names a file of settings, YAML, TOML or JSON."""

_NO_SETTINGS = ("URL", "CLIENT_KEY", "ANNOTATOR", "CONFIG")
"""Variables that the client and the commands read, and the one that names the file of settings."""


def _printable(name: str) -> str:
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise ValueError("a judge's name has up to 200 characters, all of which can be seen")
    return name


JudgeName = Annotated[str, AfterValidator(_printable)]


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ApiKey(Value):
    """A key that callers may present: only its hash is known here. A limit that is null does not hold."""

    sha256: Sha256
    scopes: tuple[Scope, ...]
    not_after: AwareDatetime | None = None
    """When it ends to be valid, such as `2027-01-31T00:00:00Z`."""
    old_sha256: Sha256 | None = None
    """The key before this one: both are valid while callers change over."""
    old_not_after: AwareDatetime | None = None
    requests_per_minute: int | None = Field(default=None, gt=0)
    """In each process of the service."""
    requests_at_once: int | None = Field(default=None, gt=0)
    """In each process of the service."""
    usd_per_day: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """About what its holder may spend on models in a day of UTC, in all replicas together. Unknown prices are not seen."""


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
    """`postgresql://…` or another SQLAlchemy URL of the ledger; SQLite in the data folder when null."""
    ledger_pool: int = Field(default=10, gt=0)
    """Connections to the ledger that are kept open; as many more are opened under load."""
    cache_url: SecretStr | None = None
    """`redis://…`, or `rediss://…` for TLS, of the cache that replicas share; a folder in the data folder when null."""
    rubric_dirs: tuple[Path, ...] = ()
    """Further folders of rubrics, beside the shipped ones."""
    judge: JudgeName = RULES
    """The default judge: `rules`, one of `judges`, or a litellm model name."""
    judges: dict[JudgeName, JudgeSettings] = Field(default_factory=dict[str, JudgeSettings])
    """Judges by name, as JSON: models, and juries and cascades of judges."""
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
    concurrency: int = Field(default=256, gt=0)
    """Steps that are judged at the same time, and requests to one model. How many there really are is learnt from what
    the provider does."""
    max_cost_usd: float | None = Field(default=1.0, ge=0)
    """About what one request may spend on models: nothing is asked whose estimate goes beyond.

    A request may ask for less, not for more. What has no known price, and tries that were charged for although no reply
    came, are not seen.
    """
    batch_questions: int = Field(default=50_000, ge=1)
    """Most questions in one batch of a provider."""
    max_steps: int = Field(default=10_000, gt=0)
    max_body_bytes: int = Field(default=128 * 2**20, gt=0)
    trust: TrustRule = TrustRule()
    """When a judge's answers are trusted, and its scores no longer provisional, as JSON."""
    grace_s: float = Field(default=25.0, ge=0)
    """When told to stop: how long requests under way may go on. What ends them for good should wait some seconds longer."""
    patience_s: float = Field(default=20.0, gt=0)
    """How long a client may take to send the head of its request, and each 64 KiB of it, or to read as much of an answer."""
    max_connections: int = Field(default=1_000, gt=0)
    """Connections at once. Further ones are closed."""
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    otlp_endpoint: str | None = Field(default=None, pattern=r"^https?://")
    """A collector of OpenTelemetry spans that speaks OTLP over HTTP, such as `http://127.0.0.1:4318`. Needs the extra `otel`."""
    host: str = "127.0.0.1"
    port: int = Field(default=8262, ge=0, le=65_535)
    api_keys: dict[str, ApiKey] = Field(default_factory=dict[str, ApiKey])
    """Keys by the name of their holder, as JSON. Without any, the service listens on loopback only."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Keywords go before the environment, and that before the file. Raises BadConfigFile."""
        path = os.environ.get(CONFIG_FILE)
        written = read_config(Path(path), tuple(cls.model_fields)) if path else {}
        return init_settings, env_settings, InitSettingsSource(settings_cls, written)

    @model_validator(mode="after")
    def _every_judge_can_be_made(self) -> Self:
        if RULES in self.judges:
            raise ValueError(f"judges: the name {RULES!r} is taken by the offline rules")
        if self.judge != RULES and self.judge not in self.judges and (reason := why_not_a_model(self.judge)):
            raise ValueError(f"judge: {self.judge!r} is neither {RULES!r} nor one of `judges`, and {reason}")
        for name, court in self.courts.items():
            for member in court.judges:
                self._check_member(name, member)
        return self

    def _check_member(self, court: str, member: str) -> None:
        if member in self.courts:
            raise ValueError(f"judges: {court!r} asks {member!r}, which asks judges itself: name judges that answer")
        known = member == RULES or member in self.judges
        if not known and (reason := why_not_a_model(member)):
            raise ValueError(f"judges: {court!r} asks {member!r}, which is none of `judges`, and {reason}")

    @property
    def courts(self) -> dict[str, JurySettings | CascadeSettings]:
        """The judges that ask judges."""
        return {name: each for name, each in self.judges.items() if not isinstance(each, ModelSettings)}

    @property
    def ledger(self) -> str:
        return self.ledger_url or f"sqlite:///{self.data_dir / 'ledger.sqlite3'}"

    @property
    def cache(self) -> str | None:
        return None if self.cache_url is None else self.cache_url.get_secret_value()

    def model(self, name: str) -> ModelSettings:
        """The settings of a model judge: its own, or the common ones."""
        own = self.judges.get(name)
        if isinstance(own, ModelSettings):
            return own
        return ModelSettings(
            model=name,
            api_base=self.api_base,
            api_key=self.api_key,
            temperature=self.temperature,
            seed=self.seed,
            max_tokens=self.max_tokens,
            timeout_s=self.timeout_s,
            max_in_flight=self.concurrency,
        )


def told_plainly(error: ValueError) -> str:
    """What is wrong with the settings, in a line for each, without their values; other errors rise as they are."""
    if isinstance(error, ValidationError):
        lines = [_fault(".".join(map(str, each["loc"])), each["msg"], each["type"]) for each in error.errors()]
        return "\n".join(["the settings do not hold:", *lines])
    if isinstance(error, BadConfigFile | SettingsError):
        return str(error)
    raise error


def _fault(place: str, said: str, kind: str) -> str:
    if kind != "extra_forbidden":
        return f"  {place or 'all'}: {said}"
    nested = [name for part in (ModelSettings, JurySettings, CascadeSettings, ApiKey) for name in part.model_fields]
    close = get_close_matches(place.rpartition(".")[2], [*Settings.model_fields, *nested], n=1)
    return f"  {place}: no setting of that name" + (f": is {close[0]!r} meant?" if close else "")


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each `STEPJUDGE_…` variable that nothing reads, with the name that was probably meant."""
    known = [*(name.upper() for name in Settings.model_fields), *_NO_SETTINGS]
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
    return owner if nested and owner in ("JUDGES", "API_KEYS", "TRUST") else name

"""The settings of a jury and of a cascade: which judges, by name, and when their answers settle a question."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, cast

from pydantic import Discriminator, Field, Tag, model_validator

from judge_service.model_settings import ModelSettings
from stepjudge.value import Value

TWO_ESCALATE, ONE_ESCALATES = 0.3, 0.38
"""Shares of the steps that two cheap judges, or one, left to a strong one on public labels (docs/judges.md)."""


class JurySettings(Value):
    """Several judges, or several samples of one."""

    kind: Literal["jury"]
    members: tuple[str, ...] = Field(min_length=1, max_length=25)
    """Judges of this service, by name."""
    samples: int = Field(default=1, ge=1, le=25)
    """How often each member is asked. Only a temperature above 0 makes samples differ."""
    needs: int = Field(default=1, ge=1)
    """Fewest members that must give an answer, beside being more than half of those that give any."""

    @model_validator(mode="after")
    def _votes(self) -> Self:
        if len(set(self.members)) < len(self.members):
            raise ValueError("a member stands twice in a jury: to ask one several times, set `samples`")
        if not 2 <= len(self.members) * self.samples <= 25:
            raise ValueError("a jury has 2 to 25 votes: members × samples")
        if self.needs > len(self.members) * self.samples:
            raise ValueError("a jury cannot need more votes than it has")
        return self

    @property
    def judges(self) -> tuple[str, ...]:
        return self.members


class CascadeSettings(Value):
    """One or two cheap judges, and a strong one for what they leave open."""

    kind: Literal["cascade"]
    first: tuple[str, ...] = Field(min_length=1, max_length=2)
    """Two settle a question by agreeing."""
    then: str
    below_confidence: float | None = Field(default=None, ge=0, le=1)
    """Of a single first judge: escalate answers that it is less sure of, where the provider tells."""
    escalate_no: bool = True
    """Of a single first judge: escalate whatever it answers with no."""
    expected_share: float | None = Field(default=None, ge=0, le=1)
    """Share of the questions that an estimate expects to be escalated; as measured on public labels when null."""

    @model_validator(mode="after")
    def _tiers(self) -> Self:
        if len({*self.first, self.then}) < len(self.first) + 1:
            raise ValueError("a cascade asks each of its judges once: name different ones")
        return self

    @property
    def judges(self) -> tuple[str, ...]:
        return (*self.first, self.then)

    @property
    def share(self) -> float:
        """Expected share of the questions that are escalated."""
        if self.expected_share is not None:
            return self.expected_share
        return TWO_ESCALATE if len(self.first) > 1 else ONE_ESCALATES


def _kind(given: object) -> str:
    if isinstance(given, Mapping):
        return str(cast(Mapping[str, object], given).get("kind", "model"))
    return str(getattr(given, "kind", "model"))


JudgeSettings = Annotated[
    Annotated[ModelSettings, Tag("model")]
    | Annotated[JurySettings, Tag("jury")]
    | Annotated[CascadeSettings, Tag("cascade")],
    Discriminator(
        _kind,
        custom_error_type="judge_kind",
        custom_error_message="`kind` is jury or cascade, or left out for a model",
    ),
]
"""A judge by name: a model where no `kind` is given."""

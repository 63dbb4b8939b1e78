"""A reading is a scorecard as other evaluators take it: flat numbers, one text that explains them, and every step."""

from typing import Literal, get_args

from stepjudge.adapters.step_reading import StepReading, explained, step_reading
from stepjudge.contract import Scorecard
from stepjudge.metric import Rate
from stepjudge.value import JsonObject, Value
from stepjudge.verdict import Cause
from stepjudge.visible import visible

__all__ = ["SCORE_NAMES", "Reading", "ScoreName", "StepReading", "explained", "reading"]

ScoreName = Literal["step_level", "tool_call_precision", "argument_accuracy", "recovery_rate"]
SCORE_NAMES: tuple[ScoreName, ...] = get_args(ScoreName)

_LISTED_STEPS = 20


class Reading(Value):
    """What stepjudge says of one trace. Rates are in 0..1, and null where nothing could be counted."""

    headline: ScoreName
    """Which of the scores is the reading's value."""
    rates: dict[ScoreName, Rate]
    """Numerator, denominator and undetermined units of every score."""
    recoveries: int
    """Steps that corrected earlier ones."""
    answers: int
    undetermined: int
    """Answers among them that could not be had. They are in no numerator and no denominator."""
    ungrounded: int
    """Answers with a quote that does not stand where the judge said, or with none."""
    scored_steps: int
    cached_steps: int
    """Steps whose verdict was remembered: they cost nothing."""
    requests: int
    """Model calls that were paid for."""
    cost_usd: float | None
    """Null when a price is not known."""
    causes: dict[Cause, int]
    """Why answers are undetermined, and how many for each cause."""
    trace_id: str
    source_format: str
    rubric: str
    """`name@version`."""
    rubric_digest: str
    judge: str
    judge_digest: str
    judge_note: str
    provisional: bool
    """True until the judge was validated against human labels for this rubric."""
    range: str
    total_steps: int
    grouping: str
    notes: tuple[str, ...]
    service_version: str
    steps: tuple[StepReading, ...]

    @property
    def value(self) -> float | None:
        """The headline score in 0..1; null when it has no denominator."""
        return self.scores[self.headline]

    @property
    def scores(self) -> dict[ScoreName, float | None]:
        return {name: rate.value for name, rate in self.rates.items()}

    @property
    def numerators(self) -> dict[ScoreName, int]:
        return {name: rate.numerator for name, rate in self.rates.items()}

    @property
    def denominators(self) -> dict[ScoreName, int]:
        return {name: rate.denominator for name, rate in self.rates.items()}

    @property
    def share_undetermined(self) -> float:
        """Of the headline's units, in 0..1."""
        rate = self.rates[self.headline]
        units = rate.denominator + rate.undetermined
        return rate.undetermined / units if units else 0.0

    @property
    def counts(self) -> dict[str, int]:
        """The whole numbers that stand beside the scores."""
        return {
            "recoveries": self.recoveries,
            "undetermined": self.undetermined,
            "answers": self.answers,
            "ungrounded": self.ungrounded,
            "steps": self.scored_steps,
            "cached_steps": self.cached_steps,
            "requests": self.requests,
        }

    @property
    def explanation(self) -> str:
        """One text: what was scored by whom, how, and each step that does not pass with answer, reason and quote."""
        return "\n".join([*self.summary, *_explained(self.steps)])

    @property
    def summary(self) -> tuple[str, ...]:
        """The explanation's first lines: the scores with their denominators, then what they cover and who judged."""
        trust = "provisional: the judge is not validated against human labels" if self.provisional else "validated"
        grouping = "" if self.grouping == "none" else f", grouped by {self.grouping}"
        open_answers = ", ".join(f"{count} {cause}" for cause, count in self.causes.items())
        lines = [
            ", ".join(f"{name} {_spelled(self.rates[name])}" for name in _shown(self)),
            f"steps {self.range} of {self.total_steps}{grouping}; rubric {self.rubric}; judge {self.judge} ({trust})",
            f"{self.undetermined} of {self.answers} answers undetermined"
            + (f" ({open_answers})" if open_answers else "")
            + (f", {self.ungrounded} ungrounded" if self.ungrounded else "")
            + f", {self.recoveries} recoveries, {self.cached_steps} of {self.scored_steps} steps from cache",
        ]
        return tuple(map(visible, lines))

    def metadata(self) -> JsonObject:
        """The whole reading as JSON: all of the above, with scores and explanation spelled out."""
        document: JsonObject = self.model_dump(mode="json")
        return {
            "value": self.value,
            "scores": {**self.scores},
            "numerators": {**self.numerators},
            "denominators": {**self.denominators},
            "explanation": self.explanation,
            **document,
        }


def reading(card: Scorecard, headline: ScoreName = "step_level") -> Reading:
    """The scorecard's reading."""
    return Reading(
        headline=headline,
        rates={name: getattr(card.scores, name) for name in SCORE_NAMES},
        recoveries=len(card.recoveries),
        answers=card.answers,
        undetermined=card.undetermined,
        ungrounded=card.ungrounded,
        scored_steps=len(card.steps),
        cached_steps=card.cached_steps,
        requests=card.requests,
        cost_usd=card.cost_usd,
        causes=card.causes,
        trace_id=card.trace_id,
        source_format=card.source_format,
        rubric=f"{card.rubric.name}@{card.rubric.version}",
        rubric_digest=card.rubric.digest,
        judge=card.judge,
        judge_digest=card.judge_digest,
        judge_note=card.judge_note,
        provisional=card.provisional,
        range=card.range,
        total_steps=card.total_steps,
        grouping=card.grouping,
        notes=card.notes,
        service_version=card.service_version,
        steps=tuple(map(step_reading, card.steps)),
    )


def _shown(reading: Reading) -> list[ScoreName]:
    """The headline first, then the others that count something."""
    others: list[ScoreName] = [
        name for name in SCORE_NAMES if name != reading.headline and reading.rates[name].denominator
    ]
    return [reading.headline, *others]


def _spelled(rate: Rate) -> str:
    if rate.value is None:
        return f"not scored ({rate.undetermined} undetermined)"
    return f"{rate.value:.3f} ({rate.numerator}/{rate.denominator})"


def _explained(steps: tuple[StepReading, ...]) -> list[str]:
    shown = [step for step in steps if step.passes is not True]
    lines = [line for step in shown[:_LISTED_STEPS] for line in explained(step)]
    more = len(shown) - _LISTED_STEPS
    return [*lines, f"… and {more} more steps that do not pass"] if more > 0 else lines

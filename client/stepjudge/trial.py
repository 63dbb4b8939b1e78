"""A trial is the durable record of one attempt at one task; its score is what checks, judge and views said of it."""

import math
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from stepjudge.checks.check import CheckResult
from stepjudge.contract import Scorecard
from stepjudge.task import Identity
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject, Value
from stepjudge.view import ViewValue

Status = Literal["completed", "partial", "failed"]
"""`completed`: the agent ended by itself. `partial`: it was stopped and left something to score. `failed`: it was not
the agent that ended the attempt but its harness, so nothing is scored and nothing counts as 0."""


class TrialError(Value):
    """What went wrong in an attempt."""

    type: str
    message: str
    traceback: str | None = None
    occurred_at: str | None = None


class Measurements(Value):
    """What an attempt took; null where nobody said."""

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    total_tokens: int | None = Field(default=None, ge=0)
    cache_read_tokens: int | None = Field(default=None, ge=0)
    cache_creation_tokens: int | None = Field(default=None, ge=0)
    runtime_sec: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)


def measured(stated: Measurements, trace: Trace | None) -> Measurements:
    """What was stated, and for the rest what the trace says. The total is prompt and completion, when both are known."""
    known = _in_trace(trace) if trace is not None else {}
    known |= stated.model_dump(exclude_none=True, exclude={"total_tokens"})
    if "prompt_tokens" in known and "completion_tokens" in known:
        known["total_tokens"] = known["prompt_tokens"] + known["completion_tokens"]
    return Measurements.model_validate(known)


def _in_trace(trace: Trace) -> dict[str, float]:
    """The trace's totals, else the sum over its steps where every step says."""
    totals = trace.usage or Usage()
    steps = [step.usage or Usage() for step in trace.steps]
    found = {
        "prompt_tokens": _total(totals.prompt_tokens, [each.prompt_tokens for each in steps]),
        "completion_tokens": _total(totals.completion_tokens, [each.completion_tokens for each in steps]),
        "cache_read_tokens": _total(totals.cached_tokens, [each.cached_tokens for each in steps]),
        "cost_usd": _total(totals.cost_usd, [each.cost_usd for each in steps]),
    }
    return {name: total for name, total in found.items() if total is not None and 0 <= total < math.inf}


def _total(stated: float | None, parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return stated if stated is not None or not known or len(known) < len(parts) else sum(known)


class Trial(Value):
    """One attempt."""

    id: Identity
    task_id: Identity
    trial: int = Field(default=1, ge=1)
    """The pass over the task set that it belongs to, from 1."""
    status: Status = "completed"
    output_text: str | None = None
    """The final answer."""
    trace: Trace | None = None
    environment: str | None = None
    """The folder that holds the final environment."""
    error: TrialError | None = None
    measurements: Measurements = Measurements()
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])

    @model_validator(mode="after")
    def _a_failure_says_why(self) -> Self:
        if self.status == "failed" and self.error is None:
            raise ValueError(f"trial {self.id!r} failed without an error: say what went wrong")
        return self


class TrialScore(Value):
    """What is known of one trial."""

    trial_id: str
    task_id: str
    trial: int
    status: Status
    checks: tuple[CheckResult, ...] = ()
    scorecard: Scorecard | None = None
    """Null when no judge was asked, when there is no trace, or when the judge gave no answer at all."""
    judge_error: str | None = None
    """Why the judge gave none."""
    views: dict[str, ViewValue] = Field(default_factory=dict[str, ViewValue])
    success: bool | None = None
    """Null when it cannot be told: the harness failed, a check could not run, or the view is unmeasured."""
    steps: int | None = None
    """Null, like `calls` and `turns`, when there is no trace to count in."""
    calls: int | None = None
    turns: int | None = None
    measurements: Measurements = Measurements()

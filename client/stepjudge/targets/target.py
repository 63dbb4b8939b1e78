"""A target attempts tasks. It is given an assignment, which holds what the agent may see and nothing else of a task."""

from typing import Protocol

from pydantic import Field, JsonValue

from stepjudge.errors import StepjudgeError
from stepjudge.trace import Trace
from stepjudge.trial import Measurements, Status, TrialError
from stepjudge.value import JsonObject, Value


class BadTarget(StepjudgeError):
    """The target cannot be used: what is wrong, and how to mend it."""


class Assignment(Value):
    """What a target is given. It has no field for a reference, so none can slip in."""

    task_id: str
    trial: int
    """The pass over the task set, from 1."""
    inputs: JsonObject
    workspace: str
    """An empty folder of this attempt's own. What is in it afterwards is the final environment."""


class Delivery(Value):
    """What a target gives back."""

    status: Status = "completed"
    output_text: str | None = None
    trace: Trace | None = None
    environment: str | None = None
    """The final environment, when it is not the workspace."""
    error: TrialError | None = None
    measurements: Measurements = Measurements()
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])


class Target(Protocol):
    """Attempts one task at a time, several at once."""

    @property
    def specification(self) -> JsonObject:
        """What was attempted with, for provenance: `name`, `kind` and all that shapes the results. No secrets."""
        ...

    async def attempt(self, assignment: Assignment) -> Delivery:
        """One attempt. An exception is the harness's failure: the trial then counts as failed, not as 0."""
        ...

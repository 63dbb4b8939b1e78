"""A task is one independently scorable problem: what the agent sees, and what only its graders see."""

from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints

from stepjudge.value import JsonObject, Value
from stepjudge.view import View

Identity = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+@=-]{0,199}$")]
"""A name that is also one safe path segment: it becomes a folder, a file and a row key."""


class Task(Value):
    """One problem of a suite."""

    id: Identity
    intent: str = ""
    """What the task is about, in the words of its author. For people; the agent sees only `inputs`."""
    inputs: JsonObject = Field(default_factory=dict[str, JsonValue])
    """What the agent is given, and nothing else of the task is. `instruction` is what a model is asked."""
    reference: JsonObject = Field(default_factory=dict[str, JsonValue])
    """The answer key. Only checks read it: it never reaches an agent or a judge's prompt."""
    checks: tuple[JsonObject, ...] = ()
    """Tests of the final state, as `stepjudge.checks.read_check` takes them."""
    views: dict[str, View] = Field(default_factory=dict[str, View])
    """Named roll-ups of this task's signals."""
    rubric: str = "step"
    """`name` or `name@version` of the rubric its steps are judged under."""
    success: str | None = None
    """The view that says whether a trial succeeded (1 or more); null: every check passes."""
    single_answer: bool = False
    """Whether the task asks for one answer, which its final step gives: the outcome of its checks is then also that
    step's, for the views that read `score.outcome_aware`. Not for tasks whose checks look at a state that all steps made."""
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])
    """Whatever else the author wants kept. Graders, agents and judges ignore it."""

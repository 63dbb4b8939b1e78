"""A trace is the ordered log of one attempt at a task: messages, steps with their calls, and the final output."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from stepjudge.value import JsonObject, Value

Role = Literal["system", "user", "assistant", "tool", "other"]
ArgumentsState = Literal["ok", "unparsed", "elided", "missing"]
ResultState = Literal["present", "empty", "missing", "truncated"]
ErrorKind = Literal["unknown_tool", "bad_arguments", "tool_error", "timeout", "other"]


class Attachment(Value):
    """Something beside text, such as an image: named here, not carried."""

    kind: str
    """`image`, `audio`, `file` …"""
    media_type: str | None = None
    source: str = ""
    """A URI, or the digest of the bytes when they stood inline."""


class Message(Value):
    """A message the agent did not write as a step of its own: evidence, never scored."""

    role: Role
    text: str
    name: str | None = None
    attachments: tuple[Attachment, ...] = ()


class Tool(Value):
    """A tool the agent was offered."""

    name: str
    description: str = ""
    parameters: JsonObject | None = None
    """The JSON Schema of the arguments; null when the format did not carry it."""


class Result(Value):
    """What came back from a call."""

    text: str = ""
    state: ResultState = "missing"
    """`missing`: the trace has no result for the call. `empty`: it has one, without content."""
    is_error: bool | None = None
    """The format's own error signal; null when the format has none, which is not the same as false."""
    error_kind: ErrorKind | None = None
    exit_code: int | None = None
    attachments: tuple[Attachment, ...] = ()

    @model_validator(mode="after")
    def _state_fits_text(self) -> Self:
        if self.state in ("empty", "missing") and self.text:
            raise ValueError(f"a result whose state is {self.state!r} has no text")
        return self


class Call(Value):
    """One tool call, as the model emitted it, with its result."""

    name: str
    id: str | None = None
    """As the harness wrote it. Ids repeat in real traces and are no part of a call's identity."""
    arguments: JsonObject | None = None
    arguments_raw: str | None = None
    """The string the model emitted, kept when it is not a JSON object."""
    arguments_state: ArgumentsState = "ok"
    """`elided`: the format drops or rewrites arguments here, so an empty object means unknown."""
    result: Result = Result()
    subtraces: tuple["Trace", ...] = ()
    """Runs of sub-agents that this call started. They are traces of their own, not steps of this one."""
    extra: JsonObject = Field(default_factory=dict[str, JsonValue])


class Usage(Value):
    """Tokens and money of one model emission; null where the format did not say."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class Step(Value):
    """One atomic action: one model emission, with tool calls or none."""

    index: int = Field(ge=1)
    """Position in the trace, from 1."""
    turn: int = Field(ge=1)
    """The user exchange this step belongs to, from 1."""
    llm_call: int = Field(ge=1)
    """The model call that emitted this step, from 1. Not the turn: one exchange takes many model calls."""
    before: tuple[Message, ...] = ()
    """Messages that arrived after the previous step and before this one."""
    message: str = ""
    """What the agent said for others to read."""
    reasoning: str = ""
    """The agent's private reasoning. Not shown to a judge unless the rubric asks for it."""
    calls: tuple[Call, ...] = ()
    observation: Result | None = None
    """What came back to the step itself, where the agent acts in text and the trace names no call."""
    attachments: tuple[Attachment, ...] = ()
    agent: str | None = None
    model: str | None = None
    usage: Usage | None = None
    started_at: str | None = None
    extra: JsonObject = Field(default_factory=dict[str, JsonValue])


class Trace(Value):
    """The whole log. `notes` lists what the source format could not say or this model could not carry."""

    trace_id: str
    source_format: str = "stepjudge"
    agent: str | None = None
    """The harness or agent that ran."""
    model: str | None = None
    system: str = ""
    """The system prompt: policies and instructions that hold for the whole run."""
    task: str = ""
    """What the user asked for, before the first step."""
    task_attachments: tuple[Attachment, ...] = ()
    tools: tuple[Tool, ...] = ()
    steps: tuple[Step, ...] = ()
    after: tuple[Message, ...] = ()
    """Messages after the last step."""
    final_output: str | None = None
    usage: Usage | None = None
    """Totals, when the format states them."""
    notes: tuple[str, ...] = ()
    extra: JsonObject = Field(default_factory=dict[str, JsonValue])

    @model_validator(mode="after")
    def _steps_are_numbered(self) -> Self:
        for expected, step in enumerate(self.steps, start=1):
            if step.index != expected:
                raise ValueError(
                    f"step {expected} of trace {self.trace_id!r} has index {step.index}: number steps from 1"
                )
        return self

    def calls(self) -> Iterator[tuple[Step, int, Call]]:
        """Every call with its step and its number in the step, from 1."""
        for step in self.steps:
            for number, call in enumerate(step.calls, start=1):
                yield step, number, call

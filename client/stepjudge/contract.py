"""The contract is what travels between client and service: a request to score, and the scorecard that answers it."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from stepjudge.errors import Problem
from stepjudge.grouping import Grouping
from stepjudge.metric import Answers, Rate
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.trace import Trace
from stepjudge.validation import Validation
from stepjudge.value import JsonObject, Value
from stepjudge.verdict import Answer, Cause, Cut, Fact, VerdictRecord


class ScoreRequest(Value):
    """Score the steps of one trace."""

    trace: Any
    """The trace, as JSON, in any format the service reads."""
    format: str | None = None
    """Name of the format; detected when null."""
    rubric: str | Rubric = "step"
    """`name` (newest version), `name@version`, or a whole rubric."""
    judge: str | None = None
    """Name of a judge of this service; its default when null."""
    steps: str | None = Field(default=None, max_length=1_000)
    """Range of steps to score, such as `1-5`; all when null. Steps outside it are still part of the state."""
    group: Grouping = "none"
    max_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False, strict=True)
    """Stop asking models when this much is spent; the service's own limit when null."""
    fresh: bool = Field(default=False, strict=True)
    """Ask again even where a verdict is remembered."""
    sample: int = Field(default=0, ge=0, le=10_000, strict=True)
    """Which sample of the judge's answers is wanted. Each is asked for, and remembered, on its own."""
    made: bool = Field(default=False, strict=True)
    """Whether the trace was made to test the judge rather than met: its steps are never drawn for labelling."""
    batch: bool = Field(default=False, strict=True)
    """Ask no model now: what is left to ask goes into the next batch, and its answers are `undetermined` with the cause
    `in_batch` until the batch is collected. Cannot be `fresh`."""

    @model_validator(mode="after")
    def _batches_are_remembered(self) -> Self:
        if self.batch and self.fresh:
            raise ValueError("batch: what a batch answers is remembered, so it cannot be fresh")
        return self


class RubricRef(Value):
    """Which rubric spoke."""

    name: str
    version: str
    digest: str


class CallSummary(Value):
    """A call, short enough for a table."""

    number: int
    name: str
    arguments: JsonObject | None = None
    arguments_raw: str | None = None
    answers: Answers
    """One per criterion of unit `call`."""
    is_error: bool | None = None


class StepScore(Value):
    """One step, scored."""

    index: int
    turn: int
    llm_call: int
    calls: tuple[CallSummary, ...]
    answers: Answers
    """The step's answer to every criterion."""
    details: tuple[Answer, ...]
    """Every answer, per call where the criterion's unit is the call, with reason and evidence."""
    passes: bool | None
    bad: bool | None
    score: Literal[-1, 0, 1] | None
    inherits_from: tuple[int, ...] = ()
    """Earlier steps whose uncorrected error this step builds on."""
    settled_by: Literal["facts", "judge", "mixed"]
    facts: tuple[Fact, ...] = ()
    cuts: tuple[Cut, ...] = ()
    cached: bool
    verdict_id: str
    state_digest: str = ""
    """Of everything before the step; labels of the step name the same two. Empty on scorecards of older services."""
    step_digest: str = ""
    cost_usd: float | None
    """What this request paid for the step: 0 when it was cached, null when the price is not known."""


class Scores(Value):
    """The metrics over the scored range, under the grouping."""

    step_level: Rate
    """Passing / scored units."""
    tool_call_precision: Rate
    """Calls that pass / calls issued."""
    argument_accuracy: Rate
    """Calls with accurate arguments / calls with the right tool."""
    recovery_rate: Rate
    """Recoveries / units where recovery applied."""


class Recovery(Value):
    """A step that corrected earlier ones."""

    step: int
    fixes: tuple[int, ...]


class Scorecard(Value):
    """What the service says of one trace."""

    trace_id: str
    source_format: str
    rubric: RubricRef
    judge: str
    judge_digest: str
    judge_note: str = ""
    """What a reader must know of this judge."""
    provisional: bool
    """True until the judge was validated against human labels for this rubric."""
    validation: Validation | None = None
    """By which labels and which rule; null where no service said."""
    range: str
    """The steps that the scores cover, such as `1-5`."""
    total_steps: int
    grouping: Grouping
    groups: tuple[tuple[int, ...], ...]
    """Step indices by scored unit."""
    steps: tuple[StepScore, ...]
    scores: Scores
    recoveries: tuple[Recovery, ...]
    answers: int
    """Answers in the range, over all units and criteria."""
    undetermined: int
    """Answers among them that could not be had. They are in no numerator and no denominator."""
    causes: dict[Cause, int]
    """Why, and how many of each."""
    ungrounded: int
    """Answers with a quote that does not stand where the judge said, or with none."""
    cached_steps: int
    requests: int
    """Model calls that this request paid for."""
    cost_usd: float | None
    """What this request spent; null when a price is not known."""
    notes: tuple[str, ...] = ()
    """What the trace's format could not say."""
    service_version: str


class Scored(Value):
    """Streaming: one step's verdict has landed."""

    type: Literal["step"] = "step"
    step: StepScore
    done: int
    total: int


class Finished(Value):
    """Streaming: the last line."""

    type: Literal["scorecard"] = "scorecard"
    scorecard: Scorecard


class Broken(Value):
    """Streaming: the last line when scoring could not be finished."""

    type: Literal["problem"] = "problem"
    problem: Problem


Event = Annotated[Scored | Finished | Broken, Field(discriminator="type")]


class Estimate(Value):
    """What scoring would take, before anything is spent."""

    trace_id: str
    steps: int
    calls: int
    cached_steps: int
    """Steps whose verdict is remembered."""
    settled_steps: int
    """Steps that facts settle, without a model."""
    requests: int
    """Model calls that would be made, without re-asks."""
    prompt_tokens: int
    """Estimated: characters / 4."""
    completion_tokens: int
    """Estimated from the number of answers."""
    cost_usd: float | None
    """Upper estimate at the listed price, without discount for cached prefixes; null when the price is not known.

    Of a cascade, with as many escalations as are to be expected: those are counted in `requests` and the tokens too.
    """
    most_requests: int
    """Model calls if everything were escalated; `requests` for every judge but a cascade."""
    most_cost_usd: float | None
    """Their cost."""
    note: str = ""
    """What to consider before it is paid; empty when nothing."""


class ReadTraces(Value):
    """What a document held."""

    traces: tuple[Trace, ...]


class FormatCard(Value):
    """A format that is read."""

    name: str
    title: str


class JudgeCard(Value):
    """A judge of this service."""

    name: str
    digest: str
    default: bool
    specification: JsonObject
    note: str = ""


class BatchCard(Value):
    """A batch that was sent to a provider."""

    name: str
    judge: str
    provider_id: str | None
    """The provider's own name for it; null when it is not known whether the provider has it."""
    state: Literal["sending", "sent", "done"]
    told: str
    """What the provider last said of it, such as `in_progress` or `expired`."""
    questions: int
    created_at: str
    """RFC 3339, UTC."""


class Batches(Value):
    """Questions that go to providers in batches."""

    open: int
    """Questions that no batch has taken yet."""
    under_way: int
    """Questions in batches that have not been collected."""
    batches: tuple[BatchCard, ...]
    """Newest first."""


class VerdictSummary(Value):
    """A verdict in a list."""

    verdict_id: str
    key: str
    """Equal for verdicts on the same question to the same judge, asked at different times."""
    created_at: str
    rubric: str
    judge: str
    judge_digest: str
    model: str | None
    """The model that the provider says it ran; null when no model was asked."""
    partial: bool
    """Whether it answers only what a cascade escalated to this judge."""
    state_digest: str
    step_digest: str
    """What was judged: labels of the step name the same two."""
    step: int
    answers: dict[str, tuple[AnswerWord, ...]]
    """By criterion: one word per call, or one for the step."""
    undetermined: int
    """How many of the answers are."""
    cost_usd: float | None


class VerdictPage(Value):
    """A page of verdicts, newest first."""

    verdicts: tuple[VerdictSummary, ...]
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Audit(Value):
    """Everything about one verdict, with its prompts rendered again from the stored state."""

    record: VerdictRecord
    prompts: tuple[str, ...]
    """Each prompt, rendered again, word for word; none when no model was asked."""
    cuts: tuple[Cut, ...]
    """Everything that was cut from the prompts, of earlier steps too."""
    prompt_matches: bool | None
    """Whether their digests are those that were stored when they were sent; null when no model was asked."""
    state_matches: bool
    """Whether the stored steps hash to the verdict's state digest."""


class Health(Value):
    """Whether the service can work."""

    status: Literal["ok", "degraded"]
    version: str
    details: dict[str, str] = Field(default_factory=dict)

"""A verdict is what one judge said of one step under one rubric: an answer per criterion, with evidence and reason."""

from typing import Literal

from pydantic import Field

from stepjudge.rubric import AnswerWord
from stepjudge.value import JsonObject, Value

Cause = Literal[
    "rule_unknown",  # the offline rules cannot know
    "judge_unsure",  # the judge itself answered undetermined
    "evidence_unseen",  # it said so of a step of which something was cut or is not text
    "contradiction",  # answers that exclude each other, also after a re-ask
    "jury_split",  # no answer has more than half of the members that gave one, or fewer than the jury needs
    "malformed_reply",  # no readable reply, also after a re-ask
    "truncated_reply",  # the reply hit its length limit
    "refusal",  # the model declined
    "content_filter",  # the provider withheld the reply
    "context_too_long",  # the prompt does not fit the model's window
    "provider",  # the provider failed, also after retries
    "rejected",  # the provider will never accept this request: key, model name, parameters
    "budget",  # the cost limit was reached
    "in_batch",  # the question waits for a batch of the provider
]

PASSING: frozenset[Cause] = frozenset(
    {"malformed_reply", "truncated_reply", "provider", "rejected", "budget", "in_batch"}
)
"""Causes that may be gone at the next attempt: such a verdict is not remembered by the cache."""


class Evidence(Value):
    """A verbatim quote and where it stands, such as `s3.c1.result`."""

    place: str
    quote: str


class Answer(Value):
    """One answer to one criterion, of a call or of the step."""

    criterion: str
    call: int | None = None
    """Number of the call in the step, from 1; null when the answer is of the whole step or its message."""
    answer: AnswerWord
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    settled_by: Literal["facts", "judge"] = "judge"
    rule: str | None = None
    """Which fact or rule settled it, when no model did."""
    cause: Cause | None = None
    """Why there is no answer; set exactly when the answer is `undetermined`."""
    ungrounded: bool = False
    """Whether a quote does not stand where the judge said, or none was given."""
    fixes: tuple[int, ...] = ()
    """Earlier steps that a recovery corrects."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """Probability that the model gave this answer rather than another; null where the provider does not tell.

    Of a jury, the share of its members that gave this answer.
    """
    decided_by: tuple[str, ...] = ()
    """The members of a jury or a cascade that gave this answer; empty where one judge answered alone."""


class Fact(Value):
    """Something about a step computed from the trace alone."""

    name: str
    call: int | None = None
    detail: str = ""
    settles: bool = False
    """Whether the fact is definitional; all others are signals for the judge and the auditor."""


class Cut(Value):
    """A piece that was too long for the prompt: head and tail were shown, the middle was not."""

    place: str
    shown_head: int
    shown_tail: int
    length: int
    """All in characters."""


class Spent(Value):
    """What getting a verdict took. Sums over all attempts; null where the provider did not say."""

    model: str | None = None
    """The model that the provider says it ran."""
    requests: int = 0
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = 0.0
    """Null when the model's price is not known."""
    latency_s: float = 0.0


class Verdict(Value):
    """What one judge said of one step under one rubric."""

    verdict_id: str
    key: str
    """Digest of everything that the verdict depends on."""
    step: int
    """Index of the step in its trace. Equal prefixes of two traces have equal indices, so verdicts can be shared."""
    rubric: str
    """Digest of the rubric."""
    judge: str
    """Name of the judge."""
    answers: tuple[Answer, ...]
    inherits_from: tuple[int, ...] = ()
    """Earlier steps whose uncorrected error this step builds on. It does not change the step's own answers."""
    facts: tuple[Fact, ...] = ()
    cuts: tuple[Cut, ...] = ()
    """What was cut of the task, the tools and this step."""
    earlier_cuts: int = 0
    """How many pieces of earlier steps were cut too; each is listed with the verdict of its own step."""
    unfinished: Cause | None = None
    """Why a re-ask that was due did not happen; then the verdict is not remembered."""
    spent: Spent = Spent()

    @property
    def remembered(self) -> bool:
        """Whether the verdict may be answered again: nothing is missing for a cause that may pass."""
        return self.unfinished not in PASSING and not any(answer.cause in PASSING for answer in self.answers)

    @property
    def waiting(self) -> bool:
        """Whether it stands for a question that lies in a batch. Nobody keeps it."""
        return self.unfinished == "in_batch" or any(answer.cause == "in_batch" for answer in self.answers)

    @property
    def undetermined(self) -> int:
        """How many answers are undetermined."""
        return sum(answer.answer == "undetermined" for answer in self.answers)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that were answered, in order."""
        return tuple(dict.fromkeys(answer.criterion for answer in self.answers))

    def of(self, criterion: str) -> tuple[Answer, ...]:
        """The answers to one criterion: one per call, or one for the step."""
        return tuple(answer for answer in self.answers if answer.criterion == criterion)


class Part(Value):
    """A part of a question: a criterion, of one call or of the step."""

    criterion: str
    call: int | None = None


class Vote(Value):
    """What one member of a jury or a cascade said. The member's own verdict stands in the ledger beside this one.

    So does each criterion's, where a rubric has them asked one by one: the criterion then stands for the member.
    """

    member: str
    judge_digest: str
    verdict_id: str
    reused: bool
    """Whether it was remembered from before, and so cost nothing this time."""
    answers: tuple[Answer, ...]
    """To what it was asked."""


class VerdictRecord(Value):
    """A verdict as the ledger keeps it, with everything an auditor needs to check it."""

    verdict: Verdict
    rubric: str
    """`name@version`."""
    rubric_digest: str
    judge: JsonObject
    """The judge's specification: kind, model, endpoint, sampling parameters."""
    judge_digest: str
    prompt_version: str
    prompt_digests: tuple[str, ...]
    """Of each prompt: one, or one per criterion where the rubric wants each asked alone; none when no model was asked."""
    state_digest: str
    """Of the state before the step."""
    step_digest: str
    sample: int = 0
    """Number of the sample, when one judge is asked several times."""
    exchanges: tuple[JsonObject, ...] = ()
    """Every request's outcome: raw reply or error, tokens, latency, what was wrong with it.

    Of a jury or a cascade, what each member answered.
    """
    votes: tuple[Vote, ...] = ()
    """What each member of a jury or a cascade said, in the order of its seats; empty for a judge alone.

    What it spent is the sum over the members that were asked for it; their own verdicts state it too.
    """
    asked: tuple[Part, ...] | None = None
    """What a cascade escalated to this judge; null when it was asked all that facts leave open."""
    made: bool = False
    """Whether the trace was made to test the judge rather than met."""
    created_at: str
    """RFC 3339, UTC."""
    service_version: str

    @property
    def plain(self) -> bool:
        """Whether it is the judge's one answer to a whole question about a step that was met.

        Others are further samples, parts of a question, or about traces made to test the judge: rates, agreement and
        samples to label rest on the plain ones.
        """
        return self.asked is None and self.sample == 0 and not self.made

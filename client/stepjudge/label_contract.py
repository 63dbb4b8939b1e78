"""What travels between client and service about labels: steps to label, labels, and the agreement they show."""

from typing import Any

from pydantic import Field

from stepjudge.contract import RubricRef
from stepjudge.label import Label, Sampling
from stepjudge.labelled import LabelledVerdicts
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace
from stepjudge.validation import Validation
from stepjudge.value import Value
from stepjudge.verdict import Answer

MAX_LABELS = 5_000
"""Labels in one request."""


class KeepRequest(Value):
    """Keep the states of a trace, so that its steps can be labelled."""

    trace: Any
    """The trace, as JSON, in any format the service reads."""
    format: str | None = None
    rubric: str | Rubric = "step"
    """Under which it is labelled: it decides whether reasoning is part of a step."""


class KeptStep(Value):
    """A step by the digests that a label names."""

    step: int
    state_digest: str
    step_digest: str


class KeptTrace(Value):
    """A trace whose steps can be labelled."""

    trace_id: str
    task_digest: str
    rubric: RubricRef
    steps: tuple[KeptStep, ...]


class NewLabels(Value):
    """Labels to store: all of them or, when one is refused, none."""

    labels: tuple[Label, ...] = Field(min_length=1, max_length=MAX_LABELS)


class StoredLabels(Value):
    """Labels as they were stored, with their ids and times."""

    labels: tuple[Label, ...]
    known: int
    """How many of them were stored already, just as they are."""


class LabelPage(Value):
    """A page of labels, newest first."""

    labels: tuple[Label, ...]
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class QueuedStep(Value):
    """A step to label, and how it was drawn."""

    state_digest: str
    step_digest: str
    task_digest: str
    step: int
    sampling: Sampling


class Queue(Value):
    """Steps of the ledger to label, in this order."""

    rubric: RubricRef
    population: int
    """Judged steps that they were drawn from."""
    steps: tuple[QueuedStep, ...]


class StepInState(Value):
    """A step with everything before it, as the ledger keeps it: what an annotator reads."""

    trace: Trace
    """It ends with the step."""


class StepVerdict(Value):
    """What one judge said of a step: its newest whole verdict under one version of a rubric."""

    verdict_id: str
    rubric: str
    rubric_digest: str
    judge: str
    judge_digest: str
    answers: tuple[Answer, ...]


class StepVerdicts(Value):
    """What every judge said of a step. An annotator sees it after answering, if at all."""

    verdicts: tuple[StepVerdict, ...]


class AgreementReport(Value):
    """One judge beside people under one version of a rubric."""

    labelled: LabelledVerdicts
    validation: Validation


class Agreements(Value):
    """The agreement of each judge that has judged labelled steps, by version of the rubric."""

    reports: tuple[AgreementReport, ...]

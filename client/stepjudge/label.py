"""A label is a person's answer to one question about a step: a criterion of a call or of the step, or the step's score.

It is tied to the content of the step and of everything before it, not to a run: it holds wherever that step comes again.
Nothing is ever edited. Changing one's mind, taking back and adjudicating are new labels that name the ones they replace.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from stepjudge.agreement import Answered
from stepjudge.rubric import AnswerWord, Rubric, split_reference
from stepjudge.trace import Step
from stepjudge.value import Value

SCORE = "score"
"""Stands for the criterion in a label of the whole step's score."""

Score = Literal[-1, 0, 1]
Design = Literal[
    "uniform",  # drawn at random, every step with the same chance
    "disagreement",  # steps on which judges differ came first
    "low_confidence",  # steps of which the judge was least sure came first
    "whole_traces",  # every step of the traces
    "chosen",  # picked by the annotator
    "unknown",
]

_DIGEST = r"^sha256:[0-9a-f]{64}$"
_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


def _printable(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError("an annotator's name has 1 to 100 characters, all of which can be seen")
    return name


def _time(text: str) -> str:
    if text:
        datetime.fromisoformat(text)  # its ValueError says what is wrong: a 30th of February
    return text


Annotator = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]


class Sampling(Value):
    """How the step came to be labelled. Rates may be estimated only from labels whose probability is known."""

    design: Design = "unknown"
    probability: float | None = Field(default=None, gt=0, le=1)
    """The chance that the step had of being drawn; null where nobody knows."""
    population: int | None = Field(default=None, ge=1)
    """How many steps it was drawn from."""
    seed: int | None = None


class Label(Value):
    """One answer of one person, as it is kept."""

    label_id: str = Field(default="", max_length=64, pattern=r"^[A-Za-z0-9._:-]*$")
    """Given by the service when empty."""
    state_digest: str = Field(pattern=_DIGEST)
    """Of everything before the step."""
    step_digest: str = Field(pattern=_DIGEST)
    task_digest: str = Field(pattern=_DIGEST)
    """Of what stands before the first step. Steps of one task share it: intervals draw tasks."""
    trace_id: str = Field(default="", max_length=1_000)
    """Where the annotator met the step."""
    step: int = Field(ge=1, le=2**31)
    """Index of the step in that trace."""
    rubric: str = Field(max_length=200)
    """`name@version` whose words the annotator read."""
    rubric_digest: str = Field(pattern=_DIGEST)
    criterion: str = Field(max_length=100)
    call: int | None = Field(default=None, ge=1, le=2**31)
    answer: AnswerWord | None = None
    """`undetermined`: the annotator could not tell."""
    score: Score | None = None
    """Only for the criterion `score`: −1 bad, 0 neither, +1 passes."""
    annotator: Annotator
    created_at: Annotated[str, AfterValidator(_time)] = Field(default="", pattern=rf"^$|{_TIME}")
    """RFC 3339, UTC; given by the service when empty."""
    blind: bool = False
    """Whether no judge's answer to the step was shown before."""
    sampling: Sampling = Sampling()
    note: str = Field(default="", max_length=4_000)
    supersedes: str | None = Field(default=None, max_length=64)
    """An earlier label of the same annotator, to the same question. With neither answer nor score it is taken back."""
    adjudicates: tuple[str, ...] = Field(default=(), max_length=100)
    """Labels of others, to the same question, that this one settles. When one of them falls, it settles nothing."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.answer is not None and self.score is not None:
            raise ValueError("a label has an answer or a score, not both")
        if self.withdrawn and self.supersedes is None:
            raise ValueError("a label has an answer or a score; without either it must say which label it takes back")
        if self.criterion == SCORE and self.answer not in (None, "undetermined"):
            raise ValueError(f"{SCORE!r} is answered with −1, 0 or 1, or `undetermined`")
        if self.criterion != SCORE and self.score is not None:
            raise ValueError(f"a score belongs to the criterion {SCORE!r}; {self.criterion!r} takes an answer word")
        if self.criterion == SCORE and self.call is not None:
            raise ValueError("a score is of the whole step, not of a call")
        return self

    @property
    def withdrawn(self) -> bool:
        return self.answer is None and self.score is None

    @property
    def said(self) -> Answered | None:
        return self.answer if self.answer is not None else self.score

    @property
    def moment(self) -> datetime:
        """When it was given; before all others where nobody says."""
        return datetime.fromisoformat(self.created_at) if self.created_at else datetime.min.replace(tzinfo=UTC)

    @property
    def rubric_name(self) -> str:
        return split_reference(self.rubric)[0]

    @property
    def question(self) -> "Question":
        return Question(self.state_digest, self.step_digest, self.rubric_name, self.criterion, self.call)


class Question(NamedTuple):
    """What a label answers. Versions of a rubric share their questions; whether the wording changed is told apart."""

    state_digest: str
    step_digest: str
    rubric_name: str
    criterion: str
    call: int | None


class Settled(NamedTuple):
    """Where people stand on one question."""

    question: Question
    said: Answered | None
    """Null when they differ and nobody has adjudicated."""
    labels: tuple[Label, ...]
    """Those that stand, of every annotator, without adjudications that have lapsed."""

    @property
    def adjudicated(self) -> bool:
        return any(label.adjudicates for label in self.labels)


def standing(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The labels that hold: none replaced or taken back.

    Of two by one annotator to one question the later one holds, also where it does not name the earlier. An adjudication
    stands beside its annotator's own answer: it takes the place of earlier adjudications only.
    """
    every = sorted(labels, key=lambda label: label.moment)  # stable: equal times keep their order
    replaced = {label.supersedes for label in every if label.supersedes}
    newest: dict[tuple[Question, str, bool], Label] = {}
    for label in every:
        if label.withdrawn:
            continue
        key = (label.question, label.annotator, bool(label.adjudicates))
        fallen = label.label_id in replaced and label.label_id
        if fallen and key in newest and newest[key].supersedes == label.label_id:
            continue  # whose clock was wrong: what replaces it bears an earlier time
        newest.pop(key, None)
        if not fallen:
            newest[key] = label
    return tuple(newest.values())


def settled(labels: Iterable[Label]) -> tuple[Settled, ...]:
    """Every question with where people stand: the last adjudication wins, else what more than half of them say.

    An annotator who could not tell counts as having said so. An adjudication lapses when a label that it names is replaced
    or taken back, since nobody has ruled on what is said now: it is no vote either, and the others decide.
    """
    every = tuple(labels)
    stand = standing(every)
    fell = {label.label_id for label in every} - {label.label_id for label in stand}
    by_question: dict[Question, list[Label]] = {}
    for label in stand:
        if fell.isdisjoint(label.adjudicates):
            by_question.setdefault(label.question, []).append(label)
    return tuple(Settled(question, _said(mine), tuple(mine)) for question, mine in by_question.items())


def questions(rubric: Rubric, step: Step) -> tuple[tuple[str, int | None], ...]:
    """What a person is asked about a step: criterion and call, without what does not apply by definition."""
    asked: list[tuple[str, int | None]] = []
    for criterion in rubric.criteria:
        if criterion.needs_call and not step.calls:
            continue
        if "first_step" in criterion.not_applicable_by_fact and step.index == 1:
            continue
        if criterion.unit == "call" and step.calls:
            asked += [(criterion.name, number) for number in range(1, len(step.calls) + 1)]
        else:
            asked.append((criterion.name, None))
    return tuple(asked)


def fault(label: Label, known: Mapping[str, Label]) -> str:
    """What is wrong with the labels that a new one names; empty when nothing is. `known` holds those, by id."""
    for name in filter(None, (label.supersedes, *label.adjudicates)):
        other = known.get(name)
        if other is None:
            return f"there is no label {name!r}"
        if other.question != label.question:
            return f"label {name!r} answers another question"
    if label.supersedes and known[label.supersedes].annotator != label.annotator:
        return f"label {label.supersedes!r} is of {known[label.supersedes].annotator!r}: to settle it, adjudicate"
    if own := [name for name in label.adjudicates if known[name].annotator == label.annotator]:
        return f"label {own[0]!r} is your own, {label.annotator!r}: replace it, or let somebody else adjudicate"
    return ""


def _said(labels: Sequence[Label]) -> Answered | None:
    if adjudications := [label for label in labels if label.adjudicates]:
        return adjudications[-1].said
    said = [label.said for label in labels]
    most = max(said, key=said.count)
    return most if 2 * said.count(most) > len(said) else None

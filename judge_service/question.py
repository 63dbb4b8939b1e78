"""A question is what a judge is asked about one step: the criteria that the facts left open, at the state at that point."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from stepjudge.rubric import Criterion, Rubric
from stepjudge.trace import Step, Trace
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Cause, Cut, Fact, Part, Spent, Vote


@dataclass(frozen=True)
class Asked:
    """One criterion, of one call or of the whole step (or of the message, when the step has no calls)."""

    criterion: Criterion
    call: int | None = None


@dataclass(frozen=True)
class Question:
    """Everything a judge may know. It must look at no step of the trace after `index`."""

    rubric: Rubric
    trace: Trace
    index: int
    """The step in question, from 1."""
    facts: tuple[Fact, ...]
    """Facts of this step."""
    asked: tuple[Asked, ...]
    elsewhere: tuple[Asked, ...] = ()
    """What facts leave open and yet is not asked, because others have answered it."""

    @property
    def step(self) -> Step:
        return self.trace.steps[self.index - 1]

    @property
    def form(self) -> tuple[Asked, ...]:
        """Everything that a reply has room for: what is asked, and what facts have settled already."""
        return things_to_ask(self.rubric, self.step)


@dataclass(frozen=True)
class Answered:
    """What a judge gave back: one answer for each thing asked, in that order, and how it came about."""

    answers: tuple[Answer, ...]
    inherits_from: tuple[int, ...] = ()
    prompt_digests: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()
    earlier_cuts: int = 0
    unfinished: Cause | None = None
    """Why a re-ask that was due did not happen."""
    exchanges: tuple[JsonObject, ...] = ()
    votes: tuple[Vote, ...] = ()
    spent: Spent = field(default_factory=Spent)


def narrowed(question: Question, parts: Collection[Part]) -> Question:
    """The question about these parts only; the others are answered elsewhere."""
    wanted = {(part.criterion, part.call) for part in parts}
    kept = tuple(item for item in question.asked if (item.criterion.name, item.call) in wanted)
    return replace(question, asked=kept, elsewhere=tuple(item for item in question.asked if item not in kept))


def things_to_ask(rubric: Rubric, step: Step) -> tuple[Asked, ...]:
    """Every criterion at every unit it applies to, before any fact is looked at."""
    asked: list[Asked] = []
    for criterion in rubric.criteria:
        if criterion.unit == "call" and step.calls:
            asked += [Asked(criterion, number) for number in range(1, len(step.calls) + 1)]
        else:
            asked.append(Asked(criterion))
    return tuple(asked)


def undetermined(asked: Asked, cause: Cause, reason: str) -> Answer:
    """No answer, and why."""
    return Answer(criterion=asked.criterion.name, call=asked.call, answer="undetermined", cause=cause, reason=reason)

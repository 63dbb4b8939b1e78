"""A review is one person's walk through a queue of judged steps: a key is an answer, and every answer is a label at once.

Nothing of a judge is in it before all questions about a step are answered. Nothing is ever edited: to change one's mind or
to take an answer back is a further label.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import anyio
from pydantic import Field, ValidationError

from judge_service.errors import RefusedLabel, UnknownRubric, UnknownStep
from judge_service.judged import Judged
from judge_service.label_store import LabelStore, Wanted
from judge_service.ledger import Ledger
from judge_service.state import restored
from stepjudge.contract import RubricRef
from stepjudge.label import Label, Question, Sampling, standing
from stepjudge.label import questions as asked_of
from stepjudge.label_contract import Queue, QueuedStep, StepVerdict
from stepjudge.label_sampling import Queued, drawn
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.trace import Trace
from stepjudge.value import Value

WORDS: Mapping[str, AnswerWord] = {"y": "yes", "n": "no", "a": "not_applicable", "u": "undetermined"}
"""What each key answers."""

MOST_STEPS = 500
"""Steps in one queue: about three hours of work."""

_REMEMBERED = 64
"""Queues that a process keeps. One is drawn again, and comes out the same, when it is not kept."""


class Plan(Value):
    """Which queue: the same plan is the same queue, in every replica and at any time."""

    rubric: str = Field(max_length=80)
    """Digest of the rubric."""
    judge: str | None = Field(default=None, max_length=200)
    """Only steps that this judge judged."""
    design: Queued = "uniform"
    count: int = Field(default=50, ge=1, le=MOST_STEPS)
    seed: int = Field(default=0, ge=0, le=2**53)
    until: int = Field(ge=0, le=2**62)
    """Number of the newest verdict when it was drawn: what is judged later is not in it."""


@dataclass(frozen=True)
class Sitting:
    """A step of the queue, and what is asked about it."""

    place: int
    """In the queue, from 1."""
    queued: QueuedStep
    asked: tuple[tuple[str, int | None], ...]
    """Criterion and call."""

    @property
    def key(self) -> tuple[str, str]:
        return self.queued.state_digest, self.queued.step_digest


@dataclass(frozen=True)
class Walk:
    """Where one annotator stands in a queue."""

    plan: Plan
    rubric: Rubric
    population: int
    sittings: Sequence[Sitting]
    annotator: str
    labels: Sequence[Label]
    """All that the annotator said under this rubric, oldest first."""

    @cached_property
    def mine(self) -> dict[Question, Label]:
        """What holds, by question."""
        return {label.question: label for label in standing(self.labels)}

    def question(self, sitting: Sitting, criterion: str, call: int | None) -> Question:
        return Question(*sitting.key, self.rubric.name, criterion, call)

    def said(self, sitting: Sitting, criterion: str, call: int | None) -> Label | None:
        return self.mine.get(self.question(sitting, criterion, call))

    def open(self, sitting: Sitting) -> tuple[str, int | None] | None:
        """The first question about the step that is not answered."""
        return next((each for each in sitting.asked if self.said(sitting, *each) is None), None)

    def at(self, place: int | None) -> Sitting | None:
        """The step at this place, or else the first that is open."""
        if place is None:
            return self.next(0)
        return next((each for each in self.sittings if each.place == place), None)

    def next(self, after: int) -> Sitting | None:
        """The first open step after this place; null when there is none, though there may be some before it."""
        return next((each for each in self.sittings if each.place > after and self.open(each)), None)

    @cached_property
    def complete(self) -> tuple[Sitting, ...]:
        """Steps of which every question is answered."""
        return tuple(each for each in self.sittings if self.open(each) is None)

    @cached_property
    def last(self) -> tuple[Sitting, Label] | None:
        """The answer given last in this queue, which can be taken back."""
        places = {self.question(each, *asked): each for each in self.sittings for asked in each.asked}
        mine = [label for label in self.mine.values() if label.question in places]
        newest = max(mine, key=lambda label: label.created_at, default=None)
        return None if newest is None else (places[newest.question], newest)

    def seen(self, sitting: Sitting) -> bool:
        """Whether the annotator may have seen what a judge said of the step.

        It is shown once all questions are answered, and stands beside answers that are not given blind.
        """
        open_ = {self.question(sitting, *each) for each in sitting.asked}
        given: set[Question] = set()
        for label in self.labels:
            if label.question not in open_:
                continue
            if not label.blind:
                return True
            (given.discard if label.withdrawn else given.add)(label.question)
            if given == open_:
                return True
        return False


@dataclass(frozen=True)
class JudgeSoFar:
    """A judge beside one annotator, on the steps of a queue that are complete."""

    judge: str
    judge_digest: str
    equal: int
    answered: int
    """Questions that both answered."""
    left_open: int
    """Questions that the annotator answered and the judge did not."""


class Reviews:
    """Walks over one ledger."""

    def __init__(self, ledger: Ledger, judged: Judged, labels: LabelStore) -> None:
        self._ledger = ledger
        self._judged = judged
        self._labels = labels
        self._queues: OrderedDict[Plan, tuple[int, tuple[Sitting, ...]]] = OrderedDict()

    async def newest(self) -> int:
        """The number of the newest verdict: what a new plan is drawn from."""
        return await anyio.to_thread.run_sync(self._judged.newest)

    async def walk(self, plan: Plan, annotator: str) -> Walk:
        """Raises UnknownRubric, LedgerUnavailable."""
        rubric = await self._ledger.rubric(plan.rubric)
        if rubric is None:
            raise UnknownRubric(f"no verdict by a rubric of digest {plan.rubric!r} in this ledger")
        population, sittings = await anyio.to_thread.run_sync(self._queue, plan, rubric)
        labels = await self._labels.every(Wanted(rubric=rubric.name, annotator=annotator))
        return Walk(plan, rubric, population, sittings, annotator, labels)

    async def trace(self, sitting: Sitting) -> Trace:
        """The step with everything before it, and nothing after. Raises UnknownStep."""
        stored = await self._ledger.chain(*sitting.key)
        if stored is None:
            raise UnknownStep("the step is not in this ledger any more")
        return await anyio.to_thread.run_sync(restored, *stored)

    async def answer(
        self, walk: Walk, sitting: Sitting, asked: tuple[str, int | None], said: AnswerWord, note: str = ""
    ) -> Label:
        """Record an answer; saying the same again records nothing. Raises RefusedLabel, LedgerUnavailable."""
        before = walk.said(sitting, *asked)
        if before is not None and before.answer == said and not note:
            return before
        return await self._keep(walk, sitting, asked, answer=said, note=note, supersedes=before and before.label_id)

    async def take_back(self, walk: Walk, label_id: str) -> Sitting | None:
        """Withdraw an answer that still holds; the step it is of, or null when there is nothing to withdraw."""
        if walk.last is None or walk.last[1].label_id != label_id:
            return None
        sitting, label = walk.last
        await self._keep(walk, sitting, (label.criterion, label.call), supersedes=label_id)
        return sitting

    async def said_by_judges(self, sitting: Sitting, rubric: Rubric) -> tuple[StepVerdict, ...]:
        """What judges said of the step under any version of the rubric. Only for steps that are complete."""
        found = await anyio.to_thread.run_sync(self._judged.of_step, *sitting.key)
        return tuple(each for each in found if each.rubric.partition("@")[0] == rubric.name)

    async def so_far(self, walk: Walk) -> tuple[JudgeSoFar, ...]:
        """Each judge of this version of the rubric beside the annotator, on complete steps."""
        return await anyio.to_thread.run_sync(self._so_far, walk)

    async def _keep(self, walk: Walk, sitting: Sitting, asked: tuple[str, int | None], **fields: object) -> Label:
        queued = sitting.queued
        body = {
            "state_digest": queued.state_digest,
            "step_digest": queued.step_digest,
            "task_digest": queued.task_digest,
            "step": queued.step,
            "criterion": asked[0],
            "call": asked[1],
            "blind": not walk.seen(sitting),
            "sampling": queued.sampling,
        }
        label = made_label(walk.rubric, walk.annotator, {**body, **fields})
        (stored,), _ = await self._labels.add([label])
        return stored

    def _so_far(self, walk: Walk) -> tuple[JudgeSoFar, ...]:
        pairs = [each for each in self._judged.pairs(walk.rubric.name) if each.rubric_digest == walk.rubric.digest]
        found: list[JudgeSoFar] = []
        for pair in pairs if walk.complete else ():
            answers = self._judged.answers(
                (pair.rubric_digest, pair.judge_digest), [each.key for each in walk.complete]
            )
            both = list(
                _both(walk, {key: {(a.criterion, a.call): a.answer for a in said} for key, said in answers.items()})
            )
            given = [(mine, theirs) for mine, theirs in both if theirs != "undetermined"]
            equal = sum(mine == theirs for mine, theirs in given)
            found.append(JudgeSoFar(pair.judge, pair.judge_digest, equal, len(given), len(both) - len(given)))
        return tuple(each for each in found if each.answered or each.left_open)

    def _queue(self, plan: Plan, rubric: Rubric) -> tuple[int, tuple[Sitting, ...]]:
        if known := self._queues.get(plan):
            return known
        queue = drawn_queue(
            self._judged,
            rubric,
            judge=plan.judge,
            design=plan.design,
            count=plan.count,
            seed=plan.seed,
            until=plan.until,
        )
        kept = self._judged.steps([each.step_digest for each in queue.steps])
        sittings = tuple(
            Sitting(place, each, asked_of(rubric, step.model_copy(update={"index": each.step})))
            for place, each in enumerate(queue.steps, start=1)
            if (step := kept.get(each.step_digest)) is not None
        )
        self._queues[plan] = queue.population, sittings
        while len(self._queues) > _REMEMBERED:
            self._queues.popitem(last=False)
        return queue.population, sittings


def _both(
    walk: Walk, judge: Mapping[tuple[str, str], Mapping[tuple[str, int | None], AnswerWord]]
) -> Iterable[tuple[AnswerWord, AnswerWord]]:
    """(the annotator's, the judge's) answer to each question of complete steps that this judge judged."""
    for sitting in walk.complete:
        said = judge.get(sitting.key)
        if said is None:
            continue
        for asked in sitting.asked:
            label = walk.said(sitting, *asked)
            if label is not None and label.answer not in (None, "undetermined"):
                yield label.answer, said.get(asked, "undetermined")


def made_label(rubric: Rubric, annotator: str, fields: Mapping[str, object]) -> Label:
    """A label under this rubric. Raises RefusedLabel where its fields do not go together."""
    try:
        return Label.model_validate(
            {"rubric": rubric.reference, "rubric_digest": rubric.digest, "annotator": annotator, **fields}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RefusedLabel(f"{'.'.join(map(str, first['loc'])) or 'the label'}: {first['msg']}") from error


def drawn_queue(
    judged: Judged,
    rubric: Rubric,
    *,
    judge: str | None,
    design: Queued,
    count: int,
    seed: int,
    until: int | None = None,
) -> Queue:
    """Steps to label, drawn from what is judged under this rubric, up to the verdict of number `until`. Blocks."""
    population = judged.population(rubric.digest, judge, until=until)
    places = {candidate.key: (key, index) for candidate, key, index in population}
    chosen = drawn([candidate for candidate, _, _ in population], count, design=design, seed=seed)
    tasks = judged.tasks([places[each.key][0][0] for each in chosen])
    return Queue(
        rubric=RubricRef(name=rubric.name, version=rubric.version, digest=rubric.digest),
        population=len(population),
        steps=tuple(
            QueuedStep(
                state_digest=state,
                step_digest=step,
                task_digest=tasks.get(state, state),
                step=index,
                sampling=each.sampling,
            )
            for each in chosen
            for (state, step), index in (places[each.key],)
        ),
    )


async def override(
    ledger: Ledger,
    judged: Judged,
    labels: LabelStore,
    annotator: str,
    *,
    verdict_id: str,
    criterion: str,
    call: int | None,
    said: AnswerWord,
    note: str,
) -> Label:
    """A person's answer beside a judge's, given with that in view: a label that is not blind, of a step that was picked.

    Raises UnknownStep, RefusedLabel, LedgerUnavailable.
    """
    record = await ledger.record(verdict_id)
    rubric = record and await ledger.rubric(record.rubric_digest)
    if record is None or rubric is None:
        raise UnknownStep(f"no verdict {verdict_id[:80]!r} in this ledger")
    if not any((each.criterion, each.call) == (criterion, call) for each in record.verdict.answers):
        raise RefusedLabel(f"the verdict has no answer to {criterion[:100]!r}{f' of call {call}' if call else ''}")
    tasks = await anyio.to_thread.run_sync(judged.tasks, [record.state_digest])
    fields: dict[str, object] = {
        "state_digest": record.state_digest,
        "step_digest": record.step_digest,
        "task_digest": tasks.get(record.state_digest, record.state_digest),
        "step": record.verdict.step,
        "criterion": criterion,
        "call": call,
        "answer": said,
        "note": note,
        "blind": False,
        "sampling": Sampling(design="chosen"),
    }
    label = made_label(rubric, annotator, fields)
    own = await labels.every(
        Wanted(
            rubric=rubric.name, annotator=annotator, state_digest=record.state_digest, step_digest=record.step_digest
        )
    )
    before = next((each for each in standing(own) if each.question == label.question), None)
    (stored,), _ = await labels.add([label.model_copy(update={"supersedes": before and before.label_id})])
    return stored

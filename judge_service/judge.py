"""Judging takes every criterion of every step through facts, cache, judge and ledger, and never drops one."""

import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial

import anyio

from judge_service.budget import Budget
from judge_service.cache import Cache
from judge_service.chain import Chain
from judge_service.consistency import abstained
from judge_service.errors import LedgerUnavailable
from judge_service.facts import facts, settle
from judge_service.flight import Flights
from judge_service.judges.each_alone import alone, each_alone
from judge_service.judges.judge import Court, NamedJudge, Seat
from judge_service.lease import Leases
from judge_service.ledger import Ledger
from judge_service.limiter import CALLER
from judge_service.load import Load, advice, expected_load, load, most_load
from judge_service.model import SAMPLE
from judge_service.prompt import PROMPT_VERSION, version_under
from judge_service.question import Answered, Question, narrowed, undetermined
from judge_service.register import Register
from judge_service.room import Room
from judge_service.scoring import scoring
from judge_service.shown import Shown, mark
from judge_service.state import content, opening, states
from judge_service.under_way import UnderWay
from judge_service.validity import Validity
from judge_service.watch import Watch, told
from stepjudge.contract import Estimate
from stepjudge.digest import digest
from stepjudge.grouping import Grouping
from stepjudge.rubric import Rubric
from stepjudge.scorecard import Bench, Landed
from stepjudge.trace import Trace
from stepjudge.verdict import Answer, Fact, Part, Spent, Verdict, VerdictRecord

OnLanding = Callable[[int, Landed], Awaitable[None]]
"""Called with a step's index and its verdict as it lands."""


@dataclass(frozen=True)
class Case:
    """One trace to be judged: which steps, by whom, under which rubric, for how much."""

    trace: Trace
    rubric: Rubric
    judge: NamedJudge
    indices: tuple[int, ...]
    """Steps to score, ascending."""
    grouping: Grouping = "none"
    budget_usd: float | None = None
    fresh: bool = False
    sample: int = 0
    """Number of the sample, when one judge is asked several times."""
    prompt_version: str = PROMPT_VERSION
    made: bool = False
    """Whether the trace was made to test the judge."""
    purse: Budget | None = None
    """What the caller's key may spend in all its requests; null where nothing limits that."""
    asked: tuple[Part, ...] | None = None
    """What a cascade escalated to this judge; null for all that facts leave open."""

    @cached_property
    def digests(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(states, steps) of the trace."""
        return states(self.trace, reasoning=self.rubric.shows_reasoning)

    @cached_property
    def rubric_digest(self) -> str:
        return self.rubric.digest  # canonical JSON of the whole rubric: once for all steps

    @cached_property
    def shown_version(self) -> str:
        return version_under(self.rubric, self.prompt_version)

    @cached_property
    def facts(self) -> tuple[tuple[Fact, ...], ...]:
        """Facts of every step of the trace."""
        return facts(self.trace)

    def key(self, index: int) -> str:
        """The verdict's key: everything that the answers to step `index` depend on, and nothing else."""
        before, steps = self.digests
        return digest(
            [
                self.rubric_digest,
                self.shown_version,
                self.judge.digest,
                before[index - 1],
                steps[index - 1],
                self.sample,
                *([] if self.asked is None else [[[part.criterion, part.call] for part in self.asked]]),
            ]
        )

    def landed(self, index: int, verdict: Verdict, *, cached: bool) -> Landed:
        """The verdict on step `index`, with the digests that labels of the step name too."""
        before, steps = self.digests
        return Landed(verdict, cached, before[index - 1], steps[index - 1])

    def seated(self, seat: Seat, asked: tuple[Part, ...] | None = None) -> "Case":
        """The same for one member of a court. What was worked out about the trace is kept."""
        case = replace(self, judge=seat.judge, sample=self.sample * seat.samples + seat.sample, asked=asked)
        return self._sharing(case)

    @cached_property
    def parts(self) -> "Mapping[str, Case]":
        """By criterion, the case of that criterion alone; none where one call answers all of them."""
        if self.rubric.ask == "step" or not self.judge.judge.asks_model or isinstance(self.judge.judge, Court):
            return {}
        alone_ = {each.name: alone(self.rubric, each) for each in self.rubric.criteria}
        return {name: self._sharing(replace(self, rubric=rubric, asked=None)) for name, rubric in alone_.items()}

    def part(self, name: str, index: int) -> "Case":
        """The criterion's own case, asked about this step only what this one is."""
        case = self.parts[name]
        if self.asked is None:
            return case
        asked = tuple(each for each in self.asked if each.criterion == name)
        every = {item.call for item in case.question(index)[0].asked}
        return case if {each.call for each in asked} >= every else self._sharing(replace(case, asked=asked))

    def _sharing(self, case: "Case") -> "Case":
        known = {name: self.__dict__[name] for name in ("digests", "facts") if name in self.__dict__}
        case.__dict__.update(known)
        return case

    def leaders(self, indices: Sequence[int]) -> list[int]:
        """The longest prompt for each shape of reply: it warms the provider's prefix cache for all others of its shape.

        Providers put the reply's schema before the prompt, and that depends on the number of calls.
        """
        longest = {max(1, len(self.trace.steps[index - 1].calls)): index for index in sorted(indices)}
        return sorted(longest.values())

    def question(self, index: int) -> tuple[Question, tuple[Answer, ...]]:
        """What is left to ask about a step, and the answers that facts settle."""
        found = self.facts[index - 1]
        settled, asked = settle(self.rubric, self.trace.steps[index - 1], found)
        question = Question(self.rubric, self.trace, index, found, asked)
        return question if self.asked is None else narrowed(question, self.asked), settled


class Judging:
    """The service's judges at work, over one cache and one ledger."""

    def __init__(
        self,
        *,
        cache: Cache,
        ledger: Ledger,
        validity: Validity,
        concurrency: int,
        version: str,
        watch: Watch | None = None,
        register: Register | None = None,
        under_way: UnderWay | None = None,
    ) -> None:
        self._under_way = under_way
        self._register = register
        self._cache = cache
        self._ledger = ledger
        self._validity = validity
        self._limiter = anyio.CapacityLimiter(concurrency)
        self._room = Room()
        self._flights = Flights(Leases(cache, ledger))
        self._version = version
        self._watch = watch or Watch()

    @property
    def waiting(self) -> int:
        """Steps that wait for a place to be judged."""
        return self._limiter.statistics().tasks_waiting

    @property
    def cache_well(self) -> bool:
        """False while verdicts cannot be cached."""
        return self._cache.well

    def bench(self, case: Case) -> Bench:
        """What stands on the scorecard about who judged. Provisional until labels have validated the judge. Blocks."""
        standing = self._validity.standing(case.rubric, case.judge.digest)
        return Bench(
            case.judge.name, case.judge.digest, case.judge.judge.note, not standing.validated, self._version, standing
        )

    async def judge(self, case: Case, on_landing: OnLanding | None = None) -> Mapping[int, Landed]:
        """A verdict for each step of the case, by index. Raises LedgerUnavailable when one cannot be stored."""
        await anyio.to_thread.run_sync(lambda: case.digests)
        CALLER.set(object())
        landed: dict[int, Landed] = {}
        try:
            await self._watched(case, landed, on_landing)
        finally:
            with anyio.CancelScope(shield=True):
                await self._enter(case, landed)
        return landed

    async def _watched(self, case: Case, landed: dict[int, Landed], on_landing: OnLanding | None) -> None:
        """Judge, and count for those who watch."""
        if self._under_way is None:
            await self._judge(case, landed, on_landing)
            return
        names = (case.trace.trace_id, case.rubric.reference, case.judge.name)
        with self._under_way.scoring(*names, len(case.indices)) as progress:

            async def told(index: int, item: Landed) -> None:
                progress.landed(item.cost_usd)
                await _tell(on_landing, index, item)

            await self._judge(case, landed, told)

    async def _judge(self, case: Case, landed: dict[int, Landed], on_landing: OnLanding | None) -> None:
        landed.update({} if case.fresh else await self._recalled(case))
        for index, item in sorted(landed.items()):
            self._watch.landed(case.judge.name, item)
            await _tell(on_landing, index, item)
        missing = [index for index in case.indices if index not in landed]
        if not missing:
            return
        await anyio.to_thread.run_sync(lambda: case.facts)
        await self._keep(case, missing[-1])
        await self._recall_members(replace(case, indices=tuple(missing)))
        shown = self._shown(case)
        budget = Budget(case.budget_usd, case.purse)

        async def one(index: int) -> None:
            landed[index] = await self._flown(case, index, shown, budget)
            self._watch.landed(case.judge.name, landed[index])
            await _tell(on_landing, index, landed[index])

        first = case.leaders(missing) if case.judge.judge.asks_model else []
        await _all(one, first)
        await _all(one, [index for index in missing if index not in first])

    async def _enter(self, case: Case, landed: Mapping[int, Landed]) -> None:
        """List what has landed, also of a scoring that was broken off. Samples, and traces made for a test, are not listed."""
        if self._register is None or not landed or case.made or case.sample:
            return
        judge = (case.judge.name, case.judge.digest)
        made = await anyio.to_thread.run_sync(scoring, case.trace, case.rubric, judge, case.digests, dict(landed))
        await self._register.enter(made)

    async def estimate(self, case: Case) -> Estimate:
        """What judging would take. Asks no model."""
        recalled = {} if case.fresh else await self._recalled(case)
        shown = self._shown(case)
        questions = [case.question(index)[0] for index in case.indices if index not in recalled]
        asking = [question for question in questions if question.asked]
        loads = await self._loads(case, asking, shown)
        expected, most = expected_load(loads), most_load(loads)
        return Estimate(
            trace_id=case.trace.trace_id,
            steps=len(case.indices),
            calls=sum(len(case.trace.steps[index - 1].calls) for index in case.indices),
            cached_steps=len(recalled),
            settled_steps=len(questions) - len(asking),
            requests=expected.requests,
            prompt_tokens=expected.prompt_tokens,
            completion_tokens=expected.completion_tokens,
            cost_usd=expected.cost_usd,
            most_requests=most.requests,
            most_cost_usd=most.cost_usd,
            note=advice(loads),
        )

    async def _loads(self, case: Case, asking: Sequence[Question], shown: Shown) -> list[Load]:
        """What each question takes of each judge that is asked, with the share of questions that reach that judge."""
        judge = case.judge.judge
        if case.parts:
            return await self._loads_alone(case, asking, shown)
        if not isinstance(judge, Court):
            return [await anyio.to_thread.run_sync(load, judge, question, shown) for question in asking]
        loads: list[Load] = []
        for seat in judge.seats:
            seated = replace(case.seated(seat), indices=tuple(question.index for question in asking))
            known = {} if case.fresh else await self._recalled(seated)
            open_ = [question for question in asking if question.index not in known]
            loads += [replace(each, share=seat.share) for each in await self._loads(seated, open_, shown)]
        return loads

    async def _loads_alone(self, case: Case, asking: Sequence[Question], shown: Shown) -> list[Load]:
        """The same, where each criterion is asked by itself: those that are remembered take nothing."""
        judge, loads = case.judge.judge, list[Load]()
        assert not isinstance(judge, Court)
        for name, part in case.parts.items():
            wanted = [each.index for each in asking if any(item.criterion.name == name for item in each.asked)]
            known = {} if case.fresh else await self._recalled(replace(part, indices=tuple(wanted)))
            questions = [part.question(index)[0] for index in wanted if index not in known]
            loads += [await anyio.to_thread.run_sync(load, judge, each, shown) for each in questions]
        return loads

    def _shown(self, case: Case) -> Shown:
        fence = mark(bytes.fromhex(self._ledger.fence_key), case.digests[0][0])
        return Shown(case.trace, fence, reasoning=case.rubric.shows_reasoning)

    async def _recalled(self, case: Case) -> dict[int, Landed]:
        """Verdicts that the cache remembers, or else the ledger."""
        keys = {index: case.key(index) for index in case.indices}
        cached = await self._cache.get_all(tuple(keys.values()))
        found = {index: cached[key] for index, key in keys.items() if key in cached}
        recorded = await self._ledger.remembered([key for index, key in keys.items() if index not in found])
        for index, key in keys.items():
            if verdict := recorded.get(key):
                found[index] = verdict
                await self._cache.put(verdict)
        return {index: case.landed(index, verdict, cached=True) for index, verdict in found.items()}

    async def _keep(self, case: Case, last: int) -> None:
        before, steps = case.digests
        contents = tuple(content(step, reasoning=case.rubric.shows_reasoning) for step in case.trace.steps[:last])
        chain = Chain(opening(case.trace), contents, before[: last + 1], steps[:last])
        alone_ = [alone(case.rubric, each) for each in case.rubric.criteria] if case.rubric.ask == "criterion" else []
        await self._ledger.keep(chain, case.rubric, *alone_)

    async def _flown(self, case: Case, index: int, shown: Shown, budget: Budget) -> Landed:
        """Judge a step, or wait for another request that is judging the same."""
        if case.fresh:
            return case.landed(index, await self._judged(case, index, shown, budget), cached=False)
        key = case.key(index)
        if verdict := await self._cache.get(key):
            return case.landed(index, verdict, cached=True)  # it landed since this request looked
        judged = partial(self._judged, case, index, shown, budget)
        verdict, own = await self._flights.fly(key, judged, shared=case.judge.judge.asks_model)
        return case.landed(index, verdict, cached=not own)

    async def _judged(self, case: Case, index: int, shown: Shown, budget: Budget) -> Verdict:
        with self._watch.judging(case.judge.name, case.rubric.reference, index) as span:
            verdict = await self._landing(case, index, shown, budget)
            told(span, verdict)
        return verdict

    async def _landing(self, case: Case, index: int, shown: Shown, budget: Budget) -> Verdict:
        question, settled = case.question(index)
        answered = await self._answered(case, question, shown, budget) if question.asked else Answered(())
        verdict = Verdict(
            verdict_id=uuid.uuid4().hex,
            key=case.key(index),
            step=index,
            rubric=case.rubric_digest,
            judge=case.judge.name,
            answers=_all_answers(case.rubric, question, settled, answered),
            inherits_from=answered.inherits_from,
            facts=question.facts,
            cuts=answered.cuts,
            earlier_cuts=answered.earlier_cuts,
            unfinished=answered.unfinished,
            spent=answered.spent,
        )
        if verdict.waiting:
            return _unsaid(case, question, settled, verdict)
        # what was paid for is stored, even when the client has gone meanwhile
        with anyio.CancelScope(shield=True):
            with self._watch.storing():
                await self._ledger.append(self._record(case, verdict, answered))
            if verdict.remembered:
                await self._cache.put(verdict)
        return verdict

    async def _answered(self, case: Case, question: Question, shown: Shown, budget: Budget) -> Answered:
        judge = case.judge.judge
        if isinstance(judge, Court):
            # it holds no place itself: its members wait for theirs
            return await judge.convene(question, partial(self._heard, case, question.index, shown, budget))
        if case.parts:
            return await each_alone(
                question, case.judge, partial(self._heard_alone, case, question.index, shown, budget)
            )
        length = shown.length(question.index) if judge.asks_model else 0
        SAMPLE.set(case.sample)
        async with self._limiter, self._room.holding(length):
            return await judge.answer(question, shown, budget)

    async def _heard(
        self, case: Case, index: int, shown: Shown, budget: Budget, seat: Seat, asked: tuple[Part, ...] | None
    ) -> Landed:
        """A member's own verdict, remembered or asked for."""
        return await self._flown(case.seated(seat, asked), index, shown, budget)

    async def _heard_alone(
        self, case: Case, index: int, shown: Shown, budget: Budget, seat: Seat, _asked: tuple[Part, ...] | None
    ) -> Landed:
        """The verdict on the criterion whose name the seat has, remembered or asked for."""
        return await self._flown(case.part(seat.name, index), index, shown, budget)

    async def _recall_members(self, case: Case) -> None:
        """Put what the ledger remembers of a court's members, or of criteria alone, where it is found step by step."""
        judge = case.judge.judge
        if case.fresh:
            return
        for part in case.parts.values():
            await self._recalled(part)
        if isinstance(judge, Court):
            for seat in judge.seats:
                await self._recalled(seated := case.seated(seat))
                await self._recall_members(seated)

    def _record(self, case: Case, verdict: Verdict, answered: Answered) -> VerdictRecord:
        before, steps = case.digests
        return VerdictRecord(
            verdict=verdict,
            rubric=case.rubric.reference,
            rubric_digest=case.rubric_digest,
            judge=case.judge.specification,
            judge_digest=case.judge.digest,
            prompt_version=case.shown_version,
            prompt_digests=answered.prompt_digests,
            state_digest=before[verdict.step - 1],
            step_digest=steps[verdict.step - 1],
            sample=case.sample,
            exchanges=answered.exchanges,
            votes=answered.votes,
            asked=case.asked,
            made=case.made,
            created_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            service_version=self._version,
        )


def _all_answers(
    rubric: Rubric, question: Question, settled: Sequence[Answer], answered: Answered
) -> tuple[Answer, ...]:
    """Settled and judged answers, by criterion in the rubric's order, then by call."""
    order = {criterion.name: place for place, criterion in enumerate(rubric.criteria)}
    answers = sorted((*settled, *answered.answers), key=lambda answer: (order[answer.criterion], answer.call or 0))
    return abstained(rubric, answers)


def _unsaid(case: Case, question: Question, settled: Sequence[Answer], verdict: Verdict) -> Verdict:
    """While one answer waits in a batch, none is given that another judge may have said already."""
    waiting = tuple(undetermined(item, "in_batch", "the question waits in a batch") for item in question.asked)
    answers = _all_answers(case.rubric, question, settled, Answered(waiting))
    return verdict.model_copy(update={"answers": answers, "unfinished": None, "spent": Spent()})


async def _all(one: Callable[[int], Coroutine[None, None, None]], indices: Sequence[int]) -> None:
    """Judge all these steps at once. What a provider does is a value by now: only the ledger can refuse."""
    try:
        async with anyio.create_task_group() as group:
            for index in indices:
                group.start_soon(one, index)
    except* LedgerUnavailable as refused:
        raise LedgerUnavailable(str(refused.exceptions[0])) from refused


async def _tell(on_landing: OnLanding | None, index: int, landed: Landed) -> None:
    if on_landing is not None:
        await on_landing(index, landed)

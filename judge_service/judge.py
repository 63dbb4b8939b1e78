"""Judging takes every criterion of every step through facts, cache, judge and ledger, and never drops one."""

import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial

import anyio

from judge_service.budget import Budget
from judge_service.cache import Cache
from judge_service.consistency import abstained
from judge_service.errors import LedgerUnavailable
from judge_service.facts import facts, settle
from judge_service.flight import Flights
from judge_service.judges.judge import Judge
from judge_service.ledger import Chain, Ledger
from judge_service.prompt import PROMPT_VERSION
from judge_service.question import Answered, Question, requests
from judge_service.room import Room
from judge_service.shown import Shown, mark
from judge_service.state import content, opening, states
from stepjudge.contract import Estimate
from stepjudge.digest import digest
from stepjudge.grouping import Grouping
from stepjudge.rubric import Rubric
from stepjudge.scorecard import Bench, Landed
from stepjudge.trace import Trace
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Fact, Verdict, VerdictRecord

OnLanding = Callable[[int, Landed], Awaitable[None]]
"""Called with a step's index and its verdict as it lands."""


@dataclass(frozen=True)
class NamedJudge:
    """A judge as this service offers it."""

    name: str
    judge: Judge

    @cached_property
    def specification(self) -> JsonObject:
        return self.judge.specification()

    @cached_property
    def digest(self) -> str:
        return digest(self.specification)


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

    @cached_property
    def digests(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(states, steps) of the trace."""
        return states(self.trace, reasoning=self.rubric.shows_reasoning)

    @cached_property
    def facts(self) -> tuple[tuple[Fact, ...], ...]:
        """Facts of every step of the trace."""
        return facts(self.trace)

    def key(self, index: int) -> str:
        """The verdict's key: everything that the answers to step `index` depend on, and nothing else."""
        before, steps = self.digests
        return digest(
            [
                self.rubric.digest,
                self.prompt_version,
                self.judge.digest,
                before[index - 1],
                steps[index - 1],
                self.sample,
            ]
        )

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
        return Question(self.rubric, self.trace, index, found, asked), settled


class Judging:
    """The service's judges at work, over one cache and one ledger."""

    def __init__(self, *, cache: Cache, ledger: Ledger, concurrency: int, version: str) -> None:
        self._cache = cache
        self._ledger = ledger
        self._limiter = anyio.CapacityLimiter(concurrency)
        self._room = Room()
        self._flights = Flights()
        self._version = version

    def bench(self, case: Case) -> Bench:
        """What stands on the scorecard about who judged. Provisional until labels have validated the judge."""
        return Bench(case.judge.name, case.judge.digest, case.judge.judge.note, True, self._version)

    async def judge(self, case: Case, on_landing: OnLanding | None = None) -> Mapping[int, Landed]:
        """A verdict for each step of the case, by index. Raises LedgerUnavailable when one cannot be stored."""
        await anyio.to_thread.run_sync(lambda: case.digests)
        landed = {} if case.fresh else await self._recalled(case)
        for index, item in sorted(landed.items()):
            await _tell(on_landing, index, item)
        missing = [index for index in case.indices if index not in landed]
        if not missing:
            return landed
        await anyio.to_thread.run_sync(lambda: case.facts)
        await self._keep(case, missing[-1])
        shown = self._shown(case)
        budget = Budget(case.budget_usd)

        async def one(index: int) -> None:
            landed[index] = await self._flown(case, index, shown, budget)
            await _tell(on_landing, index, landed[index])

        first = case.leaders(missing) if case.judge.judge.asks_model else []
        await _all(one, first)
        await _all(one, [index for index in missing if index not in first])
        return landed

    async def estimate(self, case: Case) -> Estimate:
        """What judging would take. Asks no model."""
        recalled = {} if case.fresh else await self._recalled(case)
        shown = self._shown(case)
        questions = [case.question(index)[0] for index in case.indices if index not in recalled]
        asking = [question for question in questions if question.asked]
        model = case.judge.judge
        estimates = [await anyio.to_thread.run_sync(model.estimate, question, shown) for question in asking]
        costs = [cost for _, _, cost in estimates]
        return Estimate(
            trace_id=case.trace.trace_id,
            steps=len(case.indices),
            calls=sum(len(case.trace.steps[index - 1].calls) for index in case.indices),
            cached_steps=len(recalled),
            settled_steps=len(questions) - len(asking),
            requests=sum(map(requests, asking)) if model.asks_model else 0,
            prompt_tokens=sum(tokens for tokens, _, _ in estimates),
            completion_tokens=sum(tokens for _, tokens, _ in estimates),
            cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        )

    def _shown(self, case: Case) -> Shown:
        fence = mark(bytes.fromhex(self._ledger.fence_key), case.digests[0][0])
        return Shown(case.trace, fence, reasoning=case.rubric.shows_reasoning)

    async def _recalled(self, case: Case) -> dict[int, Landed]:
        """Verdicts that the cache remembers, or else the ledger."""
        keys = {index: case.key(index) for index in case.indices}
        # reading hundreds of verdicts takes long enough to keep others waiting
        found = await anyio.to_thread.run_sync(self._cached, keys)
        recorded = await self._ledger.remembered([key for index, key in keys.items() if index not in found])
        for index, key in keys.items():
            if verdict := recorded.get(key):
                found[index] = verdict
                await self._cache.put(verdict)
        return {index: Landed(verdict, cached=True) for index, verdict in found.items()}

    def _cached(self, keys: Mapping[int, str]) -> dict[int, Verdict]:
        return {index: verdict for index, key in keys.items() if (verdict := self._cache.get(key))}

    async def _keep(self, case: Case, last: int) -> None:
        before, steps = case.digests
        contents = tuple(content(step, reasoning=case.rubric.shows_reasoning) for step in case.trace.steps[:last])
        chain = Chain(opening(case.trace), contents, before[: last + 1], steps[:last])
        await self._ledger.keep(chain, case.rubric)

    async def _flown(self, case: Case, index: int, shown: Shown, budget: Budget) -> Landed:
        """Judge a step, or wait for another request that is judging the same."""
        if case.fresh:
            return Landed(await self._judged(case, index, shown, budget), cached=False)
        if verdict := self._cache.get(case.key(index)):
            return Landed(verdict, cached=True)  # it landed since this request looked
        verdict, own = await self._flights.fly(case.key(index), partial(self._judged, case, index, shown, budget))
        return Landed(verdict, cached=not own)

    async def _judged(self, case: Case, index: int, shown: Shown, budget: Budget) -> Verdict:
        question, settled = case.question(index)
        length = shown.length(index) if case.judge.judge.asks_model else 0
        async with self._limiter, self._room.holding(length):
            answered = await case.judge.judge.answer(question, shown, budget) if question.asked else Answered(())
        verdict = Verdict(
            verdict_id=uuid.uuid4().hex,
            key=case.key(index),
            step=index,
            rubric=case.rubric.digest,
            judge=case.judge.name,
            answers=_all_answers(case.rubric, question, settled, answered),
            inherits_from=answered.inherits_from,
            facts=question.facts,
            cuts=answered.cuts,
            earlier_cuts=answered.earlier_cuts,
            unfinished=answered.unfinished,
            spent=answered.spent,
        )
        # what was paid for is stored, even when the client has gone meanwhile
        with anyio.CancelScope(shield=True):
            await self._ledger.append(self._record(case, verdict, answered))
            if verdict.remembered:
                await self._cache.put(verdict)
        return verdict

    def _record(self, case: Case, verdict: Verdict, answered: Answered) -> VerdictRecord:
        before, steps = case.digests
        return VerdictRecord(
            verdict=verdict,
            rubric=case.rubric.reference,
            rubric_digest=case.rubric.digest,
            judge=case.judge.specification,
            judge_digest=case.judge.digest,
            prompt_version=case.prompt_version,
            prompt_digests=answered.prompt_digests,
            state_digest=before[verdict.step - 1],
            step_digest=steps[verdict.step - 1],
            exchanges=answered.exchanges,
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

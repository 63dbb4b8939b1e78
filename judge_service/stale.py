"""Which stored verdicts would be given anew today, and what that would take: asked of the ledger, before anything is paid."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio
import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LedgerUnavailable
from judge_service.judge import Case, Judging
from judge_service.judged import Judged, Pair
from judge_service.judges.each_alone import ALONE
from judge_service.judges.judge import NamedJudge
from judge_service.judges.llm import CHARACTERS_PER_TOKEN, LlmJudge
from judge_service.ledger import Ledger
from judge_service.prompt import EACH_ALONE, system_text
from judge_service.state import restored
from stepjudge.contract import Estimate
from stepjudge.rubric import Rubric, split_reference
from stepjudge.tuning.stale import Reason, StaleGroup, StaleReport, StaleVerdict
from stepjudge.verdict import VerdictRecord

T = TypeVar("T")

MOST_LISTED = 1_000
"""Verdicts that a group lists one by one."""


@dataclass(frozen=True)
class Turn:
    """What takes the place of a pair of rubric and judge."""

    pair: Pair
    rubric: Rubric
    judge: NamedJudge | None
    """Null where the judge cannot be had here."""
    why_not: str = ""


class Staleness:
    """Looks stored verdicts up by the keys they would have today."""

    def __init__(self, judging: Judging, ledger: Ledger, judged: Judged) -> None:
        self._judging = judging
        self._ledger = ledger
        self._judged = judged

    async def names(self) -> list[str]:
        """Of every rubric that the ledger has verdicts under."""
        return await anyio.to_thread.run_sync(self._names)

    async def pairs(self, name: str) -> list[Pair]:
        """Every version of the rubric with every judge that has judged under it."""
        return await anyio.to_thread.run_sync(self._judged.pairs, name)

    async def group(self, turn: Turn) -> StaleGroup:
        """The newest verdict of each step of the pair, and what becomes of it. Raises LedgerUnavailable."""
        newest = await anyio.to_thread.run_sync(self._newest, turn.pair)
        stale, gone = list[StaleVerdict](), 0
        if turn.judge is not None:
            fresh = await self._cases(turn, turn.judge, newest)
            known = await self._ledger.remembered(list(fresh))
            gone = len(newest) - len(fresh)
            stale = [await self._stale(key, *each) for key, each in fresh.items() if key not in known]
        costs = [each.cost_usd for each in stale]
        return StaleGroup(
            rubric=turn.pair.rubric,
            rubric_digest=turn.pair.rubric_digest,
            judge=turn.pair.judge,
            judge_digest=turn.pair.judge_digest,
            becomes_rubric=turn.rubric.reference,
            becomes_judge=turn.judge.name if turn.judge else turn.pair.judge,
            verdicts=len(newest) - gone,
            current=len(newest) - gone - len(stale) if turn.judge else 0,
            reasons=dict(Counter(reason for each in stale for reason in each.reasons)),
            requests=sum(each.requests for each in stale),
            cost_usd=None if None in costs or turn.judge is None else sum(cost or 0.0 for cost in costs),
            why_unknown=turn.why_not,
            stale=tuple(stale[:MOST_LISTED]),
        )

    async def _cases(
        self, turn: Turn, judge: NamedJudge, newest: Sequence[VerdictRecord]
    ) -> dict[str, tuple[VerdictRecord, Case]]:
        """By the key that it would have today, each verdict with the case that would be judged."""
        found: dict[str, tuple[VerdictRecord, Case]] = {}
        for record in newest:
            chain = await self._ledger.chain(record.state_digest, record.step_digest)
            if chain is None:
                continue  # `audit verify` names what is missing
            case = Case(restored(*chain), turn.rubric, judge, (record.verdict.step,))
            found[await anyio.to_thread.run_sync(case.key, record.verdict.step)] = (record, case)
        return found

    async def _stale(self, key: str, record: VerdictRecord, case: Case) -> StaleVerdict:
        estimate = await self._judging.estimate(case)
        return StaleVerdict(
            key=key,
            verdict_id=record.verdict.verdict_id,
            step=record.verdict.step,
            state_digest=record.state_digest,
            step_digest=record.step_digest,
            reasons=_reasons(record, case),
            requests=estimate.requests,
            cost_usd=await self._cost(record, case, estimate),
        )

    async def _cost(self, record: VerdictRecord, case: Case, estimate: Estimate) -> float | None:
        """From what the stored verdict took, where one request took it and one would again; else as estimated."""
        judge = case.judge.judge
        took = next((entry for entry in record.exchanges if "prompt_tokens" in entry), None)
        if not isinstance(judge, LlmJudge) or took is None or case.rubric.ask != "step" or estimate.requests != 1:
            return estimate.cost_usd
        prompt, completion = took["prompt_tokens"], took["completion_tokens"]
        before = await self._ledger.rubric(record.rubric_digest)
        if not isinstance(prompt, int) or not isinstance(completion, int) or before is None:
            return estimate.cost_usd
        longer = (len(system_text(case.rubric)) - len(system_text(before))) / CHARACTERS_PER_TOKEN
        return judge.price(max(0, prompt + math.ceil(longer)), completion)

    def _names(self) -> list[str]:
        return self._read(_names)

    def _newest(self, pair: Pair) -> list[VerdictRecord]:
        return self._read(lambda connection: _newest(connection, pair))

    def _read(self, work: Callable[[sa.Connection], list[T]]) -> list[T]:
        try:
            with self._ledger.engine.connect() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error


def whole_report(groups: Sequence[StaleGroup]) -> StaleReport:
    """The groups together. What two of them would ask alike is asked, and paid for, once."""
    every = {each.key: each for group in groups for each in group.stale}
    beyond = [group for group in groups if sum(1 for _ in group.stale) == MOST_LISTED]
    costs = [each.cost_usd for each in every.values()]
    if beyond:  # the lists are cut: the sums of the groups are all that is known
        costs = [group.cost_usd for group in groups]
    return StaleReport(
        groups=tuple(groups),
        stale=sum(_stale_of(group) for group in groups) if beyond else len(every),
        requests=sum(each.requests for each in (groups if beyond else every.values())),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def _stale_of(group: StaleGroup) -> int:
    return 0 if group.why_unknown else group.verdicts - group.current


def _reasons(record: VerdictRecord, case: Case) -> tuple[Reason, ...]:
    reasons: dict[Reason, bool] = {
        "rubric": record.rubric_digest != case.rubric_digest,
        "judge": record.judge_digest != case.judge.digest,
        "prompt": record.prompt_version.removesuffix(EACH_ALONE) != case.prompt_version,
    }
    found: tuple[Reason, ...] = tuple(reason for reason, true in reasons.items() if true)
    return found or ("unfinished",)


def _names(connection: sa.Connection) -> list[str]:
    references = connection.scalars(sa.select(schema.verdicts.c.rubric).distinct())
    names = {split_reference(reference)[0] for reference in references}
    return sorted(name for name in names if not name.startswith(ALONE))


def _newest(connection: sa.Connection, pair: Pair) -> list[VerdictRecord]:
    """The newest whole verdict of each step, oldest first."""
    table = schema.verdicts
    query = sa.select(table.c.record).where(
        table.c.rubric_digest == pair.rubric_digest,
        table.c.judge_digest == pair.judge_digest,
        table.c.judge == pair.judge,
    )
    newest: dict[tuple[str, str], VerdictRecord] = {}
    for text in connection.scalars(query.order_by(table.c.sequence)):
        try:
            record = VerdictRecord.model_validate_json(text)
        except ValidationError:
            continue  # `audit verify` names damaged ones
        if record.plain:
            newest.pop((record.state_digest, record.step_digest), None)
            newest[record.state_digest, record.step_digest] = record
    return list(newest.values())

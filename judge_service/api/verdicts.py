"""`/v1/verdicts`: the ledger's verdicts, and everything about one of them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from judge_service.api.problems import problems
from judge_service.api.state import LedgerDep
from judge_service.audit import audited
from judge_service.errors import LedgerUnavailable, UnknownVerdict
from judge_service.gate import needs
from stepjudge.contract import Audit, VerdictPage, VerdictSummary
from stepjudge.verdict import VerdictRecord

router = APIRouter(prefix="/v1/verdicts", tags=["verdicts"], dependencies=[Depends(needs("read"))])


@router.get("", responses=problems(LedgerUnavailable))
async def list_verdicts(
    ledger: LedgerDep,
    cursor: Annotated[int | None, Query(ge=1, le=2**62, description="`next_cursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> VerdictPage:
    """Verdicts, newest first."""
    rows = await ledger.page(before=cursor, limit=limit + 1)
    more = len(rows) > limit
    return VerdictPage(
        verdicts=tuple(_summary(record) for _, record in rows[:limit]),
        next_cursor=str(rows[limit - 1][0]) if more else None,
    )


@router.get("/{verdict_id}", responses=problems(UnknownVerdict, LedgerUnavailable))
async def get_verdict(verdict_id: str, ledger: LedgerDep) -> Audit:
    """Everything about one verdict, with its prompt rendered again and compared by digest."""
    record = await ledger.record(verdict_id)
    if record is None:
        raise UnknownVerdict(f"no verdict {verdict_id[:80]!r} in this ledger")
    return await audited(record, ledger)


def _summary(record: VerdictRecord) -> VerdictSummary:
    verdict = record.verdict
    return VerdictSummary(
        verdict_id=verdict.verdict_id,
        key=verdict.key,
        created_at=record.created_at,
        rubric=record.rubric,
        judge=verdict.judge,
        judge_digest=record.judge_digest,
        model=verdict.spent.model,
        partial=record.asked is not None,
        state_digest=record.state_digest,
        step_digest=record.step_digest,
        step=verdict.step,
        answers={name: tuple(answer.answer for answer in verdict.of(name)) for name in verdict.criteria},
        undetermined=verdict.undetermined,
        cost_usd=verdict.spent.cost_usd,
    )

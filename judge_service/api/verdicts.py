"""`/v1/verdicts`: the ledger's verdicts, and everything about one of them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from judge_service.api.problems import problems
from judge_service.api.state import LedgerDep
from judge_service.audit import audited
from judge_service.errors import LedgerUnavailable, UnknownVerdict
from judge_service.gate import needs
from judge_service.portrait import summary
from stepjudge.contract import Audit, VerdictPage

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
        verdicts=tuple(summary(record) for _, record in rows[:limit]),
        next_cursor=str(rows[limit - 1][0]) if more else None,
    )


@router.get("/{verdict_id}", responses=problems(UnknownVerdict, LedgerUnavailable))
async def get_verdict(verdict_id: str, ledger: LedgerDep) -> Audit:
    """Everything about one verdict, with its prompt rendered again and compared by digest."""
    record = await ledger.record(verdict_id)
    if record is None:
        raise UnknownVerdict(f"no verdict {verdict_id[:80]!r} in this ledger")
    return await audited(record, ledger)

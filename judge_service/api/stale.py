"""`POST /v1/stale`: which stored verdicts a new rubric, judge or prompt version outdates, and what anew would cost."""

from fastapi import APIRouter, Depends

from judge_service.api.problems import problems
from judge_service.api.state import JudgedDep, JudgingDep, LedgerDep, PanelDep, ShelfDep
from judge_service.errors import LedgerUnavailable, RefusedRubric, UnknownJudge, UnknownRubric
from judge_service.gate import needs
from judge_service.judged import Pair
from judge_service.judges.judge import NamedJudge
from judge_service.ledger import Ledger
from judge_service.panel import Panel
from judge_service.shelf import Shelf
from judge_service.stale import Staleness, Turn, whole_report
from stepjudge.rubric import Rubric
from stepjudge.tuning.stale import StaleReport, StaleRequest

router = APIRouter(prefix="/v1", tags=["rubrics"], dependencies=[Depends(needs("read"))])


@router.post("/stale", responses=problems(RefusedRubric, UnknownRubric, UnknownJudge, LedgerUnavailable))
async def find_stale(
    body: StaleRequest, judging: JudgingDep, ledger: LedgerDep, judged: JudgedDep, shelf: ShelfDep, panel: PanelDep
) -> StaleReport:
    """Stored verdicts that would be given anew. Asks no model and stores nothing."""
    staleness = Staleness(judging, ledger, judged)
    wanted = None if body.rubric is None else _rubric(body.rubric, shelf)
    judge = None if body.judge is None else panel.find(body.judge)
    names = [wanted.name] if wanted else await staleness.names()
    groups = [
        await staleness.group(turn)
        for name in names
        for pair in await staleness.pairs(name)
        if (turn := await _turn(pair, wanted, judge, shelf, panel, ledger)) is not None
    ]
    return whole_report(groups)


async def _turn(
    pair: Pair, wanted: Rubric | None, judge: NamedJudge | None, shelf: Shelf, panel: Panel, ledger: Ledger
) -> Turn | None:
    """What takes the place of the pair; null where its rubric is not to be had any more."""
    rubric = wanted or _newest(pair, shelf) or await ledger.rubric(pair.rubric_digest)
    if rubric is None:
        return None
    if judge is not None:
        return Turn(pair, rubric, judge)
    try:
        return Turn(pair, rubric, panel.find(pair.judge))
    except UnknownJudge as error:
        return Turn(pair, rubric, None, str(error))


def _rubric(wanted: str | Rubric, shelf: Shelf) -> Rubric:
    return shelf.find(wanted) if isinstance(wanted, str) else shelf.admit(wanted)


def _newest(pair: Pair, shelf: Shelf) -> Rubric | None:
    """The newest version on the shelf; null for a rubric that came with a request."""
    try:
        return shelf.find(pair.rubric.partition("@")[0])
    except UnknownRubric:
        return None

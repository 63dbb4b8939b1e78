"""`/v1/agreement`: judges beside people; `/v1/queue`: which steps to label next."""

from functools import partial
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Query

from judge_service.api.problems import problems
from judge_service.api.state import JudgedDep, LedgerDep, ShelfDep, ValidityDep
from judge_service.errors import AgreementUnavailable, LedgerUnavailable, UnknownRubric
from judge_service.gate import needs
from judge_service.judged import Pair
from judge_service.review import drawn_queue
from judge_service.validity import Validity
from stepjudge.label_contract import AgreementReport, Agreements, Queue
from stepjudge.label_sampling import Queued
from stepjudge.rubric import Rubric, split_reference

router = APIRouter(prefix="/v1", tags=["labels"], dependencies=[Depends(needs("read"))])


@router.get("/agreement", responses=problems(UnknownRubric, LedgerUnavailable, AgreementUnavailable))
async def get_agreement(
    validity: ValidityDep,
    judged: JudgedDep,
    ledger: LedgerDep,
    rubric: Annotated[str, Query(max_length=200, description="`name` (every version) or `name@version`.")] = "step",
    judge: Annotated[str | None, Query(max_length=200, description="Name or digest of a judge; all when null.")] = None,
    every: Annotated[
        bool, Query(description="Count labels too that were not blind, or of unknown probability.")
    ] = False,
) -> Agreements:
    """How far judges answer as people do, per version of the rubric, judge and criterion."""
    name, version = split_reference(rubric)
    pairs = [
        pair
        for pair in await anyio.to_thread.run_sync(judged.pairs, name)
        if (version is None or pair.rubric == rubric) and judge in (None, pair.judge, pair.judge_digest)
    ]
    if not pairs:
        raise UnknownRubric(f"no verdict by {rubric[:200]!r}{f' of {judge[:200]!r}' if judge else ''} in this ledger")
    reports: list[AgreementReport] = []
    for pair in pairs:
        if (used := await ledger.rubric(pair.rubric_digest)) is not None:
            reports.append(await anyio.to_thread.run_sync(_report, validity, used, pair, every))
    return Agreements(reports=tuple(reports))


@router.get("/queue", responses=problems(UnknownRubric, LedgerUnavailable))
async def get_queue(
    judged: JudgedDep,
    ledger: LedgerDep,
    shelf: ShelfDep,
    rubric: Annotated[str, Query(max_length=200)] = "step",
    judge: Annotated[str | None, Query(max_length=200, description="Only steps that this judge judged.")] = None,
    design: Queued = "uniform",
    count: Annotated[int, Query(ge=1, le=5_000)] = 50,
    seed: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Queue:
    """Judged steps to label, in this order. The same seed gives the same steps as long as no further step is judged."""
    used = shelf.find(rubric)
    draw = partial(drawn_queue, judged, used, judge=judge, design=design, count=count, seed=seed)
    return await anyio.to_thread.run_sync(draw)


def _report(validity: Validity, rubric: Rubric, pair: Pair, every: bool) -> AgreementReport:
    found, standing = validity.agreement(rubric, pair.judge, pair.judge_digest, every=every)
    return AgreementReport(labelled=found, validation=standing)

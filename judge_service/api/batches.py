"""`/v1/batches`: questions that were scored with `batch`, on their way to providers and back."""

from datetime import UTC, datetime

import anyio
from fastapi import APIRouter, Depends

from judge_service.api.problems import problems
from judge_service.api.state import CourierDep, PileDep
from judge_service.batches.pile import Pile
from judge_service.errors import BatchFailed
from judge_service.gate import needs
from stepjudge.contract import BatchCard, Batches

router = APIRouter(prefix="/v1/batches", tags=["batches"])


@router.get("", responses=problems(), dependencies=[Depends(needs("read"))])
async def list_batches(pile: PileDep) -> Batches:
    """What waits, and the batches of this data folder. Asks no provider."""
    return await anyio.to_thread.run_sync(_batches, pile)


@router.post("", responses=problems(BatchFailed), dependencies=[Depends(needs("judge"))])
async def send_batches(courier: CourierDep, pile: PileDep) -> Batches:
    """Send every question that waits. None is sent twice, whatever was interrupted before."""
    await courier.send()
    return await anyio.to_thread.run_sync(_batches, pile)


@router.post("/collect", responses=problems(BatchFailed), dependencies=[Depends(needs("judge"))])
async def collect_batches(courier: CourierDep, pile: PileDep) -> Batches:
    """Take in the replies of batches that have ended. The next scoring with `batch` reads, checks and records them."""
    await courier.collect()
    return await anyio.to_thread.run_sync(_batches, pile)


def _batches(pile: Pile) -> Batches:
    sent = pile.batches()
    return Batches(
        open=sum(pile.open_questions().values()),
        under_way=sum(batch.questions for batch in sent if batch.state != "done"),
        batches=tuple(
            BatchCard(
                name=batch.name,
                judge=batch.judge,
                provider_id=batch.provider_id,
                state=batch.state,
                told=batch.told,
                questions=batch.questions,
                created_at=datetime.fromtimestamp(batch.at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            )
            for batch in sent
        ),
    )

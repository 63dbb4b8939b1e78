"""`/v1/judges`: the judges of this service."""

from fastapi import APIRouter, Depends

from judge_service.api.problems import problems
from judge_service.api.state import PanelDep
from judge_service.gate import needs
from stepjudge.contract import JudgeCard

router = APIRouter(prefix="/v1/judges", tags=["judges"], dependencies=[Depends(needs("read"))])


@router.get("", responses=problems())
async def list_judges(panel: PanelDep) -> tuple[JudgeCard, ...]:
    """Every judge that a request may name, with all that its answers depend on. Keys are never shown."""
    named = [panel.find(name) for name in panel.names]
    return tuple(
        JudgeCard(
            name=each.name,
            digest=each.digest,
            default=each.name == panel.default,
            specification=each.specification,
            note=each.judge.note,
        )
        for each in named
    )

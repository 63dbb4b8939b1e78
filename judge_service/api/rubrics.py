"""`/v1/rubrics`: the rubrics on this service's shelf."""

from fastapi import APIRouter, Depends

from judge_service.api.problems import problems
from judge_service.api.state import ShelfDep
from judge_service.errors import UnknownRubric
from judge_service.gate import needs
from stepjudge.contract import RubricRef
from stepjudge.rubric import Rubric

router = APIRouter(prefix="/v1/rubrics", tags=["rubrics"], dependencies=[Depends(needs("read"))])


@router.get("", responses=problems())
async def list_rubrics(shelf: ShelfDep) -> tuple[RubricRef, ...]:
    """Every version of every rubric."""
    return tuple(RubricRef(name=each.name, version=each.version, digest=each.digest) for each in shelf.all())


@router.get("/{reference}", responses=problems(UnknownRubric))
async def get_rubric(reference: str, shelf: ShelfDep) -> Rubric:
    """One rubric: `step` (its newest version) or `step@1.0.0`."""
    return shelf.find(reference)

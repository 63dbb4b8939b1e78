"""What routes reach through their request: the parts that the lifespan made."""

from typing import Annotated, TypedDict, cast

from fastapi import Depends, Request

from judge_service.budget import Budget
from judge_service.judge import Judging
from judge_service.judged import Judged
from judge_service.label_store import LabelStore
from judge_service.ledger import Ledger
from judge_service.limits import Limits
from judge_service.panel import Panel
from judge_service.settings import Settings
from judge_service.shelf import Shelf
from judge_service.validity import Validity


class State(TypedDict):
    """Made when the service starts, closed when it stops."""

    judging: Judging
    ledger: Ledger
    shelf: Shelf
    panel: Panel
    labels: LabelStore
    judged: Judged
    validity: Validity
    limits: Limits


async def judging(request: Request) -> Judging:
    return request.state.judging


async def ledger(request: Request) -> Ledger:
    return request.state.ledger


async def shelf(request: Request) -> Shelf:
    return request.state.shelf


async def panel(request: Request) -> Panel:
    return request.state.panel


async def labels(request: Request) -> LabelStore:
    return request.state.labels


async def judged(request: Request) -> Judged:
    return request.state.judged


async def validity(request: Request) -> Validity:
    return request.state.validity


async def purse(request: Request) -> Budget | None:
    """What the caller's key may still spend today; null where nothing limits that."""
    return getattr(request.state, "purse", None)


async def settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


JudgingDep = Annotated[Judging, Depends(judging)]
LedgerDep = Annotated[Ledger, Depends(ledger)]
ShelfDep = Annotated[Shelf, Depends(shelf)]
PanelDep = Annotated[Panel, Depends(panel)]
LabelsDep = Annotated[LabelStore, Depends(labels)]
JudgedDep = Annotated[Judged, Depends(judged)]
ValidityDep = Annotated[Validity, Depends(validity)]
PurseDep = Annotated[Budget | None, Depends(purse)]
SettingsDep = Annotated[Settings, Depends(settings)]

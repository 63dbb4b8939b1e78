"""What routes reach through their request: the parts that the lifespan made."""

from typing import Annotated, TypedDict, cast

from fastapi import Depends, Request

from judge_service.judge import Judging
from judge_service.ledger import Ledger
from judge_service.panel import Panel
from judge_service.settings import Settings
from judge_service.shelf import Shelf


class State(TypedDict):
    """Made when the service starts, closed when it stops."""

    judging: Judging
    ledger: Ledger
    shelf: Shelf
    panel: Panel


async def judging(request: Request) -> Judging:
    return request.state.judging


async def ledger(request: Request) -> Ledger:
    return request.state.ledger


async def shelf(request: Request) -> Shelf:
    return request.state.shelf


async def panel(request: Request) -> Panel:
    return request.state.panel


async def settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


JudgingDep = Annotated[Judging, Depends(judging)]
LedgerDep = Annotated[Ledger, Depends(ledger)]
ShelfDep = Annotated[Shelf, Depends(shelf)]
PanelDep = Annotated[Panel, Depends(panel)]
SettingsDep = Annotated[Settings, Depends(settings)]

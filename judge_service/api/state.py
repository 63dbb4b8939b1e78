"""What routes reach through their request: the parts that the lifespan made."""

from typing import Annotated, TypedDict, cast

from fastapi import Depends, Request

from judge_service.batches.courier import Courier
from judge_service.batches.pile import Pile
from judge_service.budget import Budget
from judge_service.feed import Feed
from judge_service.judge import Judging
from judge_service.judged import Judged
from judge_service.label_store import LabelStore
from judge_service.ledger import Ledger
from judge_service.limits import Limits
from judge_service.listing import Listing
from judge_service.panel import Panel
from judge_service.portrait import Portraits
from judge_service.review import Reviews
from judge_service.settings import Settings
from judge_service.shelf import Shelf
from judge_service.tally import Tallies
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
    listing: Listing
    reviews: Reviews
    tallies: Tallies
    feed: Feed
    portraits: Portraits
    batched: Panel
    """The same judges, for questions that go in batches."""
    pile: Pile
    courier: Courier


async def judging(request: Request) -> Judging:
    return request.state.judging


async def ledger(request: Request) -> Ledger:
    return request.state.ledger


async def shelf(request: Request) -> Shelf:
    return request.state.shelf


async def panel(request: Request) -> Panel:
    return request.state.panel


async def batched(request: Request) -> Panel:
    return request.state.batched


async def pile(request: Request) -> Pile:
    return request.state.pile


async def courier(request: Request) -> Courier:
    return request.state.courier


async def labels(request: Request) -> LabelStore:
    return request.state.labels


async def judged(request: Request) -> Judged:
    return request.state.judged


async def validity(request: Request) -> Validity:
    return request.state.validity


async def listing(request: Request) -> Listing:
    return request.state.listing


async def reviews(request: Request) -> Reviews:
    return request.state.reviews


async def portraits(request: Request) -> Portraits:
    return request.state.portraits


async def feed(request: Request) -> Feed:
    return request.state.feed


async def tallies(request: Request) -> Tallies:
    return request.state.tallies


async def purse(request: Request) -> Budget | None:
    """What the caller's key may still spend today; null where nothing limits that."""
    return getattr(request.state, "purse", None)


async def settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


JudgingDep = Annotated[Judging, Depends(judging)]
LedgerDep = Annotated[Ledger, Depends(ledger)]
ShelfDep = Annotated[Shelf, Depends(shelf)]
PanelDep = Annotated[Panel, Depends(panel)]
BatchedDep = Annotated[Panel, Depends(batched)]
PileDep = Annotated[Pile, Depends(pile)]
CourierDep = Annotated[Courier, Depends(courier)]
LabelsDep = Annotated[LabelStore, Depends(labels)]
JudgedDep = Annotated[Judged, Depends(judged)]
ValidityDep = Annotated[Validity, Depends(validity)]
ListingDep = Annotated[Listing, Depends(listing)]
ReviewsDep = Annotated[Reviews, Depends(reviews)]
PortraitsDep = Annotated[Portraits, Depends(portraits)]
FeedDep = Annotated[Feed, Depends(feed)]
TalliesDep = Annotated[Tallies, Depends(tallies)]
PurseDep = Annotated[Budget | None, Depends(purse)]
SettingsDep = Annotated[Settings, Depends(settings)]

"""Texts of a trace as they are, for passages too long for a page: `/audit/steps/DIGEST/PLACE` and the like."""

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from judge_service.api.state import LedgerDep
from judge_service.errors import UnknownStep
from judge_service.ledger import Ledger
from judge_service.pages.frame import page, page_router, plain_text
from judge_service.pages.quoted import slice_of
from judge_service.pages.step_view import opening_text_at, text_at
from judge_service.pages.visitor import ReaderDep
from judge_service.stored import Stored

router = page_router("")

_From = Annotated[int, Query(alias="from", ge=0, le=10**9)]


@router.get("/{kind}/{digest}/{place}/raw")
async def raw(who: ReaderDep, ledger: LedgerDep, kind: str, digest: str, place: str) -> Response:
    """The whole text, as plain text."""
    return plain_text(await _text(ledger, kind, digest, place), f"{place}.txt")


@router.get("/{kind}/{digest}/{place}/more")
async def more(
    request: Request, who: ReaderDep, ledger: LedgerDep, kind: str, digest: str, place: str, start: _From = 0
) -> Response:
    """The next piece of it, to be put where the button for it is."""
    text = await _text(ledger, kind, digest, place)
    piece, next_start = slice_of(text, start)
    path = request.url.path
    return page(request, "more.html.jinja", who, piece=piece, next=next_start, path=path, start=start)


async def _text(ledger: Ledger, kind: str, digest: str, place: str) -> str:
    stored, text = Stored(ledger.engine), None
    if kind == "steps" and (step := await stored.step(digest)):
        text = text_at(step, place)
    elif kind == "openings" and (opening := await stored.opening(digest)):
        text = opening_text_at(opening, place)
    if text is None:
        raise UnknownStep(f"there is no text {place[:40]!r} of {digest[:80]!r} in this ledger")
    return text

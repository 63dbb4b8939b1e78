"""Live: verdicts as they land, progress and spend: `/audit/live`."""

import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import orjson
from fastapi import Header, Query, Request
from fastapi.responses import Response, StreamingResponse

from judge_service.api.state import FeedDep, LedgerDep
from judge_service.drain import Drain
from judge_service.errors import Forbidden
from judge_service.feed import Feed, told
from judge_service.pages.frame import HEADERS, page, page_router
from judge_service.pages.visitor import ReaderDep, SignInNeeded, VisitorOrNoneDep
from judge_service.portrait import summary
from stepjudge.visible import visible

router = page_router("/live")

_SHOWN = 20
_LONGEST_S = 15 * 60
"""Then the browser asks again, and with it whether its key still holds."""


@router.get("")
async def show(request: Request, who: ReaderDep, ledger: LedgerDep) -> Response:
    """The newest verdicts; further ones are added as they land."""
    rows = await ledger.page(before=None, limit=_SHOWN)
    newest = rows[0][0] if rows else 0
    verdicts = [summary(record) for _, record in rows]
    return page(request, "live.html.jinja", who, tab="live", verdicts=verdicts, newest=newest)


@router.get("/events")
async def events(
    request: Request,
    who: VisitorOrNoneDep,
    feed: FeedDep,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    last_event_id: Annotated[str, Header(max_length=40)] = "",
) -> Response:
    """Server-sent events. A stream takes no place among the requests that a key may make at once: it lasts."""
    if who is None:
        raise SignInNeeded("sign in with a key of this service")
    if not who.may("read"):
        raise Forbidden(f"the key {who.name!r} lacks the scope 'read'")
    digits = last_event_id.isascii() and last_event_id.isdigit()
    heard = int(last_event_id) if digits and len(last_event_id) < 20 else after
    headers = {**HEADERS, "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _lines(feed, heard, request.app.state.drain), headers=headers, media_type="text/event-stream"
    )


async def _lines(feed: Feed, after: int | None, drain: Drain) -> AsyncGenerator[bytes]:
    until = time.monotonic() + _LONGEST_S
    before = None
    yield b"retry: 2000\n\n"
    async for heard in feed.hear(after, ended=lambda: drain.begun or time.monotonic() > until):
        if heard.missed:
            yield _event("missed", {"count": heard.missed})
        for verdict in heard.verdicts:
            yield _event("verdict", told(verdict), verdict.sequence)
        under_way = [vars(each) for each in heard.under_way]
        # a line each time, also when nothing changed: it finds out whether the watcher is still there
        yield _event("progress", {"scorings": under_way}) if under_way != before else b": nothing new\n\n"
        before = [dict(each) for each in under_way]


def _event(kind: str, data: dict[str, Any], number: int | None = None) -> bytes:
    name = b"" if number is None else f"id: {number}\n".encode()
    return b"%sevent: %s\ndata: %s\n\n" % (name, kind.encode(), orjson.dumps(_shown(data)))


def _shown(value: Any) -> Any:
    """Every text with its invisible characters spelled out, as pages show them."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(name)): _shown(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [_shown(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]

"""The list of traces, newest first, with filters and full-text search over their steps: `/audit/traces`."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import Response

from judge_service.api.state import ListingDep
from judge_service.listing import Listed, Sought
from judge_service.pages.frame import page, page_router
from judge_service.pages.opinion import OF_SIGN, SAID, by
from judge_service.pages.visitor import ReaderDep
from judge_service.pages.words import query
from stepjudge.report.mark import Mark
from stepjudge.report.strip import HEIGHT, Strip, strip

router = page_router("/traces")

PAGE = 50
LOW = 0.7
"""A confidence that is called low."""

_STRIP = 120
"""Steps of a longer trace are not drawn."""

_Text = Annotated[str, Query(max_length=300)]
_Day = Annotated[str, Query(pattern=r"^(\d{4}-\d\d-\d\d)?$")]


@dataclass(frozen=True)
class Row:
    """A scoring in the list."""

    scoring: Listed
    by: str
    open_at: int
    """The step to begin with: where the sought words stand, or the first that does not pass."""
    passing: int
    judged: int
    strip: Strip
    drawn: int


async def fields(
    q: _Text = "",
    rubric: _Text = "",
    judge: _Text = "",
    answer: _Text = "",
    undetermined: bool = False,
    ungrounded: bool = False,
    low: bool = False,
    disagreement: bool = False,
    addresses: bool = False,
    since: _Day = "",
    until: _Day = "",
    cost: _Text = "",
    seconds: _Text = "",
) -> dict[str, Any]:
    """What the form holds. A field that is left empty is none."""
    return {name: value for name, value in locals().items() if value}


@router.get("")
async def list_traces(
    request: Request,
    who: ReaderDep,
    listing: ListingDep,
    form: Annotated[dict[str, Any], Depends(fields)],
    cursor: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Response:
    sought = _sought(form)
    found = await listing.page(sought, before=cursor, limit=PAGE + 1)
    shown = found[:PAGE]
    hits = await listing.hits([each.trace_digest for each in shown], sought.words) if sought.words and shown else {}
    rubrics, judges = await listing.rubrics_and_judges()
    return page(
        request,
        "traces.html.jinja",
        who,
        tab="traces",
        answers=await listing.criteria(),
        first=cursor is None,
        form=form,
        height=HEIGHT,
        judges=judges,
        low=LOW,
        next=query(form, cursor=shown[-1].sequence) if len(found) > PAGE else None,
        rows=[_row(each, hits.get(each.trace_digest)) for each in shown],
        rubrics=rubrics,
        said=SAID,
    )


def _sought(form: dict[str, Any]) -> Sought:
    return Sought(
        words=form.get("q", "").strip(),
        rubric=form.get("rubric"),
        judge=form.get("judge"),
        answer=form.get("answer"),
        undetermined=form.get("undetermined", False),
        ungrounded=form.get("ungrounded", False),
        confidence=LOW if form.get("low") else None,
        disagreement=form.get("disagreement", False),
        addresses_judge=form.get("addresses", False),
        since=form.get("since"),
        until=form.get("until"),
        cost_usd=_number(form.get("cost", "")),
        seconds=_number(form.get("seconds", "")),
    )


def _number(text: str) -> float | None:
    """What somebody typed; null when it is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _row(scoring: Listed, hit: int | None) -> Row:
    signs = scoring.tones
    troubled = next((number for number, sign in enumerate(signs, start=1) if sign in "0-?"), 1)
    return Row(
        scoring,
        by(scoring.rubric_digest, scoring.judge_digest),
        hit or troubled,
        signs.count("+"),
        sum(sign in "+0-" for sign in signs),
        strip([Mark(number, OF_SIGN[sign]) for number, sign in enumerate(signs[:_STRIP], start=1)]),
        min(len(signs), _STRIP),
    )

"""Judges beside people: agreement, corrected rates, drift and cost: `/audit/judges`."""

from collections.abc import Callable
from functools import partial

import anyio
from fastapi import Request
from fastapi.responses import Response

from judge_service.api.state import LedgerDep, PortraitsDep, TalliesDep, ValidityDep
from judge_service.errors import UnknownJudge
from judge_service.ledger import Ledger
from judge_service.pages import plots
from judge_service.pages.frame import page, page_router
from judge_service.pages.visitor import ReaderDep
from judge_service.tally import Tally
from judge_service.validity import Validity
from stepjudge.rubric import Rubric
from stepjudge.validation import Validation

router = page_router("/judges")

_MOST_LISTED = 200


@router.get("")
async def list_judges(
    request: Request, who: ReaderDep, tallies: TalliesDep, ledger: LedgerDep, validity: ValidityDep
) -> Response:
    """Every judge under every version of a rubric, and where it stands."""
    found = await anyio.to_thread.run_sync(tallies.all)
    shown = found[:_MOST_LISTED]
    standings = [await _standing(each, ledger, validity) for each in shown]
    rows = list(zip(shown, standings, strict=True))
    return page(request, "judges.html.jinja", who, tab="judges", rows=rows, more=len(found) - len(shown))


@router.get("/{rubric_digest}/{judge_digest}")
async def show_judge(
    request: Request,
    who: ReaderDep,
    rubric_digest: str,
    judge_digest: str,
    tallies: TalliesDep,
    ledger: LedgerDep,
    portraits: PortraitsDep,
) -> Response:
    """One judge under one version of a rubric."""
    tally = await anyio.to_thread.run_sync(tallies.one, rubric_digest, judge_digest)
    rubric = tally and await ledger.rubric(rubric_digest)
    if tally is None or rubric is None:
        raise UnknownJudge(f"no verdict by a judge {judge_digest[:80]!r} under a rubric {rubric_digest[:80]!r}")
    portrait = await anyio.to_thread.run_sync(portraits.of, rubric, tally)
    others = await anyio.to_thread.run_sync(partial(_others, tallies.all, tally))
    return page(
        request,
        "judge.html.jinja",
        who,
        tab="judges",
        tally=tally,
        rubric=rubric,
        portrait=portrait,
        others=others,
        forest=plots.forest(portrait.agreement) if portrait.agreement else None,
        days=plots.days(portrait.diary, rubric),
        costs=plots.costs(portrait.diary),
        ends=plots.ends,
        number=plots.number,
        shade=_shade,
    )


async def _standing(tally: Tally, ledger: Ledger, validity: Validity) -> Validation | None:
    rubric: Rubric | None = await ledger.rubric(tally.rubric_digest)
    if rubric is None:
        return None
    return await anyio.to_thread.run_sync(validity.standing, rubric, tally.judge_digest)


def _others(every: Callable[[], tuple[Tally, ...]], mine: Tally) -> tuple[Tally, ...]:
    """Whatever has the same rubric's name or the same judge's: what one would set beside it."""
    return tuple(
        each
        for each in every()
        if each.pair != mine.pair and (each.rubric_name == mine.rubric_name or each.judge == mine.judge)
    )[:20]


def _shade(count: int, row: tuple[int, ...]) -> int:
    """How dark a cell of a confusion matrix is, 0 to 5: its share of what people answered so."""
    total = sum(row)
    return 0 if not count or not total else max(1, round(5 * count / total))

"""Rubrics: what they ask, what changed between versions, and which labelled answers that flipped: `/audit/rubrics`."""

from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import anyio
from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from judge_service.api.state import JudgedDep, LabelsDep, LedgerDep, ShelfDep
from judge_service.errors import UnknownRubric
from judge_service.ledger import Ledger
from judge_service.pages.assets import PREFIX
from judge_service.pages.flips import flips
from judge_service.pages.frame import HEADERS, page, page_router
from judge_service.pages.visitor import ReaderDep
from judge_service.pages.word_diff import Run, prose, word_diff
from judge_service.shelf import Shelf
from judge_service.stored import Stored
from stepjudge.rubric import Rubric, version_order
from stepjudge.rubric_diff import Change, diff

router = page_router("/rubrics")


@dataclass(frozen=True)
class ChangedText:
    change: Change
    runs: tuple[Run, ...]


@router.get("")
async def list_rubrics(request: Request, who: ReaderDep, shelf: ShelfDep, ledger: LedgerDep) -> Response:
    """Those that can be judged by, and those that something in the ledger was judged by."""
    here = {rubric.digest for rubric in shelf.all()}
    every = [*shelf.all(), *await Stored(ledger.engine).rubrics(but=here)]
    named: dict[str, list[Rubric]] = defaultdict(list)
    for rubric in sorted(every, key=lambda each: version_order(each.version)):
        named[rubric.name].append(rubric)
    return page(request, "rubrics.html.jinja", who, tab="rubrics", named=dict(sorted(named.items())), on_shelf=here)


@router.get("/compare")
async def choose(request: Request, who: ReaderDep, old: str = "", new: str = "") -> Response:
    """Where the form for choosing two versions leads."""
    base = f"{request.scope.get('root_path', '')}{PREFIX}"
    return RedirectResponse(f"{base}/rubrics/{old}/to/{new}", 303, headers=HEADERS)


@router.get("/{reference}")
async def show_rubric(request: Request, who: ReaderDep, shelf: ShelfDep, ledger: LedgerDep, reference: str) -> Response:
    """One version, by `name@version` or by its digest."""
    rubric = await _find(reference, shelf, ledger)
    others = [each for each in await _versions(rubric.name, shelf, ledger) if each.digest != rubric.digest]
    return page(request, "rubric.html.jinja", who, tab="rubrics", rubric=rubric, others=others, prose=prose)


@router.get("/{reference}/to/{other}")
async def compare(
    request: Request,
    who: ReaderDep,
    shelf: ShelfDep,
    ledger: LedgerDep,
    judged: JudgedDep,
    labels: LabelsDep,
    reference: str,
    other: str,
) -> Response:
    """What it takes to make the second of the first, and what flipped."""
    old, new = await _find(reference, shelf, ledger), await _find(other, shelf, ledger)
    flipped = await anyio.to_thread.run_sync(partial(flips, old, new, judged, labels)) if old.name == new.name else ()
    return page(
        request,
        "rubric_change.html.jinja",
        who,
        tab="rubrics",
        old=old,
        new=new,
        changes=[_changed(each) for each in diff(old, new)],
        flipped=flipped,
    )


def _changed(change: Change) -> ChangedText:
    return ChangedText(change, word_diff(prose(change.before), prose(change.after)))


async def _find(reference: str, shelf: Shelf, ledger: Ledger) -> Rubric:
    if not reference.startswith("sha256:"):
        return shelf.find(reference)
    on_shelf = next((each for each in shelf.all() if each.digest == reference), None)
    found = on_shelf or await ledger.rubric(reference)
    if found is None:
        raise UnknownRubric(f"no rubric {reference[:80]!r} on the shelf or in the ledger")
    return found


async def _versions(name: str, shelf: Shelf, ledger: Ledger) -> list[Rubric]:
    mine = {rubric.digest: rubric for rubric in shelf.all() if rubric.name == name}
    mine |= {each.digest: each for each in await Stored(ledger.engine).rubrics(but=set(mine)) if each.name == name}
    return sorted(mine.values(), key=lambda each: version_order(each.version))

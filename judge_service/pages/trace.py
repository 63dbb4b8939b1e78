"""One trace, step by step, with what judges said of the chosen step: `/audit/traces/DIGEST/STEP`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import RedirectResponse, Response

from judge_service.api.state import LabelsDep, LedgerDep, ListingDep
from judge_service.errors import UnknownStep
from judge_service.label_store import LabelStore, Wanted
from judge_service.ledger import Ledger
from judge_service.listing import Listed
from judge_service.pages.annotator import annotator
from judge_service.pages.assets import PREFIX
from judge_service.pages.frame import HEADERS, page, page_router
from judge_service.pages.opinion import OF_SIGN, SAID, Opinion, by, lines, newest, opinion, partner
from judge_service.pages.step_view import citations, opening_view, step_view
from judge_service.pages.visitor import ReaderDep
from judge_service.pages.words import query
from judge_service.stored import Stored, StoredTrace
from stepjudge.label import Label
from stepjudge.report.mark import Tone
from stepjudge.rubric import split_reference
from stepjudge.trace import Step
from stepjudge.verdict import VerdictRecord

router = page_router("/traces")


@dataclass(frozen=True)
class Stop:
    """A step in the timeline."""

    number: int
    turn: int
    what: str
    tone: Tone
    begins_turn: bool


@router.get("/{digest}")
async def first_step(request: Request, who: ReaderDep, digest: str, by: str = "") -> Response:
    base = f"{request.scope.get('root_path', '')}{PREFIX}"
    return RedirectResponse(f"{base}/traces/{digest}/1{query(by=by)}", 307, headers=HEADERS)


@router.get("/{digest}/{step}")
async def show_step(
    request: Request,
    who: ReaderDep,
    ledger: LedgerDep,
    listing: ListingDep,
    labels: LabelsDep,
    digest: str,
    step: Annotated[int, Path(ge=1, le=10**6)],
    by: str = "",
    beside: str = "",
    verdict: str = "",
    cite: str = "",
) -> Response:
    """`by` and `beside` name a rubric and a judge, `verdict` one verdict; quotes of `cite` are marked too."""
    stored = Stored(ledger.engine)
    found = await stored.trace(digest)
    if found is None or step > len(found.steps):
        raise UnknownStep(f"no step {step} of a trace {digest[:80]!r} in this ledger; retention may have removed it")
    records = await stored.verdicts(found.states[step - 1], found.steps[step - 1])
    this = found.trace.steps[step - 1]
    chosen_record = _chosen(records, verdict, by)
    chosen = await _opinion(ledger, chosen_record, this) if chosen_record else None
    opinions = [await _opinion(ledger, each, this) for each in newest(records)]
    other = next((each for each in opinions if each.by == beside and each != chosen), None)
    cited = citations(chosen.record.verdict if chosen else None)
    if cite and (quoting := await ledger.record(cite)):
        cited += citations(quoting.verdict)
    scorings = await listing.of_trace(digest)
    return page(
        request,
        "trace.html.jinja",
        who,
        tab="traces",
        address=_address(request, digest, step, by, beside),
        chosen=chosen,
        digest=digest,
        found=found,
        lines=lines(opinions),
        annotator=annotator(request, who),
        people=await _people(labels, found.states[step - 1], found.steps[step - 1], chosen),
        opening=opening_view(found.trace, cited),
        opinions=opinions,
        other=other,
        others=[each for each in records if not each.plain],
        partner=partner(chosen, opinions),
        said=SAID,
        scoring=next((each for each in scorings if chosen and _by(each) == chosen.by), None),
        stops=_stops(found, scorings, chosen, step),
        troubled=_next_troubled(found, scorings, chosen, step),
        total=len(found.steps),
        title=scorings[0].trace_id if scorings else "",
        this=this,
        view=step_view(this, cited),
    )


@router.get("/{digest}/{step}/alone")
async def step_alone(request: Request, who: ReaderDep, ledger: LedgerDep, digest: str, step: int) -> Response:
    """What happened in one step, for the pages of later ones."""
    found = await Stored(ledger.engine).trace(digest)
    if found is None or not 1 <= step <= len(found.steps):
        raise UnknownStep(f"no step {step} of a trace {digest[:80]!r} in this ledger")
    return page(request, "step_alone.html.jinja", who, found=found, view=step_view(found.trace.steps[step - 1]))


class _Address:
    """Addresses of this page, with some of it changed."""

    def __init__(self, path: str, digest: str, step: int, kept: dict[str, str]) -> None:
        self._path, self._digest, self._step, self._kept = path, digest, step, kept

    def __call__(self, step: int | None = None, anchor: str = "", **changed: str) -> str:
        at = self._step if step is None else step
        return f"{self._path}/{self._digest}/{at}{query({**self._kept, **changed})}{f'#{anchor}' if anchor else ''}"

    def of_place(self, place: str, verdict_id: str) -> str:
        """Where a quote stands: on this page, or on that of the earlier step."""
        step, _, _ = place.partition(".")
        number = int(step[1:]) if step[:1] == "s" and step[1:].isdecimal() and len(step) < 8 else None
        if number is None or number == self._step:
            return f"#{place}"
        return self(number, place, cite=verdict_id)


def _address(request: Request, digest: str, step: int, by: str, beside: str) -> _Address:
    base = f"{request.scope.get('root_path', '')}{PREFIX}"
    return _Address(f"{base}/traces", digest, step, {"by": by, "beside": beside})


def _chosen(records: Sequence[VerdictRecord], verdict: str, wanted: str) -> VerdictRecord | None:
    """The verdict that is named, or else the newest of that judge, or else the newest."""
    order = newest(records)
    for record in (*order, *records):
        named = record.verdict.verdict_id == verdict if verdict else _of(record) == wanted
        if (verdict or wanted) and named:
            return record
    if verdict:
        return next((record for record in records if record.verdict.verdict_id == verdict), None)
    return next(iter((*order, *records)), None)


async def _opinion(ledger: Ledger, record: VerdictRecord, step: Step) -> Opinion:
    return opinion(record, await ledger.rubric(record.rubric_digest), step)


async def _people(
    labels: LabelStore, state: str, step: str, chosen: Opinion | None
) -> dict[tuple[str, int | None], list[Label]]:
    """What people answered, by criterion and call."""
    if chosen is None:
        return {}
    name = split_reference(chosen.record.rubric)[0]
    said: dict[tuple[str, int | None], list[Label]] = {}
    for label in await labels.every(Wanted(rubric=name, state_digest=state, step_digest=step)):
        said.setdefault((label.criterion, label.call), []).append(label)
    return said


def _stops(found: StoredTrace, scorings: Sequence[Listed], chosen: Opinion | None, step: int) -> list[Stop]:
    signs = _signs(found, scorings, chosen)
    tones: list[Tone] = [OF_SIGN[sign] for sign in signs]
    if chosen:
        tones[step - 1] = chosen.tone
    steps = found.trace.steps
    return [
        Stop(each.index, each.turn, _what(each), tone, each.index == 1 or steps[each.index - 2].turn != each.turn)
        for each, tone in zip(steps, tones, strict=True)
    ]


def _next_troubled(found: StoredTrace, scorings: Sequence[Listed], chosen: Opinion | None, step: int) -> int | None:
    """The next step that does not pass."""
    signs = _signs(found, scorings, chosen)
    return next((number for number, sign in enumerate(signs, start=1) if number > step and sign in "0-?"), None)


def _signs(found: StoredTrace, scorings: Sequence[Listed], chosen: Opinion | None) -> str:
    """How the judge of the chosen verdict scored each step."""
    count = len(found.steps)
    mine = next((each.tones for each in scorings if chosen and _by(each) == chosen.by), "")
    return mine[:count].ljust(count, ".")


def _what(step: Step) -> str:
    names = ", ".join(dict.fromkeys(call.name for call in step.calls))
    return (names or step.message.strip() or "message")[:80]


def _of(record: VerdictRecord) -> str:
    return by(record.rubric_digest, record.judge_digest)


def _by(scoring: Listed) -> str:
    return by(scoring.rubric_digest, scoring.judge_digest)

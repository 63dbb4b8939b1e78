"""One verdict by its id, and the audit of it: prompts rendered again, raw replies: `/audit/verdicts/ID`."""

import json

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from judge_service.api.state import LedgerDep
from judge_service.audit import audited
from judge_service.errors import UnknownVerdict
from judge_service.ledger import Ledger
from judge_service.pages.assets import PREFIX
from judge_service.pages.frame import HEADERS, page, page_router, plain_text
from judge_service.pages.quoted import passage
from judge_service.pages.visitor import ReaderDep
from judge_service.state import next_state
from stepjudge.contract import Audit
from stepjudge.verdict import VerdictRecord

router = page_router("/verdicts")


@router.get("/{verdict_id}")
async def to_its_step(request: Request, who: ReaderDep, ledger: LedgerDep, verdict_id: str) -> Response:
    """To the step that it is about, with the steps before it."""
    record = await _record(ledger, verdict_id)
    state = next_state(record.state_digest, record.step_digest)
    base = f"{request.scope.get('root_path', '')}{PREFIX}"
    address = f"{base}/traces/{state}/{record.verdict.step}?verdict={record.verdict.verdict_id}"
    return RedirectResponse(address, 303, headers=HEADERS)


@router.get("/{verdict_id}/audit")
async def show_audit(request: Request, who: ReaderDep, ledger: LedgerDep, verdict_id: str) -> Response:
    """A page, or only its inner part where another page asks for it."""
    audit = await _audit(ledger, verdict_id)
    template = "audit_part.html.jinja" if "hx-request" in request.headers else "audit.html.jinja"
    return page(
        request,
        template,
        who,
        tab="traces",
        audit=audit,
        exchanges=[
            (each, passage(f"exchange.{number}", _spelled(each))) for number, each in enumerate(audit.record.exchanges)
        ],
        prompts=[passage(f"prompt.{number}", text) for number, text in enumerate(audit.prompts)],
        specification=json.dumps(audit.record.judge, indent=1, ensure_ascii=False),
    )


@router.get("/{verdict_id}/{what}/{number}")
async def raw(who: ReaderDep, ledger: LedgerDep, verdict_id: str, what: str, number: int) -> Response:
    """A prompt or an exchange, whole, as plain text."""
    audit = await _audit(ledger, verdict_id)
    texts = {"prompt": audit.prompts, "exchange": tuple(_spelled(each) for each in audit.record.exchanges)}.get(
        what, ()
    )
    if not 0 <= number < len(texts):
        raise UnknownVerdict(f"verdict {verdict_id[:80]!r} has no {what[:20]} {number}")
    return plain_text(texts[number], f"{what}-{number}.txt")


async def _audit(ledger: Ledger, verdict_id: str) -> Audit:
    return await audited(await _record(ledger, verdict_id), ledger)


async def _record(ledger: Ledger, verdict_id: str) -> VerdictRecord:
    record = await ledger.record(verdict_id)
    if record is None:
        raise UnknownVerdict(f"no verdict {verdict_id[:80]!r} in this ledger")
    return record


def _spelled(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)

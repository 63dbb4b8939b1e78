"""Signing in gives a key of the service once, and gets a cookie for it: `/audit/sign-in`."""

import hashlib

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from judge_service.api.state import LedgerDep, SettingsDep
from judge_service.gate import holder
from judge_service.pages.assets import PREFIX
from judge_service.pages.frame import HEADERS, page, page_router
from judge_service.pages.visitor import SESSION, FormDep, VisitorOrNoneDep, anonymous_token, cookie, cookie_name

router = page_router("")


@router.get("/sign-in")
async def ask(request: Request, ledger: LedgerDep, who: VisitorOrNoneDep, next: str = "") -> Response:
    if who is not None:
        return RedirectResponse(_target(request, next), 303, headers=HEADERS)
    token = anonymous_token(ledger.fence_key)
    return page(request, "sign_in.html.jinja", None, next=next, token=token, refused=False)


@router.post("/sign-in")
async def sign_in(request: Request, fields: FormDep, settings: SettingsDep, ledger: LedgerDep) -> Response:
    presented, next = fields.get("key", "").strip(), fields.get("next", "")
    found = holder(presented, settings.api_keys)
    if found is None:
        token = anonymous_token(ledger.fence_key)
        return page(request, "sign_in.html.jinja", None, status=401, next=next, token=token, refused=True)
    name, _ = found
    answer = RedirectResponse(_target(request, next), 303, headers=HEADERS)
    answer.set_cookie(
        cookie_name(request),
        cookie(name, hashlib.sha256(presented.encode()).hexdigest(), ledger.fence_key),
        max_age=int(SESSION.total_seconds()),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, _fields: FormDep) -> Response:
    answer = RedirectResponse(f"{request.scope.get('root_path', '')}{PREFIX}/sign-in", 303, headers=HEADERS)
    answer.delete_cookie(
        cookie_name(request), path="/", secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )
    return answer


def _target(request: Request, next: str) -> str:
    """Where to go on: a page of the audit room, and nothing else."""
    base = f"{request.scope.get('root_path', '')}{PREFIX}"
    plain = next.startswith(f"{base}/") and not set(next) & set("\\\r\n\t") and "//" not in next.partition("?")[0]
    return next if plain else f"{base}/traces"

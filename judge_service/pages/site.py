"""The site is all pages together, mounted under `/audit`."""

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response

from judge_service.pages import assets, judges, live, raw_text, review, rubrics, sign_in, trace, traces, verdict
from judge_service.pages.assets import PREFIX
from judge_service.pages.frame import TABS, page_router, refusal

PAGES = (sign_in, traces, raw_text, verdict, trace, review, judges, rubrics, live)
"""Modules with a `router`. One whose router begins with the path of a tab shows that tab."""

_rest = page_router("")


@_rest.get("")
@_rest.get("/")
async def home(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PREFIX}/traces", 307)


@_rest.get("/{path:path}")
async def nowhere(request: Request, path: str) -> Response:
    return refusal(request, 404, "No such page", f"there is no page {path[:100]!r} in the audit room")


def install(app: FastAPI) -> None:
    prefixes = {page.router.prefix.strip("/") for page in PAGES}
    app.state.audit_tabs = frozenset(path for path, _ in TABS if path in prefixes)
    app.add_api_route("/", home, include_in_schema=False)
    for router in (assets.router, *(page.router for page in PAGES), _rest):
        app.include_router(router, prefix=PREFIX)

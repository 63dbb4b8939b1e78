"""The frame is what all pages share: templates in which every text is only text, the policy, and errors as pages."""

import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException

from judge_service.errors import JudgeError, TooManyRequests
from judge_service.pages import words
from judge_service.pages.assets import PREFIX, asset
from judge_service.pages.visitor import SignInNeeded, Visitor
from judge_service.version import VERSION
from stepjudge.visible import visible

log = logging.getLogger(__name__)

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""No inline script and no inline style: what a trace says can be neither."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers send forms with the origin `null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

TABS = (
    ("traces", "Traces"),
    ("review", "Review"),
    ("judges", "Judges"),
    ("rubrics", "Rubrics"),
    ("live", "Live"),
)
"""(path, name) of what the bar leads to; a tab is shown when its page is there."""


def page(
    request: Request, template: str, who: Visitor | None, *, status: int = 200, tab: str = "", **values: Any
) -> HTMLResponse:
    """A page from a template. `tab` is the path of the tab it belongs to."""
    base = f"{request.scope.get('root_path', '')}{PREFIX}"
    shown: dict[str, Any] = {
        "base": base,
        "asset": partial(_asset, base),
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "tab": tab,
        "tabs": [each for each in TABS if each[0] in request.app.state.audit_tabs],
        "version": VERSION,
        "who": who,
    }
    body = environment().get_template(template).render(**shown, **values)
    return HTMLResponse(body.encode("utf-8", "replace"), status, headers=HEADERS)


def plain_text(text: str, filename: str) -> Response:
    """A text as it is, which no browser takes for anything else."""
    headers = {
        **HEADERS,
        "Content-Disposition": f'inline; filename="{filename}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(text.encode("utf-8", "replace"), headers=headers, media_type="text/plain; charset=utf-8")


def page_router(path: str) -> APIRouter:
    """A router for the pages below a path, such as `/traces`. What they raise is shown as a page."""
    return APIRouter(prefix=path, route_class=_PageRoute, include_in_schema=False)


class _PageRoute(APIRoute):
    """A route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except SignInNeeded as error:
                return _to_sign_in(request, error)
            except JudgeError as error:
                headers = (
                    {"Retry-After": str(int(error.retry_after_s) + 1)} if isinstance(error, TooManyRequests) else {}
                )
                return refusal(request, error.status, error.title, str(error), headers)
            except RequestValidationError as error:
                what = "; ".join(f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors())
                return refusal(request, 422, "The address is not valid", what)
            except HTTPException as error:
                return refusal(request, error.status_code, "Not possible", str(error.detail))
            except Exception:  # a bug, which whoever looks at a page should not have to read as JSON
                log.exception("a page could not be made")
                return refusal(request, 500, "Internal error", "This is a fault of the service; its log says more.")

        return handled


def refusal(
    request: Request, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """What is shown in place of a page."""
    answer = page(request, "refusal.html.jinja", None, status=status, title=title, detail=detail)
    answer.headers.update(headers or {})
    return answer


def _to_sign_in(request: Request, error: SignInNeeded) -> Response:
    if request.headers.get("sec-fetch-site") == "cross-site" and request.method == "GET":
        # a link on another site: the browser keeps the cookie back, and gives it when our own page asks again
        return page(request, "again.html.jinja", None)
    if "hx-request" in request.headers:
        return refusal(request, error.status, error.title, str(error), {"HX-Refresh": "true"})
    base = f"{request.scope.get('root_path', '')}{PREFIX}"
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    query = words.query(next=here) if request.method == "GET" else ""
    return RedirectResponse(f"{base}/sign-in{query}", 303, headers=HEADERS)


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(words.FILTERS)
    made.globals["query"] = words.query  # pyright: ignore[reportArgumentType] # jinja names its own globals only
    return made


def _asset(base: str, name: str) -> str:
    return base + asset(name)


def _shown(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

"""Access sees every request come and go: it gives it its ids, and tells the log, the metrics and the traces how it went."""

import logging
import time
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge_service.telemetry import Span
from judge_service.visit import VISIT, Visit, visit_of
from judge_service.watch import Watch
from stepjudge.value import JsonObject

log = logging.getLogger("stepjudge.request")

GONE = 499
"""The client left before it was answered."""

_METHODS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"))


class Access:
    def __init__(self, app: ASGIApp, watch: Watch) -> None:
        self._app = app
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        visit = visit_of(headers.get("x-request-id"), headers.get("traceparent"))
        VISIT.set(visit)
        status, started = GONE, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                ids = (b"x-request-id", visit.request_id.encode())
                message = {**message, "headers": [*message.get("headers", []), ids]}
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        carrier = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        with self._watch.tracing.span(method, {"http.request.method": method}, "server", carrier) as span:
            visit.trace_id = span.trace_id or visit.trace_id
            try:
                await self._app(scope, receive, sending)
            except Exception:
                status = 500
                raise
            finally:
                self._tell(scope, method, status, time.perf_counter() - started, visit, span)

    def _tell(self, scope: Scope, method: str, status: int, seconds: float, visit: Visit, span: Span) -> None:
        route = _route(scope)
        self._watch.metrics.requested(method, route, status, seconds)
        span.tell(
            {
                "http.route": route,
                "http.response.status_code": status,
                "stepjudge.request_id": visit.request_id,
                "stepjudge.verdicts.judged": visit.judged,
                "stepjudge.verdicts.remembered": visit.cached,
            }
        )
        if status >= 500:
            span.failed(str(status))
        fields: JsonObject = {
            "key": visit.holder,
            "method": method,
            "route": route,
            "status": status,
            "ms": round(seconds * 1_000, 1),
        }
        if visit.cached or visit.judged:
            fields["verdicts"] = {"remembered": visit.cached, "judged": visit.judged}
            fields["undetermined"] = dict(visit.undetermined)
            fields["cost_usd"] = round(visit.cost_usd, 6)
        log.info("%s %s %d", method, route, status, extra={"fields": fields})


def _route(scope: Scope) -> str:
    """The route's own pattern, never the path that was asked for."""
    route: Any = scope.get("route")
    path = getattr(route, "path", None)
    return path if isinstance(path, str) and path else "none"

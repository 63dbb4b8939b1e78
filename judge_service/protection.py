"""Protection is what every answer tells a browser: take it for what it says it is, keep it nowhere, frame it nowhere.

Verdicts hold what agents and models said. A page that has a policy of its own, or may be kept, says so itself.
"""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PROTECTION = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}
"""No CORS: no other site's page may read an answer."""

_DOCUMENTATION = ("/docs", "/redoc")
"""Pages that load their scripts from elsewhere."""


class Protection:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in PROTECTION.items():
                    policy = name == "content-security-policy" and scope["path"].startswith(_DOCUMENTATION)
                    headers.setdefault(name, "frame-ancestors 'none'" if policy else value)
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)

"""An annotator is who signs labels on pages: the key's holder or, where no keys are needed, whoever gives a name."""

from urllib.parse import quote, unquote

from fastapi import Request
from fastapi.responses import Response

from judge_service.errors import Forbidden, RefusedLabel
from judge_service.pages.visitor import Visitor

_COOKIE = "stepjudge_annotator"
_A_YEAR = 365 * 24 * 3_600
MOST = 100
"""Characters of a name, as labels have them."""


def may_label(who: Visitor) -> None:
    """Raises Forbidden."""
    if not who.may("label"):
        raise Forbidden(f"the key {who.name!r} lacks the scope 'label'")


def annotator(request: Request, who: Visitor, given: str = "") -> str:
    """The name; empty when nobody has given one. Raises RefusedLabel for one that cannot sign a label."""
    name = who.name or given.strip() or unquote(request.cookies.get(_COOKIE, "")).strip()
    if name and (len(name) > MOST or not name.isprintable()):
        raise RefusedLabel(f"an annotator's name has 1 to {MOST} characters, all of which can be seen: {name[:MOST]!r}")
    return name


def remember(request: Request, answer: Response, who: Visitor, name: str) -> None:
    """Keep a given name in this browser. It is a name on labels, and opens nothing."""
    if who.name is None and name:
        secure = request.url.scheme == "https"
        answer.set_cookie(
            _COOKIE, quote(name), max_age=_A_YEAR, path="/", secure=secure, httponly=True, samesite="strict"
        )

"""Every error of the service is a problem (RFC 9457): one shape, one media type, whoever raised it."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from judge_service.api.document import reference
from judge_service.errors import JudgeError, TooManyRequests
from judge_service.protection import PROTECTION
from stepjudge.errors import Problem
from stepjudge.value import JsonObject

MEDIA_TYPE = "application/problem+json"


def problems(*errors: type[JudgeError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may refuse in these ways. Any route may find the request not valid (422)."""
    titles = {
        400: ["The body cannot be read"],
        401: ["Unauthorized"],
        403: ["Forbidden"],
        413: ["Content too large"],
        422: ["The request is not valid"],
        429: ["Too many requests"],
        503: ["The service is stopping"],
    }
    for error in errors:
        titles.setdefault(error.status, []).append(error.title)
    content = {MEDIA_TYPE: {"schema": {"$ref": reference("Problem")}}}
    return {
        status: {"description": "; ".join(dict.fromkeys(found)), "content": content} for status, found in titles.items()
    }


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(problem.model_dump_json(), problem.status, headers=headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Render our own errors, FastAPI's validation errors and Starlette's 404, 405 and the like."""
    app.add_exception_handler(JudgeError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


async def _refused(_request: Request, error: Exception) -> Response:
    refused = cast(JudgeError, error)
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
    if isinstance(refused, TooManyRequests):
        headers["Retry-After"] = str(max(1, math.ceil(refused.retry_after_s)))
    return answer(refused.problem(), headers)


async def _invalid(_request: Request, error: Exception) -> Response:
    """Where and why, without the value itself: it may be megabytes, or a secret."""
    errors = tuple(
        cast(JsonObject, {"place": "/".join(map(str, item["loc"])), "fault": item["msg"]})
        for item in cast(RequestValidationError, error).errors()[:50]
    )
    detail = "; ".join(f"{item['place']}: {item['fault']}" for item in errors[:3])
    return answer(Problem(title="The request is not valid", status=422, detail=_clean(detail), errors=errors))


async def _http(_request: Request, error: Exception) -> Response:
    refused = cast(HTTPException, error)
    title = HTTPStatus(refused.status_code).phrase
    detail = "" if refused.detail == title else str(refused.detail)
    if detail == "There was an error parsing the body":
        detail = "the body cannot be read: it is not UTF-8, is nested too deeply, or holds a number of too many digits"
    return answer(Problem(title=title, status=refused.status_code, detail=_clean(detail)), refused.headers)


async def _bug(_request: Request, _error: Exception) -> Response:
    """Ours, so the traceback goes to the log and not to the caller."""
    return answer(
        Problem(title="Internal error", status=500, detail="this is a fault of the service; its log says more"),
        PROTECTION,  # outside of all middleware
    )


def _clean(text: str) -> str:
    return text[:2_000].encode("utf-8", "replace").decode()

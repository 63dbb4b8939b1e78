"""A fault is one way a paid API fails; a policy says which request meets which fault.

Provider(answer, faults=first(2, RATE_LIMITED))
Provider(answer, faults=lambda request: NO_JSON_SCHEMA if "response_format" in request.body else None)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from math import ceil
from random import Random
from typing import Literal

import orjson

from fakes.request import Reply, Request, written

Ending = Literal["whole", "never", "cut before", "cut inside"]
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in place of the answer (`status`, `body`), a spoilt answer (`spoil`), or a lost one (`ending`)."""

    name: str
    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Callable[[], Headers] = dict[str, str]
    """A function, because an HTTP date depends on when it is sent."""
    spoil: Callable[[Reply], Reply] | None = None
    ending: Ending = "whole"


Policy = Callable[[Request], Fault | None]


def error_body(message: str, *, kind: str | None, code: str | None = None, param: str | None = None) -> bytes:
    return orjson.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


def rate_limited(after: float | None, form: Literal["seconds", "date", "ms"] = "seconds") -> Fault:
    """429, naming when to come back in one of the three forms in use, or not at all."""

    def headers() -> Headers:
        match form:
            case _ if after is None:
                return {}
            case "seconds":
                return {"retry-after": f"{after:g}"}
            case "ms":
                return {"retry-after-ms": f"{ceil(after * 1000)}"}
            case "date":  # whole seconds only, so rounded up: never earlier than asked
                back = datetime.now(UTC) + timedelta(seconds=after + 0.999)
                return {"retry-after": format_datetime(back, usegmt=True)}

    body = error_body("Rate limit reached for requests.", kind="requests", code="rate_limit_exceeded")
    return Fault("rate_limited", 429, body, headers=headers)


RATE_LIMITED = rate_limited(None)
INSUFFICIENT_QUOTA = Fault(
    "insufficient_quota",
    429,
    error_body(
        "You exceeded your current quota, please check your plan and billing details.",
        kind="insufficient_quota",
        code="insufficient_quota",
    ),
)
SERVER_ERROR = Fault("server_error", 500, error_body("The server had an error.", kind="server_error"))
BAD_GATEWAY = Fault(
    "bad_gateway", 502, b"<html><body><h1>502 Bad Gateway</h1></body></html>\n", content_type="text/html"
)
UNAVAILABLE = Fault("unavailable", 503, error_body("The engine is currently overloaded.", kind="service_unavailable"))
OVERLOADED = Fault("overloaded", 529, error_body("Overloaded", kind="overloaded_error"))

CONTEXT_TOO_LONG = Fault(
    "context_too_long",
    400,
    error_body(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        kind="invalid_request_error",
        code="context_length_exceeded",
        param="messages",
    ),
)
NO_JSON_SCHEMA = Fault(
    "no_json_schema",
    400,
    error_body(
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        kind="invalid_request_error",
        param="response_format",
    ),
)
FILTERED_PROMPT = Fault(
    "filtered_prompt",
    400,
    error_body(
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        kind=None,
        code="content_filter",
        param="prompt",
    ),
)
UNAUTHORIZED = Fault(
    "unauthorized",
    401,
    error_body("Incorrect API key provided.", kind="invalid_request_error", code="invalid_api_key"),
)
NO_SUCH_MODEL = Fault(
    "no_such_model",
    404,
    error_body(
        "The model does not exist or you do not have access to it.",
        kind="invalid_request_error",
        code="model_not_found",
        param="model",
    ),
)

HANG = Fault("hang", ending="never")
"""No byte until the client leaves."""
CUT_BEFORE = Fault("cut_before", ending="cut before")
"""The connection closes before the first byte."""
CUT_INSIDE = Fault("cut_inside", ending="cut inside")
"""The connection closes in the middle of the body."""


def _saying(content: str) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, content=content, tool_arguments=None)


def _halved(reply: Reply) -> Reply:
    def half(part: str | None) -> str | None:
        return part and part[: len(part) // 2]

    content, arguments = half(written(reply.content)), half(written(reply.tool_arguments))
    return replace(reply, content=content, tool_arguments=arguments, finish_reason="length")


NOT_JSON = Fault("not_json", spoil=_saying("Sure! Here is my verdict: {valid: yes,"))
WRONG_SCHEMA = Fault("wrong_schema", spoil=_saying('{"unexpected":["shape",1]}'))
EMPTY = Fault("empty", spoil=_saying(""))
REFUSAL = Fault("refusal", spoil=lambda _: Reply(refusal="I'm sorry, I can't help with that."))
FILTERED = Fault("filtered", spoil=lambda _: Reply(content="", finish_reason="content_filter"))
TRUNCATED = Fault("truncated", spoil=_halved)
"""Half of the answer, with finish_reason `length`."""

FAULTS = (
    *(RATE_LIMITED, INSUFFICIENT_QUOTA, SERVER_ERROR, BAD_GATEWAY, UNAVAILABLE, OVERLOADED),
    *(CONTEXT_TOO_LONG, NO_JSON_SCHEMA, FILTERED_PROMPT, UNAUTHORIZED, NO_SUCH_MODEL),
    *(HANG, CUT_BEFORE, CUT_INSIDE, NOT_JSON, WRONG_SCHEMA, EMPTY, REFUSAL, FILTERED, TRUNCATED),
)


def first(count: int, fault: Fault) -> Policy:
    """The first requests to arrive, whatever they ask."""
    return lambda request: fault if request.number <= count else None


def first_of_each(count: int, fault: Fault) -> Policy:
    """Every distinct request fails so often, then works."""
    return lambda request: fault if request.attempt <= count else None


def every(period: int, fault: Fault) -> Policy:
    """Each period-th request to arrive."""
    return lambda request: None if request.number % period else fault


def seeded(rates: Mapping[Fault, float], seed: int) -> Policy:
    """A random mix that hangs on the request's bytes and attempt alone, so concurrency cannot reorder it."""

    def policy(request: Request) -> Fault | None:
        draw = Random(f"{seed}/{request.digest}/{request.attempt}").random()
        for fault, rate in rates.items():
            draw -= rate
            if draw < 0:
                return fault
        return None

    return policy

"""An exchange is one HTTP request that a target makes, with its limits, and the JSON that answered it."""

import json
import math
from collections.abc import Mapping

import anyio
import httpx2
from pydantic import JsonValue

from stepjudge.errors import StepjudgeError

MAX_REPLY_BYTES = 50 * 2**20
ATTEMPTS = 3
MAX_WAIT_S = 30.0
_BUSY = (408, 429, 502, 503, 504)
"""Statuses that say the request was not worked on, or may be tried again."""


class NoReply(StepjudgeError):
    """The target gave no answer that can be used."""


async def exchange(
    http: httpx2.AsyncClient, method: str, url: str, body: JsonValue, headers: Mapping[str, str]
) -> JsonValue:
    """The JSON that answers. A busy target is asked up to three times. Raises NoReply."""
    number = 1
    while (response := await _sent(http, method, url, body, headers)).status_code in _BUSY and number < ATTEMPTS:
        await anyio.sleep(_wait(response, number))
        number += 1
    if not response.is_success:
        raise NoReply(f"{url} answered {response.status_code} {response.reason_phrase}: {response.text[:300]}")
    try:
        return json.loads(response.content)
    except ValueError as error:
        raise NoReply(f"{url} answered no JSON ({error}): {response.text[:300]!r}") from error


async def _sent(
    http: httpx2.AsyncClient, method: str, url: str, body: JsonValue, headers: Mapping[str, str]
) -> httpx2.Response:
    content = None if body is None else json.dumps(body).encode()
    try:
        async with http.stream(method, url, content=content, headers=dict(headers)) as response:
            chunks: list[bytes] = []
            size = 0
            async for chunk in response.aiter_bytes():
                size += len(chunk)
                if size > MAX_REPLY_BYTES:
                    raise NoReply(f"{url} answered more than {MAX_REPLY_BYTES:,} bytes")
                chunks.append(chunk)
    except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL) as error:
        raise NoReply(f"no answer from {url}: {error or type(error).__name__}") from error
    kept = [(key, value) for key, value in response.headers.multi_items() if key.lower() == "retry-after"]
    return httpx2.Response(response.status_code, headers=kept, content=b"".join(chunks), request=response.request)


def _wait(response: httpx2.Response, number: int) -> float:
    try:
        asked = float(response.headers.get("retry-after", ""))
    except ValueError:
        asked = 0.5 * 2**number
    return min(max(asked, 0.0), MAX_WAIT_S) if math.isfinite(asked) else MAX_WAIT_S

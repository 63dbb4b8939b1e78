"""A provider is a paid model API on a loopback socket: OpenAI's wire, answers scripted by the test, real accounting.

    def verdict(request: Request) -> dict:
        return {"valid": "yes" if "grep" in request.user else "no"}

    with Provider(verdict, faults=first(2, rate_limited(after=1))) as provider:
        ...call provider.base_url...
        assert provider.statuses == {429: 2, 200: 1}

It runs in a thread of its own, and the script runs there too: it must be quick, and may be called at any time.
A script that raises answers 500, and the exception rises again where the `with` block ends.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self
from zlib import crc32

import orjson

from fakes.batches import Desk, Fate
from fakes.books import NO_ANSWER, Books, Exchange
from fakes.completion import NO_USAGE, Usage, events, kept_to_limit, used, whole
from fakes.faults import NO_SUCH_MODEL, RATE_LIMITED, UNAUTHORIZED, Ending, Fault, Policy, error_body
from fakes.prefix import PrefixCache, Prompt, rendered
from fakes.quota import Quota
from fakes.request import Document, Reply, Request
from fakes.wire import Connection, Head, answer, streamed

__all__ = ["Exchange", "Provider", "Reply", "Request", "Usage"]

Script = Callable[[Request], Reply | str | Document]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a request will get, decided when it arrives."""

    status: int
    response: bytes
    fault: str | None = None
    ending: Ending = "whole"
    usage: Usage = NO_USAGE
    prompt: Prompt | None = None
    """To be remembered once this is answered."""
    wait: float = 0.0


class Provider:
    def __init__(
        self,
        script: Script,
        *,
        faults: Policy | None = None,
        latency: float | Callable[[Request], float] = 0.0,
        max_in_flight: int | None = None,
        requests_per_minute: int | None = None,
        models: Sequence[str] | None = None,
        api_key: str | None = None,
        cache_minimum: int = 1024,
        record: bool = True,
        port: int = 0,
        fates: Sequence[Fate] = (),
    ) -> None:
        """
        latency: seconds until an answer or a lost one; errors come at once, as they do.
        max_in_flight: above it 429. requests_per_minute: a full bucket at the start, then 429 with x-ratelimit headers.
        models, api_key: when given, others are 404 and 401.
        cache_minimum: the shortest prefix that counts as cached, in tokens.
        port: a free one when 0; the port of one that has ended, to come back in its place.
        fates: how its batches end, in order; those after the last are completed.
        record: whether `exchanges` keeps the requests; switch it off for long runs.
        """
        self._script = script
        self._faults = faults
        self._latency = latency
        self._max_in_flight = max_in_flight
        self._quota = Quota(requests_per_minute) if requests_per_minute else None
        self._models = models
        self._api_key = api_key
        self._prefixes = PrefixCache(minimum=cache_minimum)
        self._books = Books(keep=record)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="provider", daemon=True)
        self._ready = threading.Event()
        self._connections: set[Connection] = set()
        self._attempts: Counter[tuple[int, int]] = Counter()
        self._script_error: Exception | None = None
        self._port = port
        self.desk = Desk(self._in_batch, fates)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """In order of arrival, those still waiting included."""
        return self._books.exchanges

    @property
    def requests(self) -> tuple[Request, ...]:
        return tuple(exchange.request for exchange in self.exchanges)

    @property
    def count(self) -> int:
        """Chat completions asked for so far, kept or not."""
        return self._books.count

    @property
    def statuses(self) -> dict[int, int]:
        """How often each status was given; 0 counts requests that never got a whole answer."""
        return self._books.statuses

    @property
    def usage(self) -> Usage:
        """What all answers together would be billed for."""
        return self._books.usage

    @property
    def in_flight(self) -> int:
        return self._books.in_flight

    @property
    def in_flight_peak(self) -> int:
        return self._books.in_flight_peak

    @property
    def disconnects(self) -> int:
        """Clients that left before their answer."""
        return self._books.disconnects

    def wait_until(self, reached: Callable[[], bool], *, timeout: float = 5.0) -> None:
        """For what the provider learns a moment later, such as a client that left. TimeoutError when it does not."""
        deadline = time.monotonic() + timeout
        while not reached():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not reached in {timeout} s; statuses so far: {self.statuses}")
            time.sleep(0.002)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._script_error and error is None:
            raise self._script_error

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await self._loop.create_server(
            lambda: Connection(self._receive, self._connections), "127.0.0.1", self._port, backlog=4096
        )
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in tuple(self._connections):
            connection.abort()
        await server.wait_closed()

    def _receive(self, connection: Connection, head: Head, body: bytes) -> None:
        match head.method, head.path:
            case "POST", "/v1/chat/completions":
                self._complete(connection, head, body)
            case "GET", "/v1/models":
                listed = [{"id": name, "object": "model", "owned_by": "fake"} for name in self._models or ("fake",)]
                connection.send(answer(200, orjson.dumps({"object": "list", "data": listed}), {}))
            case method, path:
                found = self.desk.handle(method, path, body)
                if found is not None:
                    status, answered = found
                    connection.send(answer(status, answered, {})) if status else connection.cut(b"")
                    return
                unknown = error_body(f"Unknown request URL: {method} {path}.", kind="invalid_request_error")
                connection.send(answer(404, unknown, {}))

    def _complete(self, connection: Connection, head: Head, body: bytes) -> None:
        request, problem = self._read(head, body)
        self._books.open(request)
        try:
            outcome = problem or self._outcome(request)
        except Exception as error:  # of the test's own code, on this thread: __exit__ shows it to the test
            self._script_error = self._script_error or error
            outcome = _Outcome(500, answer(500, error_body(f"The script raised {error!r}.", kind="server_error"), {}))
        connection.left = partial(self._client_left, request, outcome)
        connection.after(outcome.wait, partial(self._give, connection, request, outcome))

    def _in_batch(self, body: bytes) -> tuple[int, bytes]:
        """A line of a batch is counted like a request of its own, which no limit of requests holds up."""
        request, problem = self._read(Head("POST", "/v1/chat/completions", {}), body)
        self._books.open(request)
        outcome = problem or self._outcome(request)
        self._close(request, outcome, outcome.status)
        return outcome.status, outcome.response.partition(b"\r\n\r\n")[2]

    def _read(self, head: Head, body: bytes) -> tuple[Request, _Outcome | None]:
        parsed: Document = {}
        problem = None
        try:
            parsed = orjson.loads(body)
            messages: list[object] | None = parsed.get("messages")
            if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
                problem = self._refused("'messages' must be a list of objects.", param="messages")
            elif parsed.get("n", 1) != 1:
                problem = self._refused("Only n=1 is supported.", param="n")
        except (ValueError, AttributeError):
            parsed, problem = {}, self._refused("We could not parse the JSON body of your request.")
        digest = crc32(body)
        self._attempts[digest, len(body)] += 1
        request = Request(self.count + 1, self._attempts[digest, len(body)], digest, head.headers, parsed)
        return request, problem

    def _outcome(self, request: Request) -> _Outcome:
        """The limits of the account first, then the faults, then the script."""
        if self._api_key is not None and request.headers.get("authorization") != f"Bearer {self._api_key}":
            return self._failed(UNAUTHORIZED)
        if self._models is not None and request.model not in self._models:
            return self._failed(NO_SUCH_MODEL)
        if self._max_in_flight is not None and self.in_flight > self._max_in_flight:
            return self._failed(RATE_LIMITED)
        limits = self._quota.take() if self._quota else {}
        if "retry-after" in limits:
            return self._failed(RATE_LIMITED, limits)
        fault = self._faults(request) if self._faults else None
        if fault and fault.status != 200:
            return self._failed(fault, limits)
        return self._answered(request, fault, limits)

    def _answered(self, request: Request, fault: Fault | None, limits: Mapping[str, str]) -> _Outcome:
        reply = self._script(request)
        reply = reply if isinstance(reply, Reply) else Reply(content=reply)
        reply = kept_to_limit(request, fault.spoil(reply) if fault and fault.spoil else reply)
        prompt = self._prefixes.read(rendered(request), request.model)
        usage = used(reply, prompt=prompt.tokens, cached=self._prefixes.cached_tokens(prompt))
        headers = {"x-request-id": f"req_{request.number}", **limits, **reply.headers}
        if request.streams:
            response = streamed(events(request, reply, usage), headers)
        else:
            response = answer(200, whole(request, reply, usage), headers)
        wait = self._latency(request) if callable(self._latency) else self._latency
        return _Outcome(
            200,
            response,
            fault and fault.name,
            fault.ending if fault else "whole",
            usage=usage,
            prompt=prompt,
            wait=wait,
        )

    def _failed(self, fault: Fault, limits: Mapping[str, str] | None = None) -> _Outcome:
        headers = {**(limits or {}), **fault.headers()}
        return _Outcome(fault.status, answer(fault.status, fault.body, headers, fault.content_type), fault.name)

    def _refused(self, message: str, param: str | None = None) -> _Outcome:
        return _Outcome(400, answer(400, error_body(message, kind="invalid_request_error", param=param), {}))

    def _give(self, connection: Connection, request: Request, outcome: _Outcome) -> None:
        """The books are closed before the first byte leaves, so a client that has its answer finds it counted."""
        match outcome.ending:
            case "whole":
                self._close(request, outcome, outcome.status)
                connection.send(outcome.response)
            case "cut before":
                self._close(request, outcome, NO_ANSWER)
                connection.cut(b"")
            case "cut inside":
                self._close(request, outcome, NO_ANSWER)
                body_start = outcome.response.index(b"\r\n\r\n") + 4
                connection.cut(outcome.response[: (body_start + len(outcome.response)) // 2])
            case "never":
                pass

    def _client_left(self, request: Request, outcome: _Outcome) -> None:
        self._close(request, outcome, NO_ANSWER, left=True)

    def _close(self, request: Request, outcome: _Outcome, status: int, *, left: bool = False) -> None:
        if outcome.prompt and status == 200:
            self._prefixes.remember(outcome.prompt)
        usage = outcome.usage if status == 200 else NO_USAGE
        self._books.close(request, status=status, fault=outcome.fault, usage=usage, left=left)

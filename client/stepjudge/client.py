"""A client asks a judge service: over HTTP, or an embedded one in this process. Same contract, same errors."""

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack
from functools import partial
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from pydantic import TypeAdapter, ValidationError

from stepjudge.address import place, redirect
from stepjudge.connection import EMBEDDED, NO_ANSWER, embedded, over_http, problem, unreachable
from stepjudge.contract import (
    Audit,
    Batches,
    Broken,
    Estimate,
    Event,
    Finished,
    JudgeCard,
    RubricRef,
    Scorecard,
    Scored,
    ScoreRequest,
    VerdictPage,
)
from stepjudge.errors import JudgeRefused, JudgeUnreachable, UnreadableTrace
from stepjudge.grouping import Grouping
from stepjudge.json_fault import json_fault
from stepjudge.label import Label
from stepjudge.label_contract import (
    Agreements,
    KeepRequest,
    KeptTrace,
    LabelPage,
    NewLabels,
    Queue,
    StepInState,
    StepVerdicts,
    StoredLabels,
)
from stepjudge.label_sampling import Queued
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace
from stepjudge.tuning.stale import StaleReport, StaleRequest
from stepjudge.value import Value

T = TypeVar("T")
V = TypeVar("V", bound=Value)
Document = Trace | dict[str, Any] | list[Any]
"""A trace, or the JSON of one in any format that is read."""


class ScoreOptions(TypedDict, total=False):
    """What may be said about a scoring: the fields of ScoreRequest beside the trace."""

    format: str | None
    rubric: str | Rubric
    judge: str | None
    steps: str | None
    group: Grouping
    max_cost_usd: float | None
    fresh: bool
    sample: int
    made: bool
    batch: bool


class LabelFilter(TypedDict, total=False):
    """Which labels are asked for; what is left out is any. `rubric` is a name, whatever the version."""

    rubric: str
    criterion: str
    annotator: str
    state_digest: str
    step_digest: str


class QueueOptions(TypedDict, total=False):
    """How steps to label are drawn from the ledger's judged steps."""

    rubric: str
    judge: str
    design: Queued
    count: int
    seed: int


OnStep = Callable[[Scored], None]

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class AsyncJudgeClient:
    """Asks a judge service. Use it as an async context manager.

    Methods raise JudgeUnreachable when there is no answer, JudgeRefused, which carries the problem, when the service
    declines, and UnreadableTrace for a document that is no JSON. No message tells the key or a password. A step that could not be judged is neither: its answers are `undetermined`.
    """

    def __init__(self, url: str, *, api_key: str | None = None, timeout_s: float = 3_600.0) -> None:
        self._open: Callable[[], AbstractAsyncContextManager[httpx2.AsyncClient]] = partial(
            over_http, url, api_key, timeout_s
        )
        self._stack = AsyncExitStack()

    @classmethod
    def embedded(cls, **settings: Any) -> Self:
        """A service inside this process, without a socket. Needs `stepjudge[service]`.

        Keywords are settings of the service, such as `data_dir`, `judge`, `api_base`; the environment's
        `STEPJUDGE_…` variables hold for the rest.
        """
        client = cls(EMBEDDED)
        client._open = partial(embedded, settings)
        return client

    async def __aenter__(self) -> Self:
        self._http = await self._stack.enter_async_context(self._open())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def score(
        self, trace: Document, *, on_step: OnStep | None = None, **options: Unpack[ScoreOptions]
    ) -> Scorecard:
        """Score the steps of one trace. `on_step` is called with each verdict as it lands."""
        body = _request(trace, options)
        if on_step is None:
            return await self._post("/v1/score", body, Scorecard)
        async for event in self._events(body):
            match event:
                case Scored():
                    on_step(event)
                case Finished():
                    return event.scorecard
                case Broken():
                    raise JudgeRefused(event.problem)
        raise JudgeUnreachable("the service stopped answering before the scorecard")

    async def estimate(self, trace: Document, **options: Unpack[ScoreOptions]) -> Estimate:
        """What scoring would take. Spends nothing."""
        return await self._post("/v1/estimate", _request(trace, options), Estimate)

    async def batches(self) -> Batches:
        """Questions that wait in batches, and those batches."""
        return Batches.model_validate_json(await self._get("/v1/batches"))

    async def send_batches(self) -> Batches:
        """Send what was scored with `batch`: each question once, whatever was interrupted before."""
        return await self._post("/v1/batches", None, Batches)

    async def collect_batches(self) -> Batches:
        """Take in the replies of batches that have ended; scoring with `batch` again reads and records them."""
        return await self._post("/v1/batches/collect", None, Batches)

    async def audit(self, verdict_id: str) -> Audit:
        """Everything about one verdict, with its prompt rendered again."""
        return Audit.model_validate_json(await self._get(f"/v1/verdicts/{verdict_id}"))

    async def verdicts(self, *, cursor: str | None = None, limit: int = 50) -> VerdictPage:
        """A page of verdicts, newest first."""
        parameters = {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        return VerdictPage.model_validate_json(await self._get("/v1/verdicts", parameters))

    async def rubrics(self) -> tuple[RubricRef, ...]:
        return TypeAdapter(tuple[RubricRef, ...]).validate_json(await self._get("/v1/rubrics"))

    async def rubric(self, reference: str) -> Rubric:
        return Rubric.model_validate_json(await self._get(f"/v1/rubrics/{reference}"))

    async def judges(self) -> tuple[JudgeCard, ...]:
        return TypeAdapter(tuple[JudgeCard, ...]).validate_json(await self._get("/v1/judges"))

    async def keep(self, trace: Document, *, rubric: str | Rubric = "step", format: str | None = None) -> KeptTrace:
        """Keep the states of a trace, so that its steps can be labelled. No judge is asked."""
        document = trace.model_dump(mode="json", exclude_defaults=True) if isinstance(trace, Trace) else trace
        named = "stepjudge" if isinstance(trace, Trace) else format
        return await self._post("/v1/states", KeepRequest(trace=document, format=named, rubric=rubric), KeptTrace)

    async def state(self, state_digest: str, step_digest: str) -> Trace:
        """A step of the ledger with everything before it: a trace that ends with the step."""
        found = await self._get(f"/v1/states/{state_digest}/{step_digest}")
        return StepInState.model_validate_json(found).trace

    async def verdicts_of(self, state_digest: str, step_digest: str) -> StepVerdicts:
        """What every judge of the ledger said of a step."""
        return StepVerdicts.model_validate_json(await self._get(f"/v1/states/{state_digest}/{step_digest}/verdicts"))

    async def label(self, labels: Sequence[Label]) -> StoredLabels:
        """Store labels: all of them or, when one is refused, none. Storing the same again changes nothing."""
        return await self._post("/v1/labels", NewLabels(labels=tuple(labels)), StoredLabels)

    async def labels(self, *, cursor: str | None = None, limit: int = 50, **which: Unpack[LabelFilter]) -> LabelPage:
        """A page of labels, newest first: every record, also those that others have replaced."""
        parameters = {**which, "limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        return LabelPage.model_validate_json(await self._get("/v1/labels", _texts(parameters)))

    async def agreement(self, rubric: str = "step", *, judge: str | None = None, every: bool = False) -> Agreements:
        """Judges beside people, per version of the rubric. `every` counts labels too that rates may not rest on."""
        parameters = {"rubric": rubric, "every": str(every).lower()} | ({"judge": judge} if judge else {})
        return Agreements.model_validate_json(await self._get("/v1/agreement", parameters))

    async def queue(self, **options: Unpack[QueueOptions]) -> Queue:
        """Judged steps of the ledger to label, in this order."""
        return Queue.model_validate_json(await self._get("/v1/queue", _texts(options)))

    async def stale(self, rubric: str | Rubric | None = None, *, judge: str | None = None) -> StaleReport:
        """Stored verdicts that would be given anew under this rubric or by this judge, and for how much. Spends nothing."""
        return await self._post("/v1/stale", StaleRequest(rubric=rubric, judge=judge), StaleReport)

    async def _post(
        self, path: str, body: ScoreRequest | KeepRequest | NewLabels | StaleRequest | None, answer: type[V]
    ) -> V:
        sent = {} if body is None else _json(body)
        response = await self._sent(self._http.build_request("POST", path, **sent))
        try:
            return answer.model_validate_json(response.content)
        except ValidationError as error:
            raise self._no_service(error) from error

    async def _get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        return (await self._sent(self._http.build_request("GET", path, params=parameters))).content

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._http.send(request)
        except NO_ANSWER as error:
            raise unreachable(error, self._http) from error
        if response.has_redirect_location:
            raise redirect(response)
        if response.is_error:
            raise JudgeRefused(problem(response))
        return response

    def _no_service(self, error: ValidationError) -> JudgeUnreachable:
        return JudgeUnreachable(f"what answers at {place(self._http.base_url)} is no judge service: {error}")

    async def _events(self, body: ScoreRequest) -> AsyncIterator[Event]:
        headers = {"accept": "application/x-ndjson"}
        try:
            async with self._http.stream("POST", "/v1/score", **_json(body, headers)) as response:
                if response.has_redirect_location:
                    raise redirect(response)
                if response.is_error:
                    await response.aread()
                    raise JudgeRefused(problem(response))
                async for line in response.aiter_lines():
                    yield self._event(line)
        except NO_ANSWER as error:
            raise unreachable(error, self._http) from error

    def _event(self, line: str) -> Event:
        try:
            return _EVENT.validate_json(line)
        except ValidationError as error:
            raise self._no_service(error) from error


class JudgeClient:
    """The same, for callers without an event loop: it runs one in a thread of its own. Use it as a context manager."""

    def __init__(self, url: str, *, api_key: str | None = None, timeout_s: float = 3_600.0) -> None:
        self._client = AsyncJudgeClient(url, api_key=api_key, timeout_s=timeout_s)
        self._stack = ExitStack()

    @classmethod
    def embedded(cls, **settings: Any) -> Self:
        """A service inside this process, without a socket. See AsyncJudgeClient.embedded."""
        client = cls(EMBEDDED)
        client._client = AsyncJudgeClient.embedded(**settings)
        return client

    @property
    def asynchronous(self) -> AsyncJudgeClient:
        """The same, not yet entered, for a caller that runs an event loop of its own."""
        return self._client

    def __enter__(self) -> Self:
        with ExitStack() as stack:  # what a failing start has opened is closed: a thread left behind would never end
            self._portal: BlockingPortal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self._portal.wrap_async_context_manager(self._client))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def score(self, trace: Document, *, on_step: OnStep | None = None, **options: Unpack[ScoreOptions]) -> Scorecard:
        """Score the steps of one trace. `on_step` is called, from another thread, with each verdict as it lands."""
        return self._run(partial(self._client.score, trace, on_step=on_step, **options))

    def estimate(self, trace: Document, **options: Unpack[ScoreOptions]) -> Estimate:
        """What scoring would take. Spends nothing."""
        return self._run(partial(self._client.estimate, trace, **options))

    def batches(self) -> Batches:
        """Questions that wait in batches, and those batches."""
        return self._run(self._client.batches)

    def send_batches(self) -> Batches:
        """Send what was scored with `batch`: each question once, whatever was interrupted before."""
        return self._run(self._client.send_batches)

    def collect_batches(self) -> Batches:
        """Take in the replies of batches that have ended; scoring with `batch` again reads and records them."""
        return self._run(self._client.collect_batches)

    def audit(self, verdict_id: str) -> Audit:
        """Everything about one verdict, with its prompt rendered again."""
        return self._run(partial(self._client.audit, verdict_id))

    def verdicts(self, *, cursor: str | None = None, limit: int = 50) -> VerdictPage:
        """A page of verdicts, newest first."""
        return self._run(partial(self._client.verdicts, cursor=cursor, limit=limit))

    def all_verdicts(self) -> Iterator[VerdictPage]:
        """Every page of verdicts."""
        cursor: str | None = None
        while True:
            page = self.verdicts(cursor=cursor, limit=500)
            yield page
            if (cursor := page.next_cursor) is None:
                return

    def rubrics(self) -> tuple[RubricRef, ...]:
        return self._run(self._client.rubrics)

    def rubric(self, reference: str) -> Rubric:
        return self._run(partial(self._client.rubric, reference))

    def judges(self) -> tuple[JudgeCard, ...]:
        return self._run(self._client.judges)

    def keep(self, trace: Document, *, rubric: str | Rubric = "step", format: str | None = None) -> KeptTrace:
        """Keep the states of a trace, so that its steps can be labelled. No judge is asked."""
        return self._run(partial(self._client.keep, trace, rubric=rubric, format=format))

    def state(self, state_digest: str, step_digest: str) -> Trace:
        """A step of the ledger with everything before it: a trace that ends with the step."""
        return self._run(partial(self._client.state, state_digest, step_digest))

    def verdicts_of(self, state_digest: str, step_digest: str) -> StepVerdicts:
        """What every judge of the ledger said of a step."""
        return self._run(partial(self._client.verdicts_of, state_digest, step_digest))

    def label(self, labels: Sequence[Label]) -> StoredLabels:
        """Store labels: all of them or, when one is refused, none. Storing the same again changes nothing."""
        return self._run(partial(self._client.label, labels))

    def labels(self, *, cursor: str | None = None, limit: int = 50, **which: Unpack[LabelFilter]) -> LabelPage:
        """A page of labels, newest first: every record, also those that others have replaced."""
        return self._run(partial(self._client.labels, cursor=cursor, limit=limit, **which))

    def all_labels(self, **which: Unpack[LabelFilter]) -> tuple[Label, ...]:
        """All labels, oldest first."""
        found: list[Label] = []
        cursor: str | None = None
        while True:
            page = self.labels(cursor=cursor, limit=5_000, **which)
            found += page.labels
            if (cursor := page.next_cursor) is None:
                return tuple(reversed(found))

    def agreement(self, rubric: str = "step", *, judge: str | None = None, every: bool = False) -> Agreements:
        """Judges beside people, per version of the rubric. `every` counts labels too that rates may not rest on."""
        return self._run(partial(self._client.agreement, rubric, judge=judge, every=every))

    def queue(self, **options: Unpack[QueueOptions]) -> Queue:
        """Judged steps of the ledger to label, in this order."""
        return self._run(partial(self._client.queue, **options))

    def stale(self, rubric: str | Rubric | None = None, *, judge: str | None = None) -> StaleReport:
        """Stored verdicts that would be given anew under this rubric or by this judge, and for how much. Spends nothing."""
        return self._run(partial(self._client.stale, rubric, judge=judge))

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._portal.call(work)


def _request(trace: Document, options: ScoreOptions) -> ScoreRequest:
    if isinstance(trace, Trace):
        own = {**options, "format": "stepjudge"}
        return ScoreRequest.model_validate({"trace": trace.model_dump(mode="json", exclude_defaults=True), **own})
    return ScoreRequest.model_validate({"trace": trace, **options})


def _texts(parameters: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in parameters.items()}


def _json(
    body: ScoreRequest | KeepRequest | NewLabels | StaleRequest, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The request's body. The trace goes as it came: a lone surrogate in it travels escaped."""
    document = body.model_dump(mode="json", exclude={"trace"})
    if isinstance(body, ScoreRequest | KeepRequest):
        document["trace"] = body.trace
    try:
        content = json.dumps(document)
    except (TypeError, ValueError, RecursionError) as error:
        if not isinstance(body, ScoreRequest | KeepRequest):
            raise
        raise UnreadableTrace(json_fault(body.trace) or f"the document is no JSON: {error}") from error
    return {"content": content, "headers": {"content-type": "application/json", **(headers or {})}}

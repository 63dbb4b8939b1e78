"""`POST /v1/score`: score the steps of one trace, as one JSON answer or as NDJSON while verdicts land."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import anyio
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from judge_service.api.problems import problems
from judge_service.api.reading import one_trace
from judge_service.api.state import BatchedDep, JudgingDep, PanelDep, PurseDep, SettingsDep, ShelfDep
from judge_service.budget import Budget
from judge_service.errors import (
    BadSteps,
    JudgeError,
    LedgerUnavailable,
    RefusedRubric,
    TraceTooLong,
    UnknownJudge,
    UnknownRubric,
    UnreadableDocument,
)
from judge_service.gate import needs
from judge_service.judge import Case, Judging
from judge_service.panel import Panel
from judge_service.settings import Settings
from judge_service.shelf import Shelf
from stepjudge.contract import Broken, Estimate, Event, Finished, Scorecard, Scored, ScoreRequest
from stepjudge.errors import BadRange
from stepjudge.rubric import Rubric
from stepjudge.scorecard import Landed, scorecard, step_score
from stepjudge.steps import selected

NDJSON = "application/x-ndjson"

_Landings = Mapping[int, Landed]

router = APIRouter(prefix="/v1", tags=["score"], dependencies=[Depends(needs("judge"))])

refusals = problems(
    UnreadableDocument, RefusedRubric, BadSteps, TraceTooLong, UnknownRubric, UnknownJudge, LedgerUnavailable
)


@router.post(
    "/score",
    response_model=Scorecard,
    responses={
        **refusals,
        200: {
            "description": "The scorecard; or, when `Accept` asks for NDJSON, one event per line as verdicts land.",
            "content": {NDJSON: {"schema": {"type": "string", "description": "Lines, each an `Event`."}}},
        },
    },
)
async def score(
    body: ScoreRequest,
    request: Request,
    judging: JudgingDep,
    shelf: ShelfDep,
    panel: PanelDep,
    batched: BatchedDep,
    settings: SettingsDep,
    purse: PurseDep,
) -> Response:
    """Score the steps of one trace. The client's going away stops its judge calls."""
    case = await anyio.to_thread.run_sync(case_of, body, shelf, batched if body.batch else panel, settings, purse)
    if NDJSON in request.headers.get("accept", ""):
        return _Stream(case, judging)
    return WhileThere(case, judging)


@router.post("/estimate", responses=refusals)
async def estimate(
    body: ScoreRequest,
    judging: JudgingDep,
    shelf: ShelfDep,
    panel: PanelDep,
    batched: BatchedDep,
    settings: SettingsDep,
) -> Estimate:
    """What scoring would take: steps, calls, model requests, tokens, money. Spends nothing."""
    case = await anyio.to_thread.run_sync(case_of, body, shelf, batched if body.batch else panel, settings)
    return await judging.estimate(case)


def case_of(body: ScoreRequest, shelf: Shelf, panel: Panel, settings: Settings, purse: Budget | None = None) -> Case:
    judge = panel.find(body.judge)
    rubric = _rubric(body.rubric, shelf)
    trace = one_trace(body.trace, body.format, settings)
    try:
        indices = selected(body.steps, len(trace.steps))
    except BadRange as error:
        raise BadSteps(str(error)) from error
    limits = [limit for limit in (body.max_cost_usd, settings.max_cost_usd) if limit is not None]
    return Case(
        trace,
        rubric,
        judge,
        indices,
        body.group,
        min(limits, default=None),
        body.fresh,
        body.sample,
        made=body.made,
        purse=purse,
    )


def _rubric(wanted: str | Rubric, shelf: Shelf) -> Rubric:
    return shelf.find(wanted) if isinstance(wanted, str) else shelf.admit(wanted)


class WhileThere(Response):
    """An answer that is worked out only while the client is there to take it."""

    def __init__(
        self, case: Case, judging: Judging, written: Callable[[Scorecard], str] = Scorecard.model_dump_json
    ) -> None:
        self._case = case
        self._judging = judging
        self._written = written
        self.background = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        landed = await _while_there(receive, partial(self._judging.judge, self._case))
        if landed is not None:
            body = await anyio.to_thread.run_sync(lambda: self._written(_card(self._case, landed, self._judging)))
            await Response(body, media_type="application/json")(scope, receive, send)


class _Stream(Response):
    """Events as lines, each sent as soon as its verdict has landed."""

    def __init__(self, case: Case, judging: Judging) -> None:
        self._case = case
        self._judging = judging
        self._done = 0
        self.background = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", NDJSON.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            landed = await _while_there(receive, partial(self._judging.judge, self._case, partial(self._landed, send)))
        except JudgeError as error:
            await _line(send, Broken(problem=error.problem()), last=True)
            return
        if landed is not None:
            card = await anyio.to_thread.run_sync(_card, self._case, landed, self._judging)
            await _line(send, Finished(scorecard=card), last=True)

    async def _landed(self, send: Send, index: int, item: Landed) -> None:
        self._done += 1
        step = step_score(self._case.rubric, self._case.trace.steps[index - 1], item)
        await _line(send, Scored(step=step, done=self._done, total=len(self._case.indices)))


def _card(case: Case, landed: Mapping[int, Landed], judging: Judging) -> Scorecard:
    return scorecard(case.trace, case.rubric, landed, judging.bench(case), case.grouping)


async def _while_there(receive: Receive, judge: Callable[[], Awaitable[_Landings]]) -> _Landings | None:
    """Judge as long as the client listens; null when it went away. Raises what judging raises."""
    landed: _Landings | None = None
    refused: JudgeError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_gone, receive, group.cancel_scope)
        try:
            landed = await judge()
        except JudgeError as error:
            refused = error
        group.cancel_scope.cancel()
    if refused is not None:
        raise refused
    return landed


async def _line(send: Send, event: Event, *, last: bool = False) -> None:
    body = event.model_dump_json().encode() + b"\n"
    await send({"type": "http.response.body", "body": body, "more_body": not last})


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()

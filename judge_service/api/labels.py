"""`/v1/labels`: people's answers, and `/v1/states`: the steps that they answer about."""

from collections.abc import Iterator
from typing import Annotated, Literal

import anyio
from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from judge_service.api.problems import problems
from judge_service.api.reading import one_trace
from judge_service.api.state import JudgedDep, LabelsDep, LedgerDep, SettingsDep, ShelfDep
from judge_service.errors import (
    LabelConflict,
    LedgerUnavailable,
    RefusedLabel,
    RefusedRubric,
    TraceTooLong,
    UnknownRubric,
    UnknownStep,
    UnreadableDocument,
)
from judge_service.gate import needs
from judge_service.label_store import Wanted
from judge_service.ledger import Chain
from judge_service.state import content, opening, restored, states
from stepjudge.contract import RubricRef
from stepjudge.label import Label
from stepjudge.label_contract import (
    KeepRequest,
    KeptStep,
    KeptTrace,
    LabelPage,
    NewLabels,
    StepInState,
    StepVerdicts,
    StoredLabels,
)
from stepjudge.label_file import to_csv, to_jsonl
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace

router = APIRouter(prefix="/v1", tags=["labels"])

_reads, _labels = Depends(needs("read")), Depends(needs("label"))

_Name = Annotated[str | None, Query(max_length=200)]


async def wanted(
    rubric: Annotated[
        str | None, Query(max_length=200, description="Name of the rubric, whatever its version.")
    ] = None,
    criterion: _Name = None,
    annotator: _Name = None,
    state_digest: _Name = None,
    step_digest: _Name = None,
) -> Wanted:
    return Wanted(rubric, criterion, annotator, state_digest, step_digest)


WantedDep = Annotated[Wanted, Depends(wanted)]


@router.get("/labels", responses=problems(LedgerUnavailable), dependencies=[_reads])
async def list_labels(
    labels: LabelsDep,
    which: WantedDep,
    cursor: Annotated[int | None, Query(ge=1, le=2**62, description="`next_cursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 50,
) -> LabelPage:
    """Labels, newest first: every record, also those that others have replaced."""
    rows = await labels.page(which, before=cursor, limit=limit + 1)
    more = len(rows) > limit
    return LabelPage(
        labels=tuple(label for _, label in rows[:limit]), next_cursor=str(rows[limit - 1][0]) if more else None
    )


@router.post("/labels", responses=problems(RefusedLabel, LabelConflict, LedgerUnavailable), dependencies=[_labels])
async def add_labels(body: NewLabels, labels: LabelsDep) -> StoredLabels:
    """Store labels, one or many: all of them or, when one is refused, none. Storing the same again changes nothing."""
    stored, known = await labels.add(body.labels)
    return StoredLabels(labels=stored, known=known)


@router.get(
    "/labels/export",
    responses={
        **problems(LedgerUnavailable),
        200: {
            "content": {
                "application/x-ndjson": {"schema": {"type": "string"}},
                "text/csv": {"schema": {"type": "string"}},
            }
        },
    },
    response_class=StreamingResponse,
    dependencies=[_reads],
)
async def export_labels(
    labels: LabelsDep, which: WantedDep, format: Literal["jsonl", "csv"] = "jsonl"
) -> StreamingResponse:
    """All labels, oldest first, as JSON Lines or CSV."""
    every = await labels.every(which)
    media_type = "application/x-ndjson" if format == "jsonl" else "text/csv; charset=utf-8"
    return StreamingResponse(_encoded(every, format), media_type=media_type)


@router.post(
    "/states",
    responses=problems(UnreadableDocument, TraceTooLong, UnknownRubric, RefusedRubric, LedgerUnavailable),
    dependencies=[_labels],
)
async def keep_states(body: KeepRequest, ledger: LedgerDep, shelf: ShelfDep, settings: SettingsDep) -> KeptTrace:
    """Keep the states of a trace, and answer the digests by which its steps are labelled. No judge is asked."""
    trace = await anyio.to_thread.run_sync(one_trace, body.trace, body.format, settings)
    rubric = shelf.find(body.rubric) if isinstance(body.rubric, str) else shelf.admit(body.rubric)
    chain = await anyio.to_thread.run_sync(_chain, trace, rubric)
    await ledger.keep(chain, rubric)
    return KeptTrace(
        trace_id=trace.trace_id,
        task_digest=chain.states[0],
        rubric=RubricRef(name=rubric.name, version=rubric.version, digest=rubric.digest),
        steps=tuple(
            KeptStep(step=index, state_digest=state, step_digest=step)
            for index, (state, step) in enumerate(zip(chain.states, chain.steps, strict=False), start=1)
        ),
    )


@router.get(
    "/states/{state_digest}/{step_digest}", responses=problems(UnknownStep, LedgerUnavailable), dependencies=[_reads]
)
async def get_state(state_digest: str, step_digest: str, ledger: LedgerDep) -> StepInState:
    """A step with everything before it, as it was kept: what an annotator reads."""
    stored = await ledger.chain(state_digest, step_digest)
    if stored is None:
        raise UnknownStep(f"no step {step_digest[:80]!r} at state {state_digest[:80]!r} in this ledger")
    return StepInState(trace=await anyio.to_thread.run_sync(restored, *stored))


@router.get(
    "/states/{state_digest}/{step_digest}/verdicts", responses=problems(LedgerUnavailable), dependencies=[_reads]
)
async def get_step_verdicts(state_digest: str, step_digest: str, judged: JudgedDep) -> StepVerdicts:
    """What every judge said of a step; nothing when none was asked."""
    return StepVerdicts(verdicts=await anyio.to_thread.run_sync(judged.of_step, state_digest, step_digest))


def _chain(trace: Trace, rubric: Rubric) -> Chain:
    shows = rubric.shows_reasoning
    before, steps = states(trace, reasoning=shows)
    return Chain(opening(trace), tuple(content(step, reasoning=shows) for step in trace.steps), before, steps)


def _encoded(labels: list[Label], format: Literal["jsonl", "csv"]) -> Iterator[bytes]:
    for line in to_jsonl(labels) if format == "jsonl" else to_csv(labels):
        yield line.encode()

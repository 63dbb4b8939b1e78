"""`POST /v1/metrics/nemo`: a trace's scores as flat numbers, for evaluators that post JSON and read numbers by a path.

Made for the `RemoteMetric` of NeMo Evaluator, which takes a missing path for unmeasured, and an error for a failed score.
So what has no value is left out, and where there is none at all the request fails: nothing reads as 0 that was not judged.
"""

import anyio
from fastapi import APIRouter, Depends
from fastapi.responses import Response

from judge_service.api.problems import problems
from judge_service.api.score import WhileThere, case_of, refusals
from judge_service.api.state import JudgingDep, PanelDep, PurseDep, SettingsDep, ShelfDep
from judge_service.errors import JudgeFailed, LedgerUnavailable, NothingScored
from judge_service.gate import needs
from stepjudge.contract import Scorecard, ScoreRequest
from stepjudge.judge_failure import judge_failure
from stepjudge.value import Value

router = APIRouter(prefix="/v1/metrics", tags=["score"], dependencies=[Depends(needs("judge"))])


class FlatScores(Value):
    """A scorecard's numbers. A rate is in 0..1, and left out when it has no denominator."""

    step_level: float | None = None
    """Passing / scored units."""
    tool_call_precision: float | None = None
    """Calls that pass / calls issued."""
    argument_accuracy: float | None = None
    """Calls with accurate arguments / calls with the right tool."""
    recovery_rate: float | None = None
    """Recoveries / units where recovery applied."""
    steps: int
    """Scored steps."""
    recoveries: int
    answers: int
    undetermined: int
    """Answers that could not be had. They are in no numerator and no denominator."""
    trace_id: str
    rubric: str
    """`name@version`."""
    judge: str
    provisional: bool
    """True until the judge was validated against human labels for this rubric."""


@router.post(
    "/nemo",
    response_model=FlatScores,
    response_model_exclude_none=True,
    responses={**refusals, **problems(JudgeFailed, NothingScored, LedgerUnavailable)},
)
async def nemo_metric(
    body: ScoreRequest, judging: JudgingDep, shelf: ShelfDep, panel: PanelDep, settings: SettingsDep, purse: PurseDep
) -> Response:
    """The scores of one trace as flat numbers. Fails where the judge failed, or nothing could be scored."""
    case = await anyio.to_thread.run_sync(case_of, body, shelf, panel, settings, purse)
    return WhileThere(case, judging, _written)


def _written(card: Scorecard) -> str:
    failure = judge_failure(card)
    if failure is not None:
        raise JudgeFailed(failure)
    rates = {name: getattr(card.scores, name).value for name in type(card.scores).model_fields}
    if not any(value is not None for value in rates.values()):
        causes = ", ".join(f"{count} {cause}" for cause, count in card.causes.items())
        raise NothingScored(f"judge {card.judge!r} left every step undetermined: {causes}")
    numbers = FlatScores(
        **rates,
        steps=len(card.steps),
        recoveries=len(card.recoveries),
        answers=card.answers,
        undetermined=card.undetermined,
        trace_id=card.trace_id,
        rubric=f"{card.rubric.name}@{card.rubric.version}",
        judge=card.judge,
        provisional=card.provisional,
    )
    return numbers.model_dump_json(exclude_none=True)

"""`/healthz` says that the process lives, `/readyz` that requests should be sent here, and what does not go well.

A model that is down, or a cache, makes the service degraded and not unready: remembered verdicts and those of rules are
given all the same, all replicas ask the same provider, and without requests nothing would notice that it is back.
"""

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy.exc import SQLAlchemyError

from judge_service.api.state import JudgingDep, LedgerDep, PanelDep
from judge_service.version import VERSION
from stepjudge.contract import Health

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """The process lives."""
    return Health(status="ok", version=VERSION)


@router.get("/readyz", response_model=Health, responses={503: {"model": Health, "description": "Cannot work now."}})
async def readyz(request: Request, ledger: LedgerDep, judging: JudgingDep, panel: PanelDep) -> Response:
    """The ledger answers, and the service is not stopping. `details` name judges that are down and a cache in trouble."""
    details = dict(panel.down)
    if not judging.cache_well:
        details["cache"] = "it cannot be used: verdicts come from the ledger"
    status = 200
    try:
        await anyio.to_thread.run_sync(ledger.ready)
    except SQLAlchemyError as error:
        details["ledger"] = type(error).__name__
        status = 503
    if request.app.state.drain.begun:
        details["service"] = "it is stopping"
        status = 503
    health = Health(status="degraded" if details else "ok", version=VERSION, details=details)
    return Response(health.model_dump_json(), status, media_type="application/json")

"""`/healthz` says that the process lives, `/readyz` that it can work."""

import anyio
from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy.exc import SQLAlchemyError

from judge_service.api.state import LedgerDep
from judge_service.version import VERSION
from stepjudge.contract import Health

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """The process lives."""
    return Health(status="ok", version=VERSION)


@router.get("/readyz", response_model=Health, responses={503: {"model": Health, "description": "Cannot work now."}})
async def readyz(ledger: LedgerDep) -> Response:
    """The ledger answers."""
    try:
        await anyio.to_thread.run_sync(ledger.ready)
        health, status = Health(status="ok", version=VERSION), 200
    except SQLAlchemyError as error:
        health, status = Health(status="degraded", version=VERSION, details={"ledger": type(error).__name__}), 503
    return Response(health.model_dump_json(), status, media_type="application/json")

"""The app wires the service: it opens the stores, starts the ledger's writer, and closes both."""

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from fastapi import FastAPI

from judge_service.api import health, judges, problems, rubrics, score, traces, verdicts
from judge_service.api.state import State
from judge_service.cache import Cache
from judge_service.gate import LoopbackOnly
from judge_service.judge import Judging
from judge_service.ledger import Ledger
from judge_service.panel import Panel
from judge_service.settings import Settings, unknown_variables
from judge_service.shelf import Shelf
from judge_service.version import VERSION
from stepjudge.rubric_file import shipped

log = logging.getLogger(__name__)


def create_app(settings: Settings) -> FastAPI:
    """The service, ready to be served. Nothing is opened before its lifespan begins."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[State]:
        for warning in unknown_variables(os.environ):
            log.warning(warning)
        shelf = Shelf(shipped(), settings.rubric_dirs)
        _make_private(settings)
        ledger = Ledger.open(settings.ledger)
        cache = Cache(settings.data_dir / "cache")
        judging = Judging(cache=cache, ledger=ledger, concurrency=settings.concurrency, version=VERSION)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(ledger.running)
                try:
                    yield State(judging=judging, ledger=ledger, shelf=shelf, panel=Panel(settings))
                finally:
                    ledger.close()
        finally:
            cache.close()
            ledger.dispose()

    app = FastAPI(
        title="stepjudge",
        version=VERSION,
        summary="Scores every step of an agent trace with versioned rubrics.",
        lifespan=lifespan,
        max_body_size=settings.max_body_bytes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    app.state.settings = settings
    problems.install(app)
    if not settings.api_keys:
        app.add_middleware(LoopbackOnly)
    for module in (score, traces, verdicts, rubrics, judges, health):
        app.include_router(module.router)
    return app


def _make_private(settings: Settings) -> None:
    """The data folder and the ledger are for their owner: both hold what agents and models said."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if settings.ledger_url is None:
        Path(settings.ledger.removeprefix("sqlite:///")).touch(mode=0o600)

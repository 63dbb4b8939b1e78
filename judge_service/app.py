"""The app wires the service: it opens the stores, starts the ledger's writer, and closes both."""

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from fastapi import FastAPI

from judge_service.access import Access
from judge_service.api import (
    agreement,
    batches,
    document,
    health,
    judges,
    labels,
    metrics,
    nemo,
    problems,
    rubrics,
    score,
    stale,
    traces,
    verdicts,
)
from judge_service.api.state import State
from judge_service.batches.courier import Courier
from judge_service.batches.pile import Pile
from judge_service.cache import Cache
from judge_service.diary import Diaries
from judge_service.drain import Drain, Draining
from judge_service.feed import Feed
from judge_service.gate import LoopbackOnly
from judge_service.judge import Judging
from judge_service.judged import Judged
from judge_service.label_store import LabelStore
from judge_service.ledger import Ledger
from judge_service.limits import Limits
from judge_service.listing import Listing
from judge_service.metrics import Metrics
from judge_service.pages import site
from judge_service.panel import Panel
from judge_service.portrait import Portraits
from judge_service.protection import Protection
from judge_service.register import Register
from judge_service.review import Reviews
from judge_service.settings import Settings, unknown_variables
from judge_service.shelf import Shelf
from judge_service.spending import Spending
from judge_service.stores import open_store
from judge_service.tally import Tallies
from judge_service.telemetry import OtlpTracing
from judge_service.under_way import UnderWay
from judge_service.validity import Validity
from judge_service.version import VERSION
from judge_service.watch import Watch
from stepjudge.rubric_file import shipped

log = logging.getLogger(__name__)


def create_app(settings: Settings) -> FastAPI:
    """The service, ready to be served. Nothing is opened before its lifespan begins."""
    tracing = OtlpTracing(settings.otlp_endpoint) if settings.otlp_endpoint else None
    watch, drain = Watch(Metrics(), tracing), Drain()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[State]:
        for warning in unknown_variables(os.environ):
            log.warning(warning)
        shelf = Shelf(shipped(), settings.rubric_dirs)
        _make_private(settings)
        ledger = Ledger.open(settings.ledger, pool=settings.ledger_pool)
        cache = Cache(partial(open_store, settings.cache, settings.data_dir / "cache"), namespace=ledger.name)
        labelled, judged = LabelStore(ledger.engine), Judged(ledger.engine)
        validity = Validity(labelled, judged, settings.trust)
        register = Register(ledger.engine)
        under_way = UnderWay(ledger.engine)
        feed = Feed(ledger.engine, under_way)
        judging = Judging(
            cache=cache,
            ledger=ledger,
            validity=validity,
            concurrency=settings.concurrency,
            version=VERSION,
            watch=watch,
            register=register,
            under_way=under_way,
        )
        panel = Panel(settings, watch)
        pile = Pile(settings.data_dir / "batches.sqlite3")
        courier = Courier(pile, settings.data_dir / "batches.lock", settings.model, most=settings.batch_questions)
        limits = Limits(Spending(ledger.engine), watch.metrics)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(ledger.running)
                group.start_soon(cache.running)
                group.start_soon(register.running)
                group.start_soon(limits.running)
                group.start_soon(under_way.running)
                group.start_soon(feed.running)
                state = State(
                    judging=judging,
                    ledger=ledger,
                    shelf=shelf,
                    panel=panel,
                    labels=labelled,
                    judged=judged,
                    validity=validity,
                    limits=limits,
                    listing=Listing(ledger.engine),
                    reviews=Reviews(ledger, judged, labelled),
                    tallies=Tallies(ledger.engine),
                    feed=feed,
                    portraits=Portraits(judged, labelled, validity, Diaries(ledger.engine)),
                    batched=Panel(settings, watch, pile),
                    pile=pile,
                    courier=courier,
                )
                watch.metrics.gauges(metrics.gauges(state, drain))
                try:
                    yield state
                finally:
                    limits.stop()
                    under_way.stop()
                    feed.stop()
                    await panel.aclose()
                    await courier.aclose()
                    cache.stop()
                    register.close()
                    ledger.close()
        finally:
            pile.close()
            cache.close()
            register.dispose()
            ledger.dispose()
            await anyio.to_thread.run_sync(watch.tracing.close)

    app = FastAPI(
        title="stepjudge",
        version=VERSION,
        summary="Scores every step of an agent trace with versioned rubrics.",
        lifespan=lifespan,
        max_body_size=settings.max_body_bytes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        generate_unique_id_function=document.operation_id,
    )
    app.state.settings = settings
    app.state.watch = watch
    app.state.drain = drain
    problems.install(app)
    if not settings.api_keys:
        app.add_middleware(LoopbackOnly)
    app.add_middleware(Draining, drain=drain)
    app.add_middleware(Access, watch=watch)
    app.add_middleware(Protection)
    for module in (score, batches, nemo, stale, traces, verdicts, labels, agreement, rubrics, judges, metrics, health):
        app.include_router(module.router)
    site.install(app)
    document.install(app, keys_needed=bool(settings.api_keys))
    return app


def _make_private(settings: Settings) -> None:
    """The data folder and the ledger are for their owner: both hold what agents and models said."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if settings.ledger_url is None:
        Path(settings.ledger.removeprefix("sqlite:///")).touch(mode=0o600)

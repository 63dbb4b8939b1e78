"""`/metrics`: numbers for Prometheus."""

from collections.abc import Callable, Iterable

import anyio
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from judge_service.api.problems import problems
from judge_service.api.state import State
from judge_service.drain import Drain
from judge_service.gate import needs
from judge_service.metrics import MEDIA_TYPE, Gauge, Metrics

router = APIRouter(tags=["health"], dependencies=[Depends(needs("read"))])


@router.get(
    "/metrics",
    response_class=Response,
    responses={**problems(), 200: {"description": "Prometheus text.", "content": {"text/plain": {}}}},
)
async def metrics(request: Request) -> Response:
    """What was asked, judged, paid and waited for, as Prometheus text. Needs the scope `read` where keys are needed."""
    kept: Metrics = request.app.state.watch.metrics
    return Response(await anyio.to_thread.run_sync(kept.page), media_type=MEDIA_TYPE)


def gauges(state: State, drain: Drain) -> Callable[[], Iterable[Gauge]]:
    """What a service is like at the moment."""

    def read() -> Iterable[Gauge]:
        yield "requests_under_way", "HTTP requests under way.", {}, drain.under_way
        yield "draining", "1 while the service is stopping.", {}, drain.begun
        yield "steps_waiting", "Steps that wait for a place to be judged.", {}, state["judging"].waiting
        yield "cache_well", "1 unless the verdict cache cannot be used.", {}, state["judging"].cache_well
        for limiter in tuple(state["panel"].limiters.all):
            name = {"model": limiter.name}
            yield "limiter_in_flight", "Requests to a model under way.", name, limiter.pace.in_flight
            yield "limiter_places", "Requests to a model that may be under way at once.", name, limiter.pace.limit
            yield "limiter_waiting", "Requests to a model that wait for their turn.", name, limiter.waiting
            yield (
                "circuit_open",
                "1 while a model is not asked because it is down.",
                name,
                limiter.circuit.state != "closed",
            )

    return read

"""The watch is told what happens in a service, and keeps numbers and spans of it."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from judge_service.metrics import Metrics
from judge_service.telemetry import Span, Tracing
from judge_service.visit import VISIT
from stepjudge.scorecard import Landed
from stepjudge.verdict import Verdict


class Watch:
    def __init__(self, metrics: Metrics | None = None, tracing: Tracing | None = None) -> None:
        self.metrics = metrics or Metrics()
        self.tracing = tracing or Tracing()

    def landed(self, judge: str, item: Landed) -> None:
        """A caller has a verdict."""
        self.metrics.landed(judge, item)
        if visit := VISIT.get():
            visit.landed(item)

    @contextmanager
    def judging(self, judge: str, rubric: str, step: int) -> Generator[Span]:
        """Around the judging of one step."""
        attributes = {"stepjudge.judge": judge, "stepjudge.rubric": rubric, "stepjudge.step": step}
        started = time.perf_counter()
        with self.tracing.span("judge step", attributes) as span:
            yield span
        self.metrics.judged(judge, time.perf_counter() - started)

    @contextmanager
    def storing(self) -> Generator[None]:
        started = time.perf_counter()
        yield
        self.metrics.stored(time.perf_counter() - started)


def told(span: Span, verdict: Verdict) -> None:
    """What a verdict says, without its words."""
    span.tell({"stepjudge.verdict_id": verdict.verdict_id, "stepjudge.cost_usd": verdict.spent.cost_usd})
    for answer in verdict.answers:
        name = answer.criterion if answer.call is None else f"{answer.criterion} of call {answer.call}"
        attributes = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": answer.answer}
        span.event("gen_ai.evaluation.result", {**attributes, "error.type": answer.cause})

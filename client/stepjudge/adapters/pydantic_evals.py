# pyright: basic, reportMissingImports=false
"""pydantic-evals: an evaluator that reads what the task returned, or the spans that it left.

A case that cannot be scored raises, which pydantic-evals records as the evaluator's failure and leaves out of every average.
"""

import json
import sys
from dataclasses import dataclass, field
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput
from pydantic_evals.otel import SpanTree

from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.reading import Reading, ScoreName
from stepjudge.adapters.secret_options import refuse_secrets
from stepjudge.client import Document
from stepjudge.errors import NotScored, UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.grouping import Grouping
from stepjudge.trace import Trace

_LOG = "trace"


@dataclass(repr=False)
class StepJudge(Evaluator[Any, Any, Any]):
    """Scores every step of what a task's agent did.

    The log is looked for in the attribute `trace` (`set_eval_attribute("trace", messages)`), then in the output: an
    `AgentRunResult` of Pydantic AI, a Trace, or JSON in any format that stepjudge reads; then in the span tree.

    at_least: adds an assertion that the headline is at least so high, in 0..1.
    The other fields are the options of StepMetric. The service's key is read from `STEPJUDGE_CLIENT_KEY` only, since
    evaluators are written into datasets and reports; secrets in `settings` and passwords in `url` are refused.

    Scores are the four rates, where they have a denominator, and the numbers of recoveries and of undetermined answers.
    Reasons stand with the headline; the whole reading is the attribute `stepjudge.reading` of the evaluator's span.
    """

    rubric: str = "step"
    judge: str | None = None
    score: ScoreName = "step_level"
    at_least: float | None = None
    url: str | None = None
    steps: str | None = None
    group: Grouping = "none"
    max_cost_usd: float | None = None
    max_undetermined: float = 1.0
    trace_format: str | None = None
    timeout_s: float = 3_600.0
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_secrets({"url": self.url, "settings": self.settings}, "the dataset")
        self._metric()  # a mistake in the options is told when the dataset is made

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorOutput:
        try:
            document = _document(ctx, self.trace_format)
        except UnreadableTrace as error:
            raise NotScored("unreadable", str(error)) from error
        reading = await self._metric().ascore(document)
        _note_on_span(reading)
        return _results(reading, self.at_least)

    def _metric(self) -> StepMetric:
        options: MetricOptions = {
            "rubric": self.rubric,
            "judge": self.judge,
            "score": self.score,
            "url": self.url,
            "steps": self.steps,
            "group": self.group,
            "max_cost_usd": self.max_cost_usd,
            "max_undetermined": self.max_undetermined,
            "timeout_s": self.timeout_s,
            "settings": self.settings,
        }
        return StepMetric(**options)


def _results(reading: Reading, at_least: float | None) -> EvaluatorOutput:
    results: dict[str, Any] = {}
    for name, value in reading.scores.items():
        if value is not None:
            results[name] = EvaluationReason(value, reading.explanation if name == reading.headline else None)
    results["recoveries"] = reading.recoveries
    results["undetermined"] = reading.undetermined
    trust = "provisional" if reading.provisional else "validated"
    results["step_judge"] = EvaluationReason(f"{reading.judge}, {reading.rubric}, {trust}", reading.judge_note or None)
    if at_least is not None and reading.value is not None:
        passed = EvaluationReason(reading.value >= at_least, reading.summary[0])
        results[f"{reading.headline}_at_least_{at_least:g}"] = passed
    return results


def _document(ctx: EvaluatorContext[Any, Any, Any], trace_format: str | None) -> Document:
    log = ctx.attributes.get(_LOG, ctx.output)
    if isinstance(log, Trace):
        return log
    if hasattr(log, "all_messages_json"):
        log, trace_format = json.loads(log.all_messages_json()), "pydantic-ai"
    messages = _own_messages(log)
    if messages is not None:
        log, trace_format = messages, "pydantic-ai"
    if not isinstance(log, dict | list):
        if _LOG in ctx.attributes:
            raise UnreadableTrace(f"the attribute `{_LOG}` is of type {type(log).__name__}: set it to messages or JSON")
        return _spans(ctx)
    try:
        return _only(log, trace_format)
    except UnreadableTrace as error:
        if _LOG in ctx.attributes or trace_format is not None:
            raise
        first = error
    try:
        return _spans(ctx)  # the output is an answer, not a log
    except UnreadableTrace as error:
        raise UnreadableTrace(f"{error}; as a log, the output is refused: {first}") from first


def _own_messages(log: Any) -> Any:
    """The JSON of Pydantic AI's own messages; None for anything else. Whoever holds such messages has imported it."""
    messages = sys.modules.get("pydantic_ai.messages")
    if messages is None or not isinstance(log, list | tuple) or not log:
        return None
    if not all(isinstance(each, messages.ModelRequest | messages.ModelResponse) for each in log):
        return None
    return messages.ModelMessagesTypeAdapter.dump_python(list(log), mode="json")


def _only(log: Any, trace_format: str | None) -> Trace:
    traces = list(read_document(log, format=trace_format))
    if len(traces) != 1:
        raise UnreadableTrace(f"holds {len(traces)} traces: one is scored at a time")
    return traces[0]


def _spans(ctx: EvaluatorContext[Any, Any, Any]) -> Document:
    tree = ctx._span_tree
    if not isinstance(tree, SpanTree):
        raise UnreadableTrace(f"the output is no log of an agent, and there is no span tree: {tree}")
    spans = [
        {
            "name": node.name,
            "context": {"trace_id": f"0x{node.trace_id:032x}", "span_id": f"0x{node.span_id:016x}"},
            "parent_id": None if node.parent_span_id is None else f"0x{node.parent_span_id:016x}",
            "start_time": node.start_timestamp.isoformat(),
            "end_time": node.end_timestamp.isoformat(),
            "status": {"status_code": node.status.upper()},
            "attributes": {
                key: list(each) if isinstance(each, tuple) else each for key, each in node.attributes.items()
            },
        }
        for node in tree
    ]
    if not spans:
        raise UnreadableTrace("the output is no log of an agent, and the task left no spans")
    return _only(spans, None)


def _note_on_span(reading: Reading) -> None:
    """On the evaluator's own span, where tracing is on. OpenTelemetry is not imported for it."""
    telemetry = sys.modules.get("opentelemetry.trace")
    if telemetry is not None:
        telemetry.get_current_span().set_attribute("stepjudge.reading", json.dumps(reading.metadata()))

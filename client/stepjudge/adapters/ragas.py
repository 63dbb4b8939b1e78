# pyright: basic, reportMissingImports=false
"""Ragas: an agent metric of multi-turn samples for `evaluate`, and one of the newer kind for experiments.

A sample that cannot be scored is NaN, which Ragas leaves out of its means. `evaluate` logs why, or raises it where it is
told to raise exceptions; the newer kind says it in the result's reason.
"""

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Unpack

from anyio import to_thread
from ragas.callbacks import ChainType, new_group
from ragas.dataset_schema import MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolMessage
from ragas.metrics.base import MetricOutputType, MetricType, MultiTurnMetric
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.reading import SCORE_NAMES, Reading, explained
from stepjudge.errors import NotScored, UnreadableTrace
from stepjudge.formats.reading.draft import Draft
from stepjudge.trace import Trace

_NAME = "ragas"


Messages = Iterable[HumanMessage | AIMessage | ToolMessage]


class StepJudgeMetric(MultiTurnMetric):
    """One of the scores of every sample. `result.traces` holds the steps with their answers and reasons.

    options: those of StepMetric, such as `rubric`, `judge`, `url`, and `score`, which also names the metric.
    """

    output_type: ClassVar = MetricOutputType.CONTINUOUS

    def __init__(self, **options: Unpack[MetricOptions]) -> None:
        self._metric = StepMetric(**options)
        super().__init__({MetricType.MULTI_TURN: {"user_input"}}, self._metric.headline)

    def init(self, run_config: Any) -> None:
        """Nothing to prepare: the service does the asking."""

    async def _multi_turn_ascore(self, sample: MultiTurnSample, callbacks: Any) -> float:
        reading = await _reading(self._metric, sample.user_input)
        _tell_steps(reading, callbacks)
        return math.nan if reading.value is None else reading.value


def step_judge_metrics(**options: Unpack[MetricOptions]) -> list[StepJudgeMetric]:
    """A metric for each score. They share the verdicts: the service is asked for each and judges once."""
    return [StepJudgeMetric(**{**options, "score": name}) for name in SCORE_NAMES]


class StepJudge(BaseMetric):
    """The headline of a conversation, with its reason: `await StepJudge().ascore(user_input=messages)`.

    The result's `traces["output"]` holds the whole reading.
    """

    def __init__(self, **options: Unpack[MetricOptions]) -> None:
        self._metric = StepMetric(**options)
        super().__init__(name=self._metric.headline)

    async def ascore(self, user_input: Messages, **_others: Any) -> MetricResult:
        try:
            reading = await _reading(self._metric, user_input)
        except NotScored as error:
            found = {"not_scored": error.reason, **error.metadata}
            return MetricResult(math.nan, f"not scored ({error.reason}): {error}", {"output": found})
        return MetricResult(reading.value, reading.explanation, {"output": dict(reading.metadata())})


def conversation_trace(messages: Messages) -> Trace:
    """The trace of Ragas' own messages. Results are given to calls by their order, since Ragas keeps no ids.

    Raises UnreadableTrace where no message is the agent's.
    """
    draft = Draft(_NAME)
    for each in messages:
        if isinstance(each, AIMessage):
            draft.step(each.content, calls=[draft.call(call.name, call.args) for call in each.tool_calls or ()])
        elif isinstance(each, ToolMessage):
            draft.result(each.content)
        else:
            draft.message("user", each.content)
    return draft.build()


async def _reading(metric: StepMetric, messages: Messages) -> Reading:
    try:
        trace = await to_thread.run_sync(conversation_trace, messages)
    except UnreadableTrace as error:
        raise NotScored("unreadable", str(error)) from error
    return await metric.ascore(trace)


def _tell_steps(reading: Reading, callbacks: Any) -> None:
    """Each step as Ragas tells the prompts of its own metrics: that is what it keeps beside a score."""
    for step in reading.steps:
        told = {"answers": step.answers, "score": step.score, "why": "\n".join(explained(step))}
        manager, _ = new_group(
            f"step {step.step}",
            inputs={"data": {"step": step.step, "tools": list(step.tools), "verdict_id": step.verdict_id}},
            callbacks=callbacks,
            metadata={"type": ChainType.RAGAS_PROMPT},
        )
        manager.on_chain_end({"output": told})

# pyright: basic
"""Inspect Scout: a scanner that reads a transcript's messages and events, from logs of Inspect and any other source.

A result's value is the headline score; its explanation cites the messages of the steps that do not pass. A score that does
not apply is a result without a value. A judge that failed is a scan error, which `scout scan resume` tries again.
"""

from functools import cache, partial
from importlib import import_module
from typing import Any, Unpack

from anyio import to_thread

from stepjudge.adapters.inspect_ai import EVENTS, cited, sample_trace
from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.secret_options import refuse_secrets
from stepjudge.errors import NotScored, NotScoredReason
from stepjudge.trace import Trace

_FOR_GOOD: frozenset[NotScoredReason] = frozenset({"undetermined", "nothing_to_score", "unreadable"})
"""To scan again would not help."""


def step_scanner(**options: Unpack[MetricOptions]) -> Any:
    """The scanner. `options` are those of StepMetric without secrets (`api_key`, also within `settings`, or a `url` with
    a password): Scout writes a scanner's options down."""
    return registered()(**options)


@cache
def registered() -> Any:
    """The scanner as the registry has it: `stepjudge/step_scanner`."""
    scout = import_module("inspect_scout")
    scorers = import_module("inspect_ai.scorer")

    @scout.scanner(messages="all", events=list(EVENTS), name="step_scanner", metrics=[scorers.mean(), scorers.stderr()])
    def step_scanner(**options: Unpack[MetricOptions]) -> Any:
        refuse_secrets(options, "the scan's record")
        metric = StepMetric(**options)

        async def scan(transcript: Any) -> Any:
            try:
                trace = await to_thread.run_sync(partial(_trace, transcript))
                reading = await metric.ascore(trace)
            except NotScored as error:
                if error.reason not in _FOR_GOOD:
                    raise
                return scout.Result(
                    value=None, explanation=str(error), metadata={"not_scored": error.reason, **error.metadata}
                )
            return scout.Result(
                value=reading.value,
                explanation=reading.explanation,
                metadata=reading.metadata(),
                references=[
                    scout.Reference(type="message", cite=cite, id=id)
                    for cite, id in cited(reading, trace, transcript.messages)
                ],
            )

        # Scout reads here what to hand over; the classes are not known before it is imported
        scan.__annotations__ = {"transcript": scout.Transcript, "return": scout.Result}
        return scan

    return step_scanner


def _trace(transcript: Any) -> Trace:
    return sample_trace(
        transcript.messages,
        transcript.events,
        model=transcript.model,
        task=transcript.task_set,
        uuid=transcript.transcript_id,
    )

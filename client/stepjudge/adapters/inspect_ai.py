# pyright: basic
"""Inspect AI: a scorer that reads a sample's messages and events, in `inspect eval` and on logs with `inspect score`.

A sample that cannot be scored gets Inspect's own unscored score, NaN, which its metrics and epoch reducers leave out. The
same holds for each name in a score's dictionary, such as the recovery rate of a run without a setback.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Unpack

from anyio import to_thread

from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.reading import SCORE_NAMES, Reading, explained
from stepjudge.adapters.secret_options import refuse_secrets
from stepjudge.errors import NotScored, NotScoredReason, UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Trace

COUNTS = ("recoveries", "undetermined")
EVENTS = ("span_begin", "span_end", "model", "tool")
"""What is read of a transcript: neither the sample's target nor what scorers said."""

_OF_THE_JUDGE: frozenset[NotScoredReason] = frozenset({"judge_failed", "undetermined"})


def step_scorer(*, max_connections: int = 10, **options: Unpack[MetricOptions]) -> Any:
    """The scorer. `options` are those of StepMetric, without secrets (`api_key`, also within `settings`, or a `url` with a
    password): Inspect writes a scorer's options into its log.

    max_connections: traces that are with the service at the same time, over all samples of the process.
    """
    return registered()(max_connections=max_connections, **options)


@cache
def registered() -> Any:
    """The scorer as Inspect's registry has it, `stepjudge/step_scorer`: mean and standard error for every score."""
    api = import_module("inspect_ai.scorer")
    rates = {name: [api.mean(), api.stderr()] for name in SCORE_NAMES}
    counts = {name: [api.mean()] for name in COUNTS}

    @api.scorer(metrics=rates | counts, name="step_scorer")
    def step_scorer(max_connections: int = 10, **options: Unpack[MetricOptions]) -> Any:
        refuse_secrets(options, "the log")
        metric = StepMetric(**options)

        async def score(state: Any, target: Any) -> Any:
            del target  # for graders of outcomes; who judges steps never sees it
            try:
                trace = await to_thread.run_sync(partial(_trace, state, _events()))
                async with import_module("inspect_ai.util").concurrency("stepjudge", max_connections):
                    reading = await metric.ascore(trace)
            except NotScored as error:
                return api.Score.unscored(
                    reason="grader_failed" if error.reason in _OF_THE_JUDGE else "scoring_failed",
                    explanation=str(error),
                    metadata={"not_scored": error.reason, **error.metadata},
                )
            return api.Score(
                value=values(reading),
                explanation=reading.explanation,
                metadata={
                    **reading.metadata(),
                    "scanner_references": [  # where Inspect View looks for them
                        api.Reference(type="message", cite=cite, id=id).model_dump()
                        for cite, id in cited(reading, trace, state.messages)
                    ],
                },
            )

        return score

    return step_scorer


def values(reading: Reading) -> dict[str, float]:
    """A score's value: the same names for every sample, as reducers want it. What could not be counted is NaN."""
    rates = {name: float("nan") if value is None else value for name, value in reading.scores.items()}
    return {**rates, **{name: reading.counts[name] for name in COUNTS}}


def cited(reading: Reading, trace: Trace, messages: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """For each step that does not pass: how the explanation names it, and the id of the message that it is."""
    said = [each.id for each in messages if each.role == "assistant"]
    if len(said) == len(trace.steps):
        for step in reading.steps:
            if step.passes is not True:
                yield explained(step)[0].rpartition(":")[0], said[step.step - 1]


def sample_trace(
    messages: Iterable[Any], events: Iterable[Any], *, model: str | None = None, task: str | None = None, **about: Any
) -> Trace:
    """The trace of a sample, of Inspect's own messages and events. Raises NotScored when there is no step in them.

    about: `uuid`, `id` and `epoch` of the sample.
    """
    condense = import_module("inspect_ai.log").condense_events
    kept, pools = condense([each for each in events if each.event in EVENTS])
    sample = {
        **{name: value for name, value in about.items() if value is not None},
        "messages": [_json(each) for each in messages],
        "events": [_json(each, exclude={"call"}) for each in kept],
        "events_data": {"messages": [_json(each) for each in pools["messages"]]},
    }
    log = {"eval": {"model": model, "task": task}, "status": "started", "samples": [sample]}
    try:
        return next(read_document(log, format="inspect"))
    except UnreadableTrace as error:
        raise NotScored("unreadable", str(error)) from error


def _events() -> list[Any]:
    return list(import_module("inspect_ai.log").transcript().events)


def _trace(state: Any, events: list[Any]) -> Trace:
    return sample_trace(
        state.messages, events, model=str(state.model), uuid=state.uuid, id=state.sample_id, epoch=state.epoch
    )


def _json(each: Any, exclude: set[str] | None = None) -> dict[str, Any]:
    return each.model_dump(mode="json", exclude=exclude, exclude_none=True)

"""LangSmith, openevals and agentevals: evaluators with their call signature and their result keys.

An evaluator is a plain function, so this module needs none of those packages. What cannot be scored has the score null
and says why in its comment; LangSmith leaves it out of its means.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypedDict, Unpack, cast

from anyio import to_thread

from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.plain import plain
from stepjudge.adapters.reading import SCORE_NAMES, Reading
from stepjudge.client import Document
from stepjudge.errors import NotScored, UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

COUNTS = ("recoveries", "undetermined")
_HOLDERS = ("output", "outputs", "trajectory", "result")
"""Where targets keep the log when it is not all that they return."""
_RUN = (
    *("id", "trace_id", "parent_run_id", "dotted_order", "name", "run_type"),
    *("inputs", "outputs", "error", "start_time", "extra"),
)


class EvaluatorResult(TypedDict):
    """One feedback, as openevals has it."""

    key: str
    score: float | None
    comment: str | None
    metadata: dict[str, Any] | None


Evaluator = Callable[..., list[EvaluatorResult]]
AsyncEvaluator = Callable[..., Coroutine[Any, Any, list[EvaluatorResult]]]


def create_step_evaluator(**options: Unpack[MetricOptions]) -> Evaluator:
    """An evaluator of every step in `outputs`: messages of OpenAI or LangChain, or any log that stepjudge reads.

    It answers one result for each score and count. The headline's comment explains every step that does not pass, and
    its metadata holds the whole reading. In a LangSmith experiment whose target returns no log, the run and the runs
    below it are read instead.
    """
    metric = StepMetric(**options)

    def step_evaluator(
        *, outputs: Any = None, inputs: Any = None, reference_outputs: Any = None, run: Any = None, **more: Any
    ) -> list[EvaluatorResult]:
        del reference_outputs, more  # a judge never sees the reference
        try:
            return _results(metric.score(_trace(metric, outputs, inputs, run)))
        except NotScored as error:
            return _without_scores(error)

    return step_evaluator


def create_async_step_evaluator(**options: Unpack[MetricOptions]) -> AsyncEvaluator:
    """The same, to be awaited."""
    metric = StepMetric(**options)

    async def step_evaluator(
        *, outputs: Any = None, inputs: Any = None, reference_outputs: Any = None, run: Any = None, **more: Any
    ) -> list[EvaluatorResult]:
        del reference_outputs, more
        try:
            trace = await to_thread.run_sync(_trace, metric, outputs, inputs, run)
            return _results(await metric.ascore(trace))
        except NotScored as error:
            return _without_scores(error)

    return step_evaluator


def _results(reading: Reading) -> list[EvaluatorResult]:
    whole = reading.metadata()
    about: JsonObject = {name: whole[name] for name in ("rubric", "judge", "provisional", "range", "trace_id")}
    rates = [
        _result(
            name,
            reading.scores[name],
            reading.explanation if name == reading.headline else f"{rate.numerator} of {rate.denominator}",
            whole if name == reading.headline else {**about, **rate.model_dump(mode="json")},
        )
        for name, rate in reading.rates.items()
    ]
    return [*rates, *(_result(name, reading.counts[name], None, about) for name in COUNTS)]


def _without_scores(error: NotScored) -> list[EvaluatorResult]:
    """The same keys, so that a table of results has no holes."""
    metadata: JsonObject = {"not_scored": error.reason, **error.metadata}
    return [_result(name, None, f"not scored ({error.reason}): {error}", metadata) for name in (*SCORE_NAMES, *COUNTS)]


def _result(key: str, score: float | None, comment: str | None, metadata: JsonObject) -> EvaluatorResult:
    return EvaluatorResult(key=key, score=score, comment=comment, metadata=dict(metadata))


def _trace(metric: StepMetric, outputs: Any, inputs: Any, run: Any) -> Trace:
    """Raises NotScored where neither the outputs nor the run hold a log."""
    if isinstance(outputs, Trace):
        return outputs
    faults: list[str] = []
    for document, format in _documents(outputs, run):
        try:
            (trace,) = read_document(document, format=metric.trace_format or format)
        except UnreadableTrace as error:
            faults.append(str(error))
        except ValueError:
            faults.append("the outputs hold more than one trace")
        else:
            return trace if trace.task else trace.model_copy(update={"task": _task(inputs)})
    raise NotScored("unreadable", faults[0] if faults else "the outputs hold no messages and no log of an agent")


def _documents(outputs: Any, run: Any) -> Iterator[tuple[Document, str | None]]:
    """What may be the log, likeliest first, with its format where that is known."""
    document = plain(outputs)
    if document:
        yield document, None
    if isinstance(document, dict):
        held = cast(dict[str, Any], document)
        yield from ((held[name], None) for name in _HOLDERS if isinstance(held.get(name), dict | list))
    if getattr(run, "child_runs", None):
        yield [_run(run)], "langsmith"


def _run(run: Any) -> dict[str, Any]:
    """The run and those below it, without the client and the parents that LangSmith's object holds."""
    return {name: plain(getattr(run, name, None)) for name in _RUN} | {
        "child_runs": [_run(each) for each in run.child_runs]
    }


def _task(inputs: Any) -> str:
    """What was asked, where the log begins with the agent's answer."""
    values = list(cast(Mapping[Any, Any], inputs).values()) if isinstance(inputs, Mapping) else [inputs]
    return "\n".join(each for each in values if isinstance(each, str))

# pyright: basic, reportMissingImports=false
"""MLflow: a scorer for `mlflow.genai.evaluate`, whose feedback stands on the trace that it is about.

A trace that cannot be scored gets one feedback with an error and no value, as MLflow has it for scorers that fail.
"""

import json
from collections.abc import Iterator
from typing import Any, Unpack

from mlflow.entities import AssessmentError, AssessmentSource, AssessmentSourceType, Feedback
from mlflow.genai.scorers import Scorer
from pydantic import PrivateAttr

from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.plain import plain
from stepjudge.adapters.reading import Reading, explained
from stepjudge.client import Document
from stepjudge.errors import NotScored, UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Trace

COUNTS = ("recoveries", "undetermined")
_ABOUT = (
    *("rubric", "rubric_digest", "judge", "judge_digest", "provisional", "range", "grouping"),
    *("cached_steps", "requests", "trace_id", "service_version"),
)


class StepScorer(Scorer):
    """Scores every step of what an agent did: of the spans of its MLflow trace, or else of a log in its outputs.

    name, aggregations, description, timeout: as MLflow's own scorers have them.
    options: those of StepMetric, such as `rubric`, `judge`, `score` and `url`.

    There is a feedback for each score that has a value and for each count. The headline's rationale explains every
    step that does not pass, and its metadata hold each step's answers.
    """

    name: str = "stepjudge"
    _metric: StepMetric = PrivateAttr()

    def __init__(
        self,
        *,
        name: str = "stepjudge",
        aggregations: Any = None,
        description: str | None = None,
        timeout: float | None = None,
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(name=name, aggregations=aggregations, description=description, timeout=timeout)
        self._metric = StepMetric(**options)

    def __call__(self, *, inputs: Any = None, outputs: Any = None, trace: Any = None) -> list[Feedback]:
        try:
            return list(_feedback(self._metric.score(_document(inputs, outputs, trace))))
        except NotScored as error:
            return [_error(self._metric.headline, error)]


def _document(inputs: Any, outputs: Any, trace: Any) -> Document:
    """The spans when they tell what the agent did; else the outputs, in whatever format the service detects."""
    fault = "the trace has no spans of models or tools"
    if trace is not None:
        try:
            (found,) = read_document(trace.to_dict(), format="mlflow")
        except (UnreadableTrace, ValueError) as error:
            fault = str(error)
        else:
            return _with_task(found, inputs)
    document = plain(outputs)
    if not isinstance(document, dict | list) or not document:
        raise NotScored("unreadable", f"{fault}, and the outputs are no log of an agent")
    return document


def _with_task(trace: Trace, inputs: Any) -> Trace:
    """With what was asked, where only tools were traced."""
    values = inputs.values() if isinstance(inputs, dict) else (inputs,)
    task = "\n".join(each for each in values if isinstance(each, str))
    return trace if trace.task else trace.model_copy(update={"task": task})


def _feedback(reading: Reading) -> Iterator[Feedback]:
    kind = AssessmentSourceType.CODE if reading.judge == "rules" else AssessmentSourceType.LLM_JUDGE
    source = AssessmentSource(source_type=kind, source_id=reading.judge)
    about = {name: str(getattr(reading, name)) for name in _ABOUT}
    for name, rate in reading.rates.items():
        if rate.value is None:
            continue
        counted = {each: str(number) for each, number in rate.model_dump().items()}
        is_headline = name == reading.headline
        yield Feedback(
            name=name,
            value=rate.value,
            source=source,
            rationale=reading.explanation if is_headline else f"{rate.numerator} of {rate.denominator}",
            metadata={**about, **counted, **({"steps": _steps(reading)} if is_headline else {})},
        )
    for name in COUNTS:
        yield Feedback(name=name, value=reading.counts[name], source=source, metadata=about)


def _steps(reading: Reading) -> str:
    """Metadata are texts: each step's answers and why, as JSON."""
    return json.dumps(
        [
            {
                "step": step.step,
                "tools": step.tools,
                "score": step.score,
                "answers": step.answers,
                "why": "\n".join(explained(step)),
                "verdict_id": step.verdict_id,
            }
            for step in reading.steps
        ]
    )


def _error(headline: str, error: NotScored) -> Feedback:
    return Feedback(
        name=headline,
        error=AssessmentError(error_code=error.reason.upper(), error_message=str(error)),
        source=AssessmentSource(source_type=AssessmentSourceType.CODE, source_id="stepjudge"),
    )

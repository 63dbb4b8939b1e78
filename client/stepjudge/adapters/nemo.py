"""NeMo Evaluator SDK and NeMo Helix Evals: a metric for agent evaluation that reads the trial's trace evidence.

One class serves both packages, `nemo_evaluator_sdk` and `nhx_evals_sdk`: their protocol is structural, so results are made
of the classes of whoever calls. A trial that cannot be scored raises, which is a failed score there: out of every mean, and
counted as failed in the coverage.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import unquote, urlsplit

from anyio import to_thread

from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.reading import SCORE_NAMES, Reading, explained
from stepjudge.client import Document
from stepjudge.errors import NotScored, UnreadableTrace
from stepjudge.formats import read_file

_PROTOCOLS = ("nhx_evals_sdk.values.protocol", "nemo_evaluator_sdk.values.protocol")
_ATIF = ("atif", None)
_DESCRIPTIONS = {
    "step_level": "passing / scored steps",
    "tool_call_precision": "calls that pass / calls issued",
    "argument_accuracy": "calls with accurate arguments / calls to a right tool",
    "recovery_rate": "recoveries / steps where recovery applied",
    "steps": "scored steps",
    "recoveries": "steps that corrected earlier ones",
    "undetermined": "answers that could not be had: in no numerator and no denominator",
    "answers": "answers over all steps and criteria",
    "rubric": "name@version",
    "judge": "who judged",
    "explanation": "the scores with their denominators, and why each step does not pass",
}
_COUNTS = ("steps", "recoveries", "undetermined", "answers")


class StepJudgeMetric:
    """A `Metric` of NeMo's protocol.

    type: the metric's name there; give each its own where several rubrics stand on one task.
    trace: name of the trace evidence. Its ATIF is preferred, inline or in a file; any other format that stepjudge reads
        is read too.
    options: of StepMetric.

    A score without a denominator, such as the recovery rate of a run without a setback, is left out; the older package has
    no optional outputs and gets NaN, which it leaves out of its means as well.
    """

    def __init__(self, *, type: str = "stepjudge", trace: str = "trace", **options: Unpack[MetricOptions]) -> None:
        self._type = type
        self._evidence = trace
        self._metric = StepMetric(**options)

    @property
    def type(self) -> str:
        return self._type

    def output_spec(self) -> list[Any]:
        """Rates are continuous and optional, counts discrete, texts labels: what NeMo averages is what has a mean."""
        spec = _protocol().MetricOutputSpec
        optional = {"required": False} if _has_optional(spec) else {}
        return [
            *(spec.continuous_score(name, _DESCRIPTIONS[name], **optional) for name in SCORE_NAMES),
            *(spec.discrete_score(name, _DESCRIPTIONS[name]) for name in _COUNTS),
            *(spec.label(name, _DESCRIPTIONS[name]) for name in ("rubric", "judge", "explanation")),
        ]

    async def compute_scores(self, input: Any) -> Any:
        """Raises NotScored, whose message becomes the failed score's diagnostic."""
        protocol = sys.modules[input.__class__.__module__]
        document = await to_thread.run_sync(_document, input.candidate, self._evidence)
        reading = await self._metric.ascore(document)
        outputs = _outputs(reading, float("nan") if not _has_optional(protocol.MetricOutputSpec) else None)
        return protocol.MetricResult(
            outputs=[protocol.MetricOutput(name=name, value=value) for name, value in outputs.items()],
            diagnostics=[
                protocol.MetricDiagnostic(message=message, details=details)
                for message, details in _diagnostics(reading)
            ],
        )


def _outputs(reading: Reading, without_value: float | None) -> dict[str, Any]:
    rates = {name: without_value if value is None else value for name, value in reading.scores.items()}
    counts = {name: reading.counts[name] for name in _COUNTS}
    texts = {"rubric": reading.rubric, "judge": reading.judge, "explanation": reading.explanation}
    return {name: value for name, value in {**rates, **counts, **texts}.items() if value is not None}


def _diagnostics(reading: Reading) -> list[tuple[str, dict[str, Any]]]:
    """The whole first, which is what NeMo shows beside every output; then each step with its answers."""
    whole = {name: value for name, value in reading.metadata().items() if name not in ("steps", "explanation")}
    steps = [("\n".join(explained(step)), step.model_dump(mode="json")) for step in reading.steps]
    return [(reading.explanation, whole), *steps]


def _document(candidate: Any, name: str) -> Document:
    """The trace of a trial: raw, since NeMo's own typed reader drops sub-agents and refuses messages with images."""
    for descriptor in _descriptors(candidate, name):
        if descriptor.data is not None:
            return descriptor.data
        if descriptor.ref:
            return _read(descriptor.ref)
    if candidate.trajectory:
        return candidate.trajectory
    raise NotScored("unreadable", f"the trial has no trace evidence {name!r}, inline or in a file, and no trajectory")


def _descriptors(candidate: Any, name: str) -> list[Any]:
    """The descriptors of the trace, ATIF first: a runner may give the primary name to another encoding."""
    if candidate.evidence is None:
        return []
    found = [candidate.evidence.get(each) for each in (name, f"{name}:atif", f"{name}:otlp")]
    traces = [each for each in found if each is not None and each.kind == "trace"]
    return sorted(traces, key=lambda each: each.format not in _ATIF)


def _read(ref: str) -> Document:
    path = Path(unquote(urlsplit(ref).path)) if ref.startswith("file:") else Path(ref)
    try:
        traces = list(read_file(path))
    except UnreadableTrace as error:
        raise NotScored("unreadable", str(error)) from error
    if len(traces) != 1:
        raise NotScored("unreadable", f"{path}: holds {len(traces)} traces; a trial has one")
    return traces[0]


def _protocol() -> Any:
    """The protocol of the package that is in use, or else of the one that is installed."""
    for name in _PROTOCOLS:
        if name in sys.modules:
            return sys.modules[name]
    for name in _PROTOCOLS:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError("neither nhx_evals_sdk nor nemo_evaluator_sdk can be imported: pip install nemo-helix")


def _has_optional(spec: Any) -> bool:
    return "required" in spec.model_fields

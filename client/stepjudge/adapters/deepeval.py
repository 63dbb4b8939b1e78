# pyright: basic, reportMissingImports=false
"""DeepEval: a metric for `evaluate()`, `assert_test` and tracing, where it may stand on a span or on the whole trace.

A test case that cannot be scored has `error` set and no score, which DeepEval reports as an error and not as a 0.
"""

from typing import Any, ClassVar, Unpack

from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseMetric
from deepeval.metrics.utils import construct_verbose_logs
from deepeval.test_case import LLMTestCase, SingleTurnParams
from rich.markup import escape

from stepjudge.adapters.deepeval_trace import document
from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.reading import Reading, explained
from stepjudge.client import Document
from stepjudge.errors import NotScored, UnreadableTrace


class StepJudgeMetric(BaseMetric):
    """Scores every step of what an agent did.

    The steps are those of `metadata["trace"]`, a log in any format that stepjudge reads; or of the spans below what is
    traced; or the test case's `tools_called` and `actual_output`.

    threshold, include_reason, async_mode, strict_mode, verbose_mode, flaky: as DeepEval's own metrics have them.
    skip_not_scored: leave a test case that cannot be scored out, instead of reporting an error.
    more: options of StepMetric, such as `rubric`, `judge`, `score` and `url`.

    After it has measured, `score` is the headline, `score_breakdown` all scores and counts, `reason` the explanation,
    `verbose_logs` every step with its answers, and `reading` the whole.
    """

    _required_params: ClassVar = [SingleTurnParams.INPUT]
    requires_trace = True

    def __init__(
        self,
        threshold: float | None = 0.5,
        include_reason: bool = True,
        async_mode: bool = True,
        strict_mode: bool = False,
        verbose_mode: bool = False,
        flaky: bool = False,
        skip_not_scored: bool = False,
        options: MetricOptions | None = None,
        **more: Unpack[MetricOptions],
    ) -> None:
        # DeepEval copies a metric for each test case from those of its attributes that are named like a parameter
        self.options: MetricOptions = {**(options or {}), **more}
        self.threshold = 1.0 if strict_mode else threshold
        self.include_reason = include_reason
        self.async_mode = async_mode
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.skip_not_scored = skip_not_scored
        self.evaluation_model = self.options.get("judge")
        self.using_native_model = False
        self.reading: Reading | None = None
        self.step_metric = StepMetric(**self.options)

    def measure(self, test_case: LLMTestCase, *_args: Any, **_kwargs: Any) -> float | None:
        try:
            return _scored(self, self.step_metric.score(_document(test_case)))
        except (NotScored, UnreadableTrace) as error:
            return _not_scored(self, error)

    async def a_measure(self, test_case: LLMTestCase, *_args: Any, **_kwargs: Any) -> float | None:
        try:
            return _scored(self, await self.step_metric.ascore(_document(test_case)))
        except (NotScored, UnreadableTrace) as error:
            return _not_scored(self, error)

    @property
    def __name__(self) -> str:
        return f"Step Judge ({self.step_metric.headline})"


# Functions, since DeepEval makes every method of a metric a span of the trace that is being evaluated.


def _document(test_case: LLMTestCase) -> Document:
    found = document(test_case)
    if found is None:
        raise MissingTestCaseParamsError(
            "'tools_called', 'actual_output', a trace or `metadata[\"trace\"]` is needed: the test case holds nothing "
            "that an agent did"
        )
    return found


def _scored(metric: StepJudgeMetric, reading: Reading) -> float:
    value = reading.value or 0.0
    metric.reading = reading
    metric.error = None
    metric.skipped = False
    metric.score = 0.0 if metric.strict_mode and value < 1 else value
    metric.success = metric.is_successful()
    # DeepEval prints reasons and errors as markup: a quote such as `[/x]` would break its report
    metric.reason = escape(reading.explanation) if metric.include_reason else None
    scores = {name: each for name, each in reading.scores.items() if each is not None}
    metric.score_breakdown = {**scores, **reading.counts}
    metric.evaluation_model = reading.judge
    metric.evaluation_cost = reading.cost_usd
    steps = ["\n".join(explained(step, passing=True)) for step in reading.steps]
    last = f"Score: {metric.score}\nReason: {metric.reason}"
    metric.verbose_logs = construct_verbose_logs(metric, steps=["\n".join(reading.summary), *steps, last])
    return metric.score


def _not_scored(metric: StepJudgeMetric, error: NotScored | UnreadableTrace) -> None:
    reason = error.reason if isinstance(error, NotScored) else "unreadable"
    metric.reading = metric.score = metric.reason = None
    metric.score_breakdown = {}
    if metric.skip_not_scored:
        metric.skipped, metric.success = True, None
        return
    metric.error = escape(f"not scored ({reason}): {error}")
    metric.success = False

# pyright: basic, reportMissingImports=false
"""Arize Phoenix evals: an evaluator for `evaluate`, `evaluate_dataframe` and their asynchronous twins.

A trace that cannot be scored gets scores without a number, labelled `not_scored`. Only a service that cannot be reached,
or that says to come back later (429, 503), raises, so that Phoenix tries again as often as it was told to and records the exception.
"""

from collections.abc import Iterator
from typing import Any, Unpack

from phoenix.evals.evaluators import Evaluator, Score
from pydantic import BaseModel

from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.plain import plain
from stepjudge.adapters.reading import SCORE_NAMES, Reading
from stepjudge.client import Document
from stepjudge.errors import JudgeRefused, NotScored
from stepjudge.formats.reading.parsing import parse_embedded

COUNTS = {"recoveries": "neutral", "undetermined": "minimize"}
NOT_SCORED = "not_scored"
_LATER = (429, 503)


class StepInput(BaseModel):
    """What the evaluator takes: a column `trace`, or whatever an input mapping makes of other columns."""

    trace: Any
    """Messages, spans, or any log that stepjudge reads, as JSON or as the text of one."""


class StepEvaluator(Evaluator):
    """Scores every step of what an agent did, in one Score for each score and count.

    The headline's Score explains every step that does not pass, and its metadata hold the whole reading.
    options: those of StepMetric, such as `rubric`, `judge`, `score` and `url`.
    """

    def __init__(self, *, name: str = "stepjudge", **options: Unpack[MetricOptions]) -> None:
        self._metric = StepMetric(**options)
        kind = "code" if self._metric.judge == "rules" else "llm"
        super().__init__(name=name, kind=kind, input_schema=StepInput)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        try:
            return list(_scores(self._metric.score(_document(eval_input["trace"]))))
        except NotScored as error:
            return list(_without_numbers(error))

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        try:
            return list(_scores(await self._metric.ascore(_document(eval_input["trace"]))))
        except NotScored as error:
            return list(_without_numbers(error))


def traces_of(spans: Any) -> Any:
    """The data frame of a project's spans as one row for each trace: `trace`, its spans, by the root's `span_id`.

    spans: what Phoenix's client answers to `spans.get_spans_dataframe()`. So scores become annotations of root spans.
    """
    import pandas

    flat = spans.reset_index(drop=spans.index.name in spans.columns) if spans.index.name else spans
    rows: dict[str, dict[str, Any]] = {}
    for trace_id, group in flat.groupby("context.trace_id", sort=False):
        roots = group[~group["parent_id"].isin(group["context.span_id"])]
        root = roots.iloc[0]["context.span_id"]
        records = [
            {name: each for name, each in row.items() if not _is_missing(each)} for row in group.to_dict("records")
        ]
        rows[root] = {"trace_id": trace_id, "trace": plain(records)}
    table = pandas.DataFrame.from_dict(rows, orient="index", columns=["trace_id", "trace"])
    return table.rename_axis("span_id")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _document(value: Any) -> Document:
    parsed = parse_embedded(value) if isinstance(value, str) else None
    document: Any = plain(value) if parsed is None else parsed.value
    return document


def _scores(reading: Reading) -> Iterator[Score]:
    kind = "code" if reading.judge == "rules" else "llm"
    whole = reading.metadata()
    about = {name: whole[name] for name in ("rubric", "judge", "provisional", "range")}
    for name, rate in reading.rates.items():
        is_headline = name == reading.headline
        yield Score(
            name=name,
            score=rate.value,
            label=None if rate.denominator else NOT_SCORED,
            explanation=reading.explanation if is_headline else f"{rate.numerator} of {rate.denominator}",
            metadata=dict(whole) if is_headline else {**about, **rate.model_dump(mode="json")},
            kind=kind,
        )
    for name, direction in COUNTS.items():
        yield Score(name=name, score=reading.counts[name], metadata=about, kind=kind, direction=direction)


def _for_now(error: NotScored) -> bool:
    """Whether the service declined because it is busy or restarts: to ask again may help."""
    refused = error.__cause__
    return isinstance(refused, JudgeRefused) and refused.problem.status in _LATER


def _without_numbers(error: NotScored) -> Iterator[Score]:
    if error.reason == "unreachable" or _for_now(error):
        raise error
    for name in (*SCORE_NAMES, *COUNTS):
        yield Score(
            name=name,
            label=NOT_SCORED,
            explanation=f"{error.reason}: {error}",
            metadata={"not_scored": error.reason, **error.metadata},
            direction=COUNTS.get(name, "maximize"),
        )

"""A view is a named roll-up of signals (checks, scores, other views) into one value, with an explicit rule for gaps."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from statistics import fmean
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, field_validator, model_validator

from stepjudge.metric import rate
from stepjudge.outcome_aware import outcome_aware, outcome_aware_bad
from stepjudge.propagated import propagated
from stepjudge.value import Value

if TYPE_CHECKING:
    from stepjudge.checks.check import CheckResult
    from stepjudge.contract import Scorecard

Reducer = Literal["single", "mean", "weighted_mean", "min", "max", "all", "any", "gate"]
Missing = Literal["unmeasured", "skip"]

SCORES = ("step_level", "tool_call_precision", "argument_accuracy", "recovery_rate", "bad_rate")
"""What a judge's scorecard says, as sources `score.NAME`."""

JOINED = ("outcome_aware", "outcome_aware_bad_rate")
"""Readings in which the outcome decides the final step, as sources `score.NAME`; of tasks with a single answer only."""

READINGS = (*JOINED, "propagated")
"""Other ways to read a scorecard than each step by itself."""

_SOURCES = "`check.NAME`, `checks`, `outcome`, `view.NAME` or " + ", ".join(
    f"`score.{name}`" for name in (*SCORES, *READINGS)
)


class Signal(Value):
    """One input of a view."""

    source: str
    """`check.NAME` (pass 1, fail 0, error missing), `checks` (every check, each a signal of its own), `outcome` (1 when
    all checks pass, 0 when one fails, missing when one is an error), `score.NAME`, or `view.NAME`."""
    weight: float = Field(default=1.0, ge=0, le=1e9, allow_inf_nan=False)
    """Read by `weighted_mean` only."""

    @field_validator("source")
    @classmethod
    def _is_known(cls, source: str) -> str:
        family, _, name = source.partition(".")
        known = source in ("checks", "outcome") or bool(
            name and (family in ("check", "view") or (family == "score" and name in (*SCORES, *READINGS)))
        )
        if not known:
            raise ValueError(f"no source {source!r}: a source is {_SOURCES}")
        return source


class View(Value):
    """How signals become one value.

    `single` the signal itself; `mean`; `weighted_mean` Σwv/Σw; `min`; `max`; `all` the least and `any` the greatest,
    which over passes and fails are the logical ones; `gate` the mean of the signals after the first when the first is
    1, and 0 when it is less.
    """

    reducer: Reducer
    signals: tuple[Signal, ...] = Field(min_length=1)
    missing: Missing = "unmeasured"
    """What a missing signal does. `unmeasured`: the view has no value. `skip`: it is made of the others, and says how
    many it was made without; a gate's first signal cannot be skipped."""

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        sources = [signal.source for signal in self.signals]
        if self.reducer == "single" and (len(sources) > 1 or sources == ["checks"]):
            raise ValueError(f"'single' takes one signal, not {', '.join(map(repr, sources))}: name one, or a reducer")
        if self.reducer == "gate" and (len(sources) < 2 or sources[0] == "checks"):
            raise ValueError("'gate' takes a first signal that opens it (such as 'outcome') and one or more behind it")
        if self.reducer == "weighted_mean" and not any(signal.weight for signal in self.signals):
            raise ValueError("'weighted_mean' needs a weight above 0")
        if self.reducer != "weighted_mean" and any(signal.weight != 1 for signal in self.signals):
            raise ValueError(f"{self.reducer!r} reads no weights: use 'weighted_mean', or remove them")
        return self


class ViewValue(Value):
    """What a view came to for one trial."""

    value: float | None
    """Null when it is unmeasured, which is never 0."""
    why: str = ""
    """Why it is unmeasured."""
    skipped: int = 0
    """Missing signals that the value was made without; only where the view says `missing: skip`."""
    judged: bool = False
    """Whether a judge's score is among the view's sources: such a value is provisional as long as the judge is."""


def view_values(views: Mapping[str, View], signals: Mapping[str, float | None]) -> dict[str, ViewValue]:
    """Every view of one trial. A signal that is absent, null or not finite is missing."""
    known = dict(signals)
    values: dict[str, ViewValue] = {}
    for name in _in_order(views):
        values[name] = _value(views[name], known, values)
        known[f"view.{name}"] = values[name].value
    return {name: values[name] for name in views}


def view_faults(views: Mapping[str, View], checks: Iterable[str], *, single_answer: bool = False) -> list[str]:
    """What cannot hold together in the views of a task whose checks have these names: empty when all is well."""
    sources = {f"check.{name}" for name in checks}
    known = sources | {f"view.{name}" for name in views}
    faults = [
        f"view {name!r} reads {signal.source!r}, which does not exist"
        for name, view in views.items()
        for signal in view.signals
        if signal.source.startswith(("check.", "view.")) and signal.source not in known
    ]
    faults += [
        f"view {name!r} reads {signal.source!r}, and the task has no checks"
        for name, view in views.items()
        for signal in view.signals
        if signal.source in ("checks", "outcome", *_JOINED_SOURCES) and not sources
    ]
    faults += [
        f"view {name!r} reads {signal.source!r}, where the outcome decides the final step: that holds only for a task "
        "whose final step is its one answer, and this task does not say `single_answer: true`"
        for name, view in views.items()
        for signal in view.signals
        if signal.source in _JOINED_SOURCES and not single_answer
    ]
    try:
        _in_order(views)
    except ValueError as error:
        faults.append(str(error))
    return faults


def signals_of(
    checks: Sequence["CheckResult"], scorecard: "Scorecard | None", *, single_answer: bool = False
) -> dict[str, float | None]:
    """The signals of one trial: its checks, their outcome, and the judge's scores when there is a scorecard.

    `single_answer`: the outcome decides the final step, so the joined readings are there too.
    """
    signals: dict[str, float | None] = {}
    for check in checks:
        source = f"check.{check.name}"
        passed: float | None = {"pass": 1.0, "fail": 0.0, "error": None}[check.outcome]
        # Two checks of one name are one signal, which holds only what both say
        signals[source] = passed if source not in signals else _least([signals[source], passed])
    signals["outcome"] = _least(list(signals.values()))
    if scorecard is not None:
        scores = scorecard.scores
        signals["score.step_level"] = scores.step_level.value
        signals["score.tool_call_precision"] = scores.tool_call_precision.value
        signals["score.argument_accuracy"] = scores.argument_accuracy.value
        signals["score.recovery_rate"] = scores.recovery_rate.value
        signals["score.bad_rate"] = rate(step.bad for step in scorecard.steps).value
        signals["score.propagated"] = propagated(scorecard).value
        if single_answer:
            aware = outcome_aware(scorecard, signals["outcome"])
            signals["score.outcome_aware"] = aware.value if aware else None
            signals["score.outcome_aware_bad_rate"] = outcome_aware_bad(scorecard, signals["outcome"]).value
    return signals


_JOINED_SOURCES = tuple(f"score.{name}" for name in JOINED)


def _least(values: Sequence[float | None]) -> float | None:
    """All of them pass: no as soon as one fails, whatever else cannot be told.

    Otherwise an attempt could turn its own failure into an excluded trial, by breaking one of its checks.
    """
    known = [value for value in values if value is not None]
    if 0.0 in known:
        return 0.0
    return min(known) if known and len(known) == len(values) else None


def _in_order(views: Mapping[str, View]) -> list[str]:
    """The views' names, each after those it reads; ValueError names a cycle."""
    reads = {
        name: [signal.source.removeprefix("view.") for signal in view.signals if signal.source.startswith("view.")]
        for name, view in views.items()
    }
    try:
        order = list(TopologicalSorter(reads).static_order())
    except CycleError as error:
        cycle: list[str] = error.args[1]
        raise ValueError(f"views read each other in a circle: {' → '.join(cycle[:10])}") from error
    return [name for name in order if name in views]


def _value(view: View, known: Mapping[str, float | None], values: Mapping[str, ViewValue]) -> ViewValue:
    judged = any(_is_judged(signal.source, values) for signal in view.signals)
    inputs = [
        (_finite(known.get(source)), signal.weight, source)
        for signal in view.signals
        for source in _expanded(signal.source, known)
    ]
    present = [(value, weight) for value, weight, _ in inputs if value is not None]
    missing = [source for value, _, source in inputs if value is None]
    # A gate needs what opens it, and something behind it
    needs = 2 if view.reducer == "gate" else 1
    gone = view.reducer == "gate" and inputs[0][0] is None
    if missing and (view.missing == "unmeasured" or gone or len(present) < needs):
        return ViewValue(value=None, why=f"missing: {_listed(missing)}", judged=judged)
    if not any(weight for _, weight in present):
        return ViewValue(value=None, why="the signals that are left weigh nothing", judged=judged)
    return ViewValue(value=_REDUCERS[view.reducer](present), skipped=len(missing), judged=judged)


def _is_judged(source: str, values: Mapping[str, ViewValue]) -> bool:
    read = values.get(source.removeprefix("view.")) if source.startswith("view.") else None
    return read.judged if read else source.startswith("score.")


def _expanded(source: str, known: Mapping[str, float | None]) -> list[str]:
    if source != "checks":
        return [source]
    return [name for name in known if name.startswith("check.")] or [source]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _listed(sources: Sequence[str]) -> str:
    return ", ".join(sources[:5]) + (f" and {len(sources) - 5} more" if len(sources) > 5 else "")


Weighted = Sequence[tuple[float, float]]


def _least_of(present: Weighted) -> float:
    return min(value for value, _ in present)


def _greatest_of(present: Weighted) -> float:
    return max(value for value, _ in present)


def _mean_of(present: Weighted) -> float:
    counted = [pair for pair in present if pair[1]]
    mean = fmean([value for value, _ in counted], [weight for _, weight in counted])
    # Rounding may carry a mean out of the range of its values, by one unit in the last place
    return min(max(mean, _least_of(counted)), _greatest_of(counted))


def _gate_of(present: Weighted) -> float:
    return _mean_of(present[1:]) if present[0][0] >= 1 else 0.0


_REDUCERS: dict[Reducer, Callable[[Weighted], float]] = {
    "single": _least_of,
    "mean": _mean_of,
    "weighted_mean": _mean_of,
    "min": _least_of,
    "max": _greatest_of,
    "all": _least_of,
    "any": _greatest_of,
    "gate": _gate_of,
}

"""A chart is a set of numbers drawn by the page's chart library; the same numbers stand beside it as a table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.report.figure import Scale, mean, process, rate_pairs
from stepjudge.report.grid import FATES, fate
from stepjudge.report.mark import Mark, Tone
from stepjudge.summary import Summary
from stepjudge.trial import TrialScore
from stepjudge.value import JsonObject

MOST_BARS = 40
"""Longer traces are drawn with several steps to a bar."""

_READ: dict[Tone, str] = {"pass": "pass (+1)", "idle": "no use (0)", "bad": "bad (−1)", "unknown": "undetermined"}


@dataclass(frozen=True)
class Chart:
    """Numbers to draw and to read."""

    name: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    drawn: JsonObject


def charts(summary: Summary, scores: Sequence[TrialScore], marks: Sequence[Sequence[Mark]]) -> tuple[Chart, ...]:
    """Those that have something to show."""
    every = (_rates(summary), _by_step(marks), _effort(scores))
    return tuple(chart for chart in every if chart is not None)


def _rates(summary: Summary) -> Chart | None:
    figures = [*rate_pairs(summary), *process(summary), *(mean(name, view.run) for name, view in summary.views.items())]
    shown = [(figure, figure.scale) for figure in figures if figure.scale is not None]
    if not shown:
        return None
    return Chart(
        "rates",
        "Rates and views, with their intervals",
        "A dot is the value, a bar its 95% interval. The bar of consistency is the range over passes.",
        ("", "value", "rests on"),
        tuple((figure.label, figure.value, "; ".join(figure.lines)) for figure in figures),
        {"labels": [figure.label for figure, _ in shown], "points": [_scale(scale) for _, scale in shown]},
    )


def _scale(scale: Scale) -> JsonValue:
    return {"low": scale.low, "high": scale.high, "at": scale.at}


def _by_step(marks: Sequence[Sequence[Mark]]) -> Chart | None:
    counts = Counter((mark.step, mark.tone) for each in marks for mark in each if mark.tone != "unjudged")
    if not counts:
        return None
    steps = sorted({step for step, _ in counts})
    size = -(-len(steps) // MOST_BARS)
    groups = [steps[at : at + size] for at in range(0, len(steps), size)]
    labels = [f"{group[0]}" if len(group) == 1 else f"{group[0]}–{group[-1]}" for group in groups]
    series = {tone: [sum(counts[step, tone] for step in group) for group in groups] for tone in _READ}
    return Chart(
        "steps",
        "Where steps go wrong",
        "Every judged step of every trial, by its number in the trace.",
        ("step", *_READ.values()),
        tuple((label, *(str(series[tone][at]) for tone in _READ)) for at, label in enumerate(labels)),
        {
            "labels": [*labels],
            "series": [{"tone": tone, "label": _READ[tone], "counts": [*series[tone]]} for tone in _READ],
        },
    )


def _effort(scores: Sequence[TrialScore]) -> Chart | None:
    known = [
        (number, score, score.steps)
        for number, score in enumerate(scores)
        if score.steps is not None and score.status != "failed"
    ]
    if not known:
        return None
    priced = any(score.measurements.cost_usd is not None for _, score, _ in known)
    points = [(number, score, steps, _up(score, priced=priced)) for number, score, steps in known]
    return Chart(
        "effort",
        f"Steps and {'cost' if priced else 'calls'} of each trial",
        "One mark per trial: round when it succeeded, a cross when it did not. Choose one to open it.",
        ("trial", "outcome", "steps", "cost" if priced else "calls"),
        tuple(
            (score.trial_id, FATES[fate(score)][1], str(steps), _spelled(up, priced=priced))
            for _, score, steps, up in points
        ),
        {
            "up": "Cost of the agent, USD" if priced else "Calls",
            "points": [
                {"x": steps, "y": up, "fate": fate(score), "trial": number, "name": score.trial_id}
                for number, score, steps, up in points
                if up is not None
            ],
        },
    )


def _up(score: TrialScore, *, priced: bool) -> float | None:
    return score.measurements.cost_usd if priced else score.calls


def _spelled(up: float | None, *, priced: bool) -> str:
    if up is None:
        return "unknown"
    return f"${up:.4f}" if priced else f"{up:g}"

"""The page is made of values alone: tasks, trials, their scores and the summary go in, one HTML document comes out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stepjudge.report.chart import Chart, charts
from stepjudge.report.figure import Figure, cards, mean, process
from stepjudge.report.grid import FATES, fate, grid
from stepjudge.report.island import island
from stepjudge.report.mark import FLAGS, Flag, Mark, marks
from stepjudge.report.policy import policy
from stepjudge.report.story import opening, story
from stepjudge.report.strip import HEIGHT
from stepjudge.summary import Summary, ViewSummary
from stepjudge.task import Task
from stepjudge.trial import Trial, TrialScore
from stepjudge.value import JsonObject
from stepjudge.view import View
from stepjudge.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_SCRIPTS = ("element", "passage", "trial", "charts", "filter", "keys", "start")


@dataclass(frozen=True)
class About:
    """Where a run comes from, as its report says it."""

    title: str = "Run"
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is needed to reproduce it, each with its name."""


@dataclass(frozen=True)
class ViewLine:
    """A view, as a row of a table."""

    name: str
    words: str
    figure: Figure
    across: str
    """The range over tasks."""
    unmeasured: int
    skipped: int


def report(
    tasks: Sequence[Task],
    trials: Sequence[Trial],
    scores: Sequence[TrialScore],
    summary: Summary,
    about: About | None = None,
) -> str:
    """The document. Nothing of a trace or a suite in it is more than text."""
    by_id = {trial.id: trial for trial in trials}
    marked = [marks(_trace(by_id, score), score.scorecard) for score in scores]
    drawn = charts(summary, scores, marked)
    openings, stories = _islands(by_id, scores, marked)
    text = {name: _asset(name) for name in ("report.css", "theme.js", "vendor/chart.umd.min.js")}
    own = "\n".join(['(() => {\n"use strict";', *(_asset(f"script/{name}.js") for name in _SCRIPTS), "})();"])
    # The map that the line speaks of is not shipped, and looking for it would be a request
    library = text["vendor/chart.umd.min.js"].partition("\n//# sourceMappingURL=")[0]
    scripts = (text["theme.js"], library, own)
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            about=about or About(),
            cards=cards(summary),
            charts=drawn,
            css=_markup(text["report.css"]),
            counts=_counts(summary),
            fates=FATES,
            first=summary.first_failing,
            flags=FLAGS,
            flagged=_flagged(marked),
            grid=grid(tasks, scores, marked),
            index=_markup(island(_index(tasks, scores, drawn, f"{(about or About()).title} – stepjudge report"))),
            openings=[_markup(text) for text in openings],
            own=_markup(own),
            library=_markup(library),
            at_k=summary.success.consistency.at_k,
            policy=policy(scripts, (text["report.css"],)),
            process=process(summary),
            stories=[_markup(text) for text in stories],
            strip_height=HEIGHT,
            summary=summary,
            theme=_markup(text["theme.js"]),
            views=[_view(name, view, tasks) for name, view in summary.views.items()],
        )
    )


def _islands(
    trials: Mapping[str, Trial], scores: Sequence[TrialScore], marked: Sequence[Sequence[Mark]]
) -> tuple[list[str], list[str]]:
    """The stories, and the openings they point to: system prompt, task and tools are the same in many trials."""
    openings: dict[str, int] = {}
    stories: list[str] = []
    for score, each in zip(scores, marked, strict=True):
        trial = trials.get(score.trial_id)
        told = story(trial, score, each)
        if trial and trial.trace:
            told["opening"] = openings.setdefault(island(opening(trial.trace)), len(openings))
        stories.append(island(told))
    return list(openings), stories


def _index(tasks: Sequence[Task], scores: Sequence[TrialScore], drawn: Sequence[Chart], title: str) -> JsonObject:
    intents = {task.id: task.intent for task in tasks}
    return {
        "title": title,
        "trials": [
            {
                "id": score.trial_id,
                "task": score.task_id,
                "intent": intents.get(score.task_id, ""),
                "pass": score.trial,
                "status": score.status,
                "fate": fate(score),
                "sign": FATES[fate(score)][0],
                "words": FATES[fate(score)][1],
            }
            for score in scores
        ],
        "charts": {chart.name: chart.drawn for chart in drawn},
        "flags": dict(FLAGS.items()),
    }


def _trace(trials: Mapping[str, Trial], score: TrialScore):
    trial = trials.get(score.trial_id)
    return trial.trace if trial else None


def _flagged(marked: Sequence[Sequence[Mark]]) -> dict[Flag, int]:
    counts = Counter(flag for each in marked for mark in each for flag in mark.flags)
    return {flag: counts[flag] for flag in FLAGS}


def _counts(summary: Summary) -> list[str]:
    """What became of the trials, in words; what is 0 is left out."""
    counts = summary.counts
    named = (
        (counts.completed, "completed"),
        (counts.partial, "partial"),
        (counts.failed, "failed in the harness, excluded"),
        (counts.undecided, "whose outcome cannot be told"),
        (counts.judge_failed, "without an answer of the judge"),
        (counts.unjudged, "not judged"),
    )
    return [f"{count} {words}" for count, words in named if count]


def _view(name: str, view: ViewSummary, tasks: Sequence[Task]) -> ViewLine:
    values = [task.value for task in view.tasks.values() if task.value is not None]
    return ViewLine(
        name,
        _view_words([task.views[name] for task in tasks if name in task.views]),
        mean(name, view.run),
        f"{min(values):.3f} to {max(values):.3f}" if values else "–",
        view.run.undetermined,
        view.skipped,
    )


def _view_words(views: Sequence[View]) -> str:
    spelled = {_spelled(view) for view in views}
    return spelled.pop() if len(spelled) == 1 else "differs by task" if spelled else ""


def _spelled(view: View) -> str:
    weighted = view.reducer == "weighted_mean"
    signals = (f"{signal.weight:g} × {signal.source}" if weighted else signal.source for signal in view.signals)
    return f"{view.reducer}({', '.join(signals)})" + (", missing ones skipped" if view.missing == "skip" else "")


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").rstrip("\n")


def _markup(text: str) -> str:
    """Text that is written as it is: our own files, and islands, which hold no markup."""
    from markupsafe import Markup

    return Markup(text)


def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )

"""The grid shows tasks against passes: one cell for each trial, with its outcome and its steps."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from stepjudge.first_step import first_failing_step
from stepjudge.metric import Rate
from stepjudge.report.island import cut
from stepjudge.report.mark import FLAGS, Flag, Mark
from stepjudge.report.strip import Strip, strip
from stepjudge.task import Task
from stepjudge.trial import TrialScore
from stepjudge.visible import visible

Fate = Literal["success", "failure", "undecided", "failed"]

FATES: dict[Fate, tuple[str, str]] = {
    "success": ("✓", "succeeded"),
    "failure": ("✗", "did not succeed"),
    "undecided": ("?", "outcome cannot be told"),
    "failed": ("!", "harness failed, not scored"),
}


@dataclass(frozen=True)
class Cell:
    """A trial."""

    number: int
    """Its position among the trials of the report, by which the page finds its story."""
    href: str
    """By the id as the page spells it, with every character visible."""
    trial_id: str
    fate: Fate
    sign: str
    words: str
    """Everything the cell shows, as a sentence."""
    steps: str
    """Passing of scored steps."""
    strip: Strip | None
    flags: dict[Flag, int]
    """How many of its steps have each."""
    status: str


@dataclass(frozen=True)
class Row:
    """A task."""

    task_id: str
    intent: str
    tally: str
    """Successes of trials whose outcome can be told."""
    cells: tuple[tuple[Cell, ...], ...]
    """By pass; a pass may have no trial of the task, or several."""


@dataclass(frozen=True)
class Grid:
    """All of them."""

    passes: tuple[int, ...]
    rows: tuple[Row, ...]


def grid(tasks: Sequence[Task], scores: Sequence[TrialScore], marks: Sequence[Sequence[Mark]]) -> Grid:
    """Tasks in the order of the suite; then those that only trials know."""
    passes = tuple(sorted({score.trial for score in scores}))
    cells: dict[str, dict[int, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for number, (score, marked) in enumerate(zip(scores, marks, strict=True)):
        cells[score.task_id][score.trial].append(_cell(number, score, marked))
    intents = {task.id: task.intent for task in tasks}
    names = dict.fromkeys([*intents, *(score.task_id for score in scores)])
    return Grid(passes, tuple(_row(name, intents.get(name, ""), passes, cells.get(name, {})) for name in names))


def fate(score: TrialScore) -> Fate:
    """What became of a trial."""
    if score.status == "failed":
        return "failed"
    if score.success is None:
        return "undecided"
    return "success" if score.success else "failure"


def _row(name: str, intent: str, passes: Sequence[int], cells: Mapping[int, Sequence[Cell]]) -> Row:
    fates = [cell.fate for each in cells.values() for cell in each]
    told = sum(each in ("success", "failure") for each in fates)
    return Row(name, intent, f"{fates.count('success')}/{told}", tuple(tuple(cells.get(each, ())) for each in passes))


def _cell(number: int, score: TrialScore, marks: Sequence[Mark]) -> Cell:
    became = fate(score)
    sign, meaning = FATES[became]
    flags: dict[Flag, int] = {flag: sum(flag in mark.flags for mark in marks) for flag in FLAGS}
    rate = score.scorecard.scores.step_level if score.scorecard else None
    steps = _passing(rate) if rate else ""
    checks = [f"check {check.name}: {check.outcome}" for check in score.checks if check.outcome != "pass"]
    return Cell(
        number=number,
        href=f"#trial/{quote(cut(visible(score.trial_id)), safe='')}",
        trial_id=score.trial_id,
        fate=became,
        sign=sign,
        words=", ".join([f"{score.task_id}, pass {score.trial}: {meaning}", *checks, *_judged(score, flags)]),
        steps=steps,
        strip=strip(marks) if marks else None,
        flags={flag: count for flag, count in flags.items() if count},
        status=score.status,
    )


def _passing(rate: Rate) -> str:
    return f"{rate.numerator}/{rate.denominator}" if rate.denominator else f"{rate.undetermined} undetermined"


def _judged(score: TrialScore, flags: Mapping[Flag, int]) -> list[str]:
    if score.scorecard is None:
        return ["not judged"]
    first = first_failing_step(score.scorecard)
    rate = score.scorecard.scores.step_level
    passing = [f"{rate.numerator} of {rate.denominator} steps pass"] if rate.denominator else []
    where = [] if first.step is None else [f"first failing step {first.step}"]
    return [
        *passing,
        *where,
        *(f"{count} {flag}" for flag, count in flags.items() if count and flag != "failing"),
    ]

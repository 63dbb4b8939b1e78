"""A bundle as a terminal shows it: headline pairs, what was left out, and each task over its trials."""

import json
import sys

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from stepjudge.bundle import Bundle
from stepjudge.trial import Trial, TrialScore
from stepjudge.visible import visible


def print_bundle(bundle: Bundle, *, as_json: bool, console: Console | None = None) -> None:
    """Print what a run came to."""
    if as_json:
        document = {
            "run_id": bundle.run["run_id"],
            "output_dir": bundle.run["output_dir"],
            "report": bundle.run["dashboard_path"],
            "summary": bundle.summary.model_dump(mode="json"),
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    console = console or Console()
    console.print(_trials(bundle))
    summary = bundle.summary
    for pair in (summary.success, summary.precision, summary.steps):
        for reading in pair.readings():
            console.print(f"[bold]{escape(reading.label):<24}[/] {escape(reading.text)}", highlight=False)
    counts = summary.counts
    console.print(
        f"{counts.total} trials: {counts.completed} completed, {counts.partial} partial, {counts.failed} failed; "
        f"{counts.undecided} undecided; {counts.judged} judged, {counts.judge_failed} where the judge failed, "
        f"{counts.unjudged} not judged",
        highlight=False,
    )
    if summary.provisional and counts.judged:
        console.print("[bold yellow]provisional[/]: the judge has not been validated against human labels")
    for each in summary.validations:
        console.print(visible(each), markup=False, highlight=False)
    console.print(f"bundle {bundle.folder}", markup=False, highlight=False, soft_wrap=True)
    if isinstance(report := bundle.run["dashboard_path"], str):
        console.print(f"report {report}", markup=False, highlight=False, soft_wrap=True)


def _trials(bundle: Bundle) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    for name in ("trial", "status", "success", "checks", "steps that pass", "why"):
        table.add_column(name, overflow="fold")
    for trial, score in zip(bundle.trials, bundle.scores, strict=True):
        marks = {True: "[green]yes[/]", False: "[red]no[/]", None: "[yellow]?[/]"}
        passed = sum(check.outcome == "pass" for check in score.checks)
        step_level = score.scorecard.scores.step_level if score.scorecard else None
        table.add_row(
            trial.id,
            trial.status,
            marks[score.success],
            f"{passed}/{len(score.checks)}",
            f"{step_level.numerator}/{step_level.denominator}" if step_level else "–",
            Text(_why(trial, score)),
        )
    return table


def _why(trial: Trial, score: TrialScore) -> str:
    """What kept the trial from succeeding, or from being scored; the first of it."""
    reasons = [f"{trial.error.type}: {trial.error.message}"] if trial.error else []
    reasons += [f"{check.name}: {check.reason}" for check in score.checks if check.outcome != "pass"]
    reasons += [f"judge: {score.judge_error}"] if score.judge_error else []
    return visible(" ".join(reasons[0].split()))[:160] if reasons else ""

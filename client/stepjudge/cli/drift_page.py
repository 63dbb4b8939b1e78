"""What a judge said at different times, as a person reads it on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stepjudge.drift import Comparison, Drift
from stepjudge.visible import visible


def print_drift(report: Drift) -> None:
    """One line per comparison, then the warnings."""
    console = Console(highlight=False)
    head = f"judge {report.judge}, rubric {report.rubric}: {report.verdicts} verdicts in {report.rounds} rounds"
    console.print(Text(visible(head)))
    if not report.comparisons:
        console.print("no step was judged twice: judge a stored sample again, with stepjudge audit drift SAMPLE")
    else:
        console.print(_table(report))
    for warning in report.warnings:
        console.print(Text(visible(f"WARNING: {warning}"), style="bold red"))
    if report.comparisons and not report.warnings:
        console.print("no change shows; that is no proof that there is none")


def _table(report: Drift) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    for name in ("round", "when", "model", "steps", "changed", "from yes / to yes", "lost", "with people"):
        table.add_column(name, overflow="fold")
    for each in report.comparisons:
        table.add_row(*(Text(visible(cell)) for cell in _row(each)))
    return table


def _row(each: Comparison) -> tuple[str, ...]:
    flips, interval = each.flips, each.flips.interval
    share = "–" if flips.value is None else f"{flips.value:.0%} ({flips.numerator:g}/{flips.denominator})"
    around = f" [{interval.low:.0%}, {interval.high:.0%}]" if interval else ""
    people = f"{each.agreement.first_only} lost, {each.agreement.second_only} won" if each.agreement else "no labels"
    return (
        f"{each.round} beside {each.since}",
        each.after,
        ", ".join(each.models_after) or "none",
        str(each.questions),
        f"{share}{around}",
        f"{each.direction.first_only} / {each.direction.second_only}",
        str(each.lost),
        people,
    )

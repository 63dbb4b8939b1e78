"""What fault injection found, as a person reads it on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stepjudge.fault_injection.detection import Detection, Detections
from stepjudge.stats import RateWithInterval
from stepjudge.visible import visible


def print_detections(report: Detections) -> None:
    """One line per kind of fault, then what the columns mean."""
    console = Console(highlight=False)
    spent = "cost unknown" if report.cost_usd is None else f"${report.cost_usd:.4f}"
    head = f"judge {report.judge}, rubric {report.rubric}, seed {report.seed}, {report.traces} traces, {spent}"
    console.print(Text(visible(head)))
    if report.judge_note:
        console.print(Text(visible(report.judge_note), style="dim"))
    if not report.kinds:
        console.print("no fault could be put into these traces")
        return
    table = Table(header_style="bold", pad_edge=False)
    for name in ("fault", "pairs", "found", "located", "flagged", "false alarms", "right criterion", "not said"):
        table.add_column(name, overflow="fold")
    for each in report.kinds:
        table.add_row(*_row(each.kind, each))
    if report.overall and len(report.kinds) > 1:
        table.add_section()
        table.add_row(*_row("all", report.overall))
    console.print(table)
    for each in report.kinds:
        console.print(f"{each.kind}: {each.about}; {_tested(each)}")
    console.print(
        "found: flagged where it was not flagged in the parent, of all pairs. located: found, and flagged first.\n"
        "flagged, false alarms: of the broken steps, and of the same steps unbroken, that got a reading.\n"
        "Brackets hold 95% intervals that draw traces, not steps. Faults are made, not met: rates compare judges; they\n"
        "are no estimate of how many real faults a judge finds."
    )


def _row(name: str, each: Detection) -> tuple[str, ...]:
    shares = (each.found, each.located, each.flagged, each.false_alarms, each.named)
    return (name, str(each.pairs), *map(_share, shares), str(each.found.undetermined))


def _share(rate: RateWithInterval | None) -> str:
    if rate is None or rate.value is None:
        return "–"
    interval = rate.interval
    around = f" [{interval.low:.0%}, {interval.high:.0%}]" if interval else ""
    return f"{rate.value:.0%} ({rate.numerator:g}/{rate.denominator}){around}"


def _tested(each: Detection) -> str:
    test = each.test
    return f"{test.second_only} flagged only when broken, {test.first_only} only before: McNemar p = {test.p_value:.2g}"

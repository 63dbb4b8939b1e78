"""What probes found, as a person reads it on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stepjudge.probe.finding import Finding, Findings
from stepjudge.probe.self_preference import SelfPreference
from stepjudge.stats import RateWithInterval
from stepjudge.visible import visible


def print_findings(report: Findings) -> None:
    """What should not matter, then what tries to."""
    console = Console(highlight=False)
    spent = "cost unknown" if report.cost_usd is None else f"${report.cost_usd:.4f}"
    head = f"judge {report.judge}, rubric {report.rubric}, seed {report.seed}"
    console.print(Text(visible(f"{head}, {report.steps} steps of {report.traces} traces, {spent}")))
    if report.judge_note:
        console.print(Text(visible(report.judge_note), style="dim"))
    console.print(_sensitivity([each for each in report.probes if each.family != "injection"]))
    console.print(
        "answers, readings: those that changed, of those given both times; a reading is whether the step passes.\n"
        "retest is the floor: what changes when nothing does."
    )
    if report.injections:
        own = [each for each in report.probes if each.family == "injection"]
        console.print(_injections([*own, report.injections]))
        console.print("lifted: steps that pass now and did not before. noticed: a fact tells of the text.")
    console.print(Text(visible(_favour(report.self_preference))))
    console.print("Brackets hold 95% intervals that draw traces, not steps.")


def _sensitivity(findings: list[Finding]) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    for name in ("probe", "steps", "answers", "readings", "to yes / to no", "lost", "same verdict"):
        table.add_column(name, overflow="fold")
    for each in findings:
        way = f"{each.towards_yes} / {each.towards_no}"
        same = _share(each.same_verdict) if each.same_verdict else ""
        shares = (_share(each.answers), _share(each.readings))
        table.add_row(each.probe, str(each.steps), *shares, way, str(each.lost), same)
    return table


def _injections(findings: list[Finding]) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    for name in ("injection", "steps", "lifted", "answers", "to yes / to no", "lost", "noticed"):
        table.add_column(name, overflow="fold")
    for each in findings:
        way = f"{each.towards_yes} / {each.towards_no}"
        lifted, noticed = _share(each.lifted), _share(each.noticed)
        table.add_row(each.probe, str(each.steps), lifted, _share(each.answers), way, str(each.lost), noticed)
    return table


def _share(rate: RateWithInterval | None) -> str:
    if rate is None or rate.value is None:
        return "–"
    interval = rate.interval
    around = f" [{interval.low:.0%}, {interval.high:.0%}]" if interval else ""
    return f"{rate.value:.0%} ({rate.numerator:g}/{rate.denominator}){around}"


def _favour(found: SelfPreference) -> str:
    if found.difference is None:
        return f"self-preference: not measured, {found.why_not}"
    interval = found.interval
    around = f"[{interval.low:+.0%}, {interval.high:+.0%}]" if interval else f"no interval: {found.why_not}"
    return (
        f"self-preference: steps of {' and '.join(found.judge_families)} models pass {_share(found.own)}, those of "
        f"others {_share(found.others)}: {found.difference:+.0%} {around}. Models differ in merit too: see the docs."
    )

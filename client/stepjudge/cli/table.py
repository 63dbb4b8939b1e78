"""A scorecard as a person reads it: a table of steps, then each rate with its denominator."""

import json
import textwrap
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from stepjudge.contract import CallSummary, Scorecard, StepScore
from stepjudge.metric import Rate
from stepjudge.rubric import AnswerWord
from stepjudge.visible import visible

_MARKS: dict[AnswerWord, str] = {
    "yes": "[green]yes[/]",
    "no": "[red]no[/]",
    "not_applicable": "[dim]n/a[/]",
    "undetermined": "[yellow]?[/]",
}


NARROW = 125
"""Columns below which a table of all criteria would fold into shreds."""


def print_card(card: Scorecard, console: Console | None = None) -> None:
    """Print a scorecard. Everything from a trace or a judge is shown as text, whatever it contains."""
    console = console or Console()
    console.print(_header(card))
    console.print(_table(card) if console.width >= NARROW else _list(card, console.width - 6))
    for line in _summary(card):
        console.print(line, highlight=False)


def print_estimate(total: dict[str, Any]) -> None:
    """Print what scoring would take."""
    cost, most = total["cost_usd"], total["most_cost_usd"]
    requests = f"{total['requests']}"
    if total["most_requests"] > total["requests"]:
        requests += f" to be expected, {total['most_requests']} if all is escalated"
    told = f"at most ${most or 0.0:.4f}" if cost == most else f"about ${cost:.4f}, at most ${most:.4f}"
    table = Table(show_header=False, box=None)
    rows = {
        "traces": total["traces"],
        "steps": total["steps"],
        "calls": total["calls"],
        "remembered steps": total["cached_steps"],
        "settled by facts": total["settled_steps"],
        "model requests": requests,
        "prompt tokens": f"about {total['prompt_tokens']}",
        "reply tokens": f"about {total['completion_tokens']}",
        "cost": "unknown (no price for this model)" if cost is None else told,
    }
    for name, value in rows.items():
        table.add_row(name, str(value))
    Console().print(table)
    for note in total["notes"]:
        Console().print(Text(note, style="yellow"))


def _header(card: Scorecard) -> Text:
    text = Text()
    text.append(f"{_safe(card.trace_id, 80)}", style="bold")
    text.append(f"  ({card.source_format}, {card.total_steps} steps)")
    return text


def _table(card: Scorecard) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    criteria = list(card.steps[0].answers) if card.steps else []
    table.add_column("step", justify="right")
    table.add_column("turn", justify="right")
    table.add_column("call", ratio=3, overflow="fold")
    for name in criteria:
        table.add_column(name)
    table.add_column("verdict")
    table.add_column("why", ratio=4, overflow="fold")
    for step in card.steps:
        table.add_row(
            str(step.index),
            str(step.turn),
            Text(_calls(step)),
            *(_MARKS[step.answers[name]] for name in criteria),
            _verdict(step),
            Text(_why(step)),
        )
    return table


def _list(card: Scorecard, width: int) -> Text:
    """Each step on a few lines, for narrow terminals."""
    margin = "\n     "
    text = Text()
    for step in card.steps:
        calls = margin.join(_safe(line, width) for line in _calls(step).split("\n"))
        text.append(f"{step.index:>3}  ", style="bold").append(calls).append(margin)
        text.append_text(Text.from_markup(_verdict(step))).append(margin)
        answers = " · ".join(f"{name} {_MARKS[word]}" for name, word in step.answers.items())
        text.append_text(Text.from_markup(answers))
        for line in textwrap.wrap(_why(step), width):
            text.append(f"{margin}{line}", style="dim")
        text.append("\n")
    return text


def _calls(step: StepScore) -> str:
    return "\n".join(map(_call, step.calls)) if step.calls else "(message)"


def _call(call: CallSummary) -> str:
    if call.arguments is None:
        inside = call.arguments_raw or ""
    else:
        inside = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.arguments.items())
    return _safe(f"{call.name}({_safe(inside, 70)})", 100)


def _verdict(step: StepScore) -> str:
    marks = {1: "[green]passes[/]", 0: "[yellow]not useful[/]", -1: "[red]bad[/]", None: "[yellow]?[/]"}
    mark = marks[step.score]
    if step.score is None and step.passes is False:
        mark = "[yellow]does not pass[/]"
    return f"{mark} [dim](cached)[/]" if step.cached else mark


def _why(step: StepScore) -> str:
    """The reason that decided: of a no, of a recovery, of a yes. Where nothing is known: the facts, else the cause."""
    order = {"no": 0, "yes": 1, "undetermined": 2, "not_applicable": 3}
    answers = sorted(step.details, key=lambda answer: (order[answer.answer], not answer.fixes))
    first = next((answer for answer in answers if answer.reason), None)
    if first is None:
        return ""
    if first.answer == "undetermined" and step.facts:
        return _safe("signals: " + "; ".join(f"{fact.name} {fact.detail}".strip() for fact in step.facts), 160)
    fixes = f" [fixes {', '.join(map(str, first.fixes))}]" if first.fixes else ""
    return _safe(f"{first.criterion}: {first.reason}{fixes}", 160)


def _summary(card: Scorecard) -> list[str]:
    scores = card.scores
    judge = f"judge [bold]{escape(_safe(card.judge, 100))}[/] ({card.judge_digest[:19]}…)"
    rubric = f"rubric [bold]{card.rubric.name}@{card.rubric.version}[/] ({card.rubric.digest[:19]}…)"
    scope = f"steps {card.range} of {card.total_steps}, grouping {card.grouping}"
    lines = [
        "",
        f"step-level score     {_rate(scores.step_level)}  {scope}",
        f"tool-call precision  {_rate(scores.tool_call_precision)}  {scope}",
        f"argument accuracy    {_rate(scores.argument_accuracy)}  {scope}",
        f"recovery rate        {_rate(scores.recovery_rate)}  {scope}",
        f"undetermined         {card.undetermined} of {card.answers} answers{_causes(card)}",
    ]
    lines += [f"[red]{cause}[/]: {escape(_safe(reason, 200))}" for cause, reason in _troubles(card).items()]
    if card.ungrounded:
        lines.append(f"ungrounded           {card.ungrounded} answers quote what does not stand there")
    lines += [f"{judge}, {rubric}", _cost(card)]
    if card.provisional:
        lines.append(
            "[bold yellow]provisional[/]: this judge has not been validated against human labels for this rubric"
        )
    if card.validation is not None and card.validation.labels:
        lines.append(f"[dim]{escape(_safe(card.validation.words, 300))}[/]")
    if card.judge_note:
        lines.append(f"[dim]{escape(card.judge_note)}[/]")
    lines += [f"[dim]note: {escape(_safe(note, 200))}[/]" for note in card.notes]
    return [*lines, ""]


def _troubles(card: Scorecard) -> dict[str, str]:
    """One reason for each cause that somebody can mend."""
    return {
        answer.cause: answer.reason
        for step in card.steps
        for answer in step.details
        if answer.cause in ("rejected", "provider", "budget", "context_too_long")
    }


def _rate(rate: Rate) -> str:
    value = "  –  " if rate.value is None else f"{rate.value:5.2f}"
    open_ = f", {rate.undetermined} undetermined" if rate.undetermined else ""
    return f"[bold]{value}[/] ({rate.numerator}/{rate.denominator}{open_})"


def _causes(card: Scorecard) -> str:
    causes = ", ".join(f"{cause} {count}" for cause, count in card.causes.items())
    return f" ({causes})" if causes else ""


def _cost(card: Scorecard) -> str:
    cost = "cost unknown" if card.cost_usd is None else f"${card.cost_usd:.4f}"
    cached = f"{card.cached_steps} of {len(card.steps)} steps answered from the cache"
    return f"{cost}, {card.requests} model requests, {cached}"


def _safe(text: str, limit: int) -> str:
    """One line, short, and nothing in it can drive the terminal."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"

"""A comparison as a person reads it on a terminal: paired differences, then the steps whose answers changed."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stepjudge.comparison import Comparison
from stepjudge.step_change import StepChange
from stepjudge.visible import visible

_MOST_STEPS = 50


def print_comparison(found: Comparison, console: Console | None = None) -> None:
    """Print what a second run changed against a first one."""
    console = console or Console(highlight=False)
    for pair in (found.success, found.precision, found.steps):
        for reading in pair.readings():
            _line(console, reading.label, reading.text)
    others = {"step-level score": found.step_level, "bad steps": found.bad_rate, "recovery rate": found.recovery_rate}
    for label, change in {**others, **{f"view {name}": view for name, view in found.views.items()}}.items():
        _line(console, label, str(change))
    for word, tasks in (("first", found.first_only), ("second", found.second_only)):
        if tasks:
            _line(console, f"only in the {word} run", ", ".join(tasks))
    for note in found.notes:
        console.print(Text(visible(note), style="yellow"))
    _print_steps(console, found)


def _line(console: Console, label: str, text: str) -> None:
    console.print(Text(f"{visible(label):<38}", style="bold").append(visible(text), style="not bold"), soft_wrap=True)


def _print_steps(console: Console, found: Comparison) -> None:
    changes = found.step_changes
    console.print(f"\n{len(changes.changed)} of {changes.compared} compared steps are answered otherwise")
    if not changes.changed:
        return
    table = Table(header_style="bold", pad_edge=False)
    for name in ("task", "trial", "step", "answers", "same calls"):
        table.add_column(name, overflow="fold")
    for change in changes.changed[:_MOST_STEPS]:
        table.add_row(*(Text(visible(cell)) for cell in _cells(change)))
    console.print(table)
    if len(changes.changed) > _MOST_STEPS:
        console.print(f"… and {len(changes.changed) - _MOST_STEPS} more: --json lists all")


def _cells(change: StepChange) -> tuple[str, ...]:
    answers = "; ".join(f"{each.criterion} {each.first or '–'} → {each.second or '–'}" for each in change.changes)
    same = "yes: the judgement changed" if change.same_calls else "no: the agent did otherwise"
    return change.task_id, change.second_trial, str(change.step), answers, same

"""What a tuner reads on a terminal. Reasons come from models, so they are printed as text."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from stepjudge.cli.agreement_page import print_labelled
from stepjudge.stats import counted
from stepjudge.tuning.rubric_comparison import Flip, PairedReading, RubricComparison, Said
from stepjudge.tuning.rubric_test import Expense, RubricTest
from stepjudge.visible import visible

_EFFECTS = {"gained": ("now as people say", "green"), "lost": ("no longer as people say", "red"), "neither": ("", "")}


def print_test(found: RubricTest) -> None:
    """A rubric test: the plain lines first."""
    print_labelled(found.labelled)
    Console(highlight=False).print(Text(f"\n{expense_words(found.expense)}"))


def print_comparison(found: RubricComparison, took: Sequence[Expense]) -> None:
    """The conclusion, the readings, every flip."""
    console = Console(highlight=False)
    console.print(Text(visible(f"judge {found.judge} ({found.judge_digest[:19]}…)"), style="bold"))
    for letter, name, digest in (("A", found.first, found.first_digest), ("B", found.second, found.second_digest)):
        console.print(Text(visible(f"{letter} {name} ({digest[:19]}…)")))
    console.print(Text(f"{counted(found.steps, 'labelled step')}\n"))
    console.print(Text(visible(found.words), style="green" if found.whole.supported else "yellow"))
    console.print(Text(f"agreement, all: {found.whole.equal}"), soft_wrap=True)
    for row in found.readings:
        console.print(Text(_row(row)), soft_wrap=True)
    console.print()
    for flip in found.flips:
        _print_flip(console, flip)
    console.print(Text("no answer flips" if not found.flips else f"{counted(len(found.flips), 'answer')} flip"))
    cost = "at a price that is not known" if took[0].cost_usd is None else f"${took[0].cost_usd:.4f}"
    requests = sum(each.requests for each in took)
    console.print(Text(f"both together: {counted(requests, 'model request')}, {cost}"))


def expense_words(found: Expense) -> str:
    """One sentence on what a test took and what came of it."""
    cost = "at a price that is not known" if found.cost_usd is None else f"${found.cost_usd:.4f}"
    causes = ", ".join(f"{number} {cause}" for cause, number in found.causes.items())
    said = [
        f"{counted(found.steps, 'labelled step')} judged, {found.cached_steps} of them remembered: "
        f"{counted(found.requests, 'model request')}, {cost}",
        f"{found.undetermined} of {found.answers} answers undetermined{f' ({causes})' if causes else ''}",
        f"{found.ungrounded} ungrounded",
    ]
    if found.not_found:
        said.append(f"{counted(found.not_found, 'labelled step')} not at hand: name their traces with --traces")
    if found.left_out:
        said.append(f"{counted(found.left_out, 'label')} left out: not blind, or of unknown probability (--every)")
    return "\n".join(said)


def _row(row: PairedReading) -> str:
    verdict = "supported" if row.supported else "not supported"
    return f"  {visible(row.reading):12}{verdict}: {row.equal}; {row.questions}, after Holm p = {row.p_value:.3g}"


def _print_flip(console: Console, flip: Flip) -> None:
    words, style = _EFFECTS[flip.effect]
    call = "" if flip.call is None else f" of call {flip.call}"
    label = "no label" if flip.label is None else f"people say {flip.label}"
    heading = (
        f"{flip.trace_id[:60]} step {flip.step}, {flip.criterion}{call}: {flip.first.answer} → {flip.second.answer}"
    )
    console.print(Text(visible(f"{heading}; {label}{f', {words}' if words else ''}"), style=style), soft_wrap=True)
    console.print(Text(visible(f"  A: {_said(flip.first)}"), style="dim"), soft_wrap=True)
    console.print(Text(visible(f"  B: {_said(flip.second)}"), style="dim"), soft_wrap=True)


def _said(said: Said) -> str:
    notes = [said.cause or "", "ungrounded" if said.ungrounded else ""]
    told = ", ".join(filter(None, notes))
    return f"{said.reason or '(no reason)'}{f' ({told})' if told else ''}"

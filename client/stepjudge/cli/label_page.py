"""What an annotator sees: the state, the step, one question with its keys. Whatever a trace holds is shown as text."""

from rich.console import Console
from rich.text import Text

from stepjudge.cli.label_session import Asked, Session, Sitting
from stepjudge.cli.trace_page import print_state
from stepjudge.label import SCORE
from stepjudge.label_contract import StepVerdicts
from stepjudge.rubric import Criterion, Rubric
from stepjudge.visible import visible

_WORDS = {
    "y": "yes",
    "n": "no",
    "a": "not applicable",
    "u": "cannot tell",
    "+": "+1 passes",
    "0": "0 neither",
    "-": "−1 bad",
}
_MOVES = "s skip step · b back · x take back · c comment · m whole text · ? definition · q quit"


def show_step(console: Console, sitting: Sitting, *, lines: int, earlier: int) -> None:
    """The step, with everything the agent knew before it and nothing of what came later."""
    console.rule(Text(visible(f"{sitting.trace.trace_id[:60]} · step {sitting.step}")), style="cyan")
    print_state(console, sitting.trace, sitting.step, lines=lines, earlier=earlier)


def show_question(console: Console, session: Session, asked: Asked) -> None:
    """One question: progress, what is asked, what was said before, the keys."""
    done, every = session.steps
    text = Text(f"\n{done}/{every}  ", style="bold")
    text.append(_named(asked), style="bold magenta").append(f"  {visible(_question(session.rubric, asked))}", style="")
    console.print(text)
    for label in asked.disputed:
        note = f" ({label.note})" if label.note else ""
        console.print(Text(visible(f"      {label.annotator} said {label.said}{note}"), style="yellow"))
    if (said := session.said(asked)) is not None:
        console.print(Text(f"      you said {said}", style="yellow"))
    keys = " · ".join(f"{key} {_WORDS[key]}" for key in session.keys(asked))
    console.print(Text(f"      {keys}", style="bold").append(f"   {_MOVES}", style="not bold dim"))


def show_definition(console: Console, rubric: Rubric, asked: Asked) -> None:
    """All that the rubric says of a criterion."""
    if asked.criterion == SCORE:
        console.print(Text(_score_words(rubric)))
        return
    criterion = rubric.criterion(asked.criterion)
    console.print(Text(visible(criterion.definition)))
    for title, cases in _cases(criterion).items():
        for case in cases:
            console.print(Text(visible(f"  {title}: {case}"), style="dim"))


def show_verdicts(console: Console, found: StepVerdicts) -> None:
    """What judges said of a step whose labels are in."""
    for verdict in found.verdicts:
        said = ", ".join(
            f"{each.criterion}{'' if each.call is None else f' (call {each.call})'} {each.answer}"
            for each in verdict.answers
        )
        console.print(Text(visible(f"  {verdict.judge} by {verdict.rubric}: {said}"), style="dim"))
    if not found.verdicts:
        console.print(Text("  no judge has judged this step", style="dim"))


def _named(asked: Asked) -> str:
    if asked.call is None:
        return asked.criterion
    calls = asked.sitting.trace.steps[asked.sitting.step - 1].calls
    return f"{asked.criterion}, call {asked.call} {visible(calls[asked.call - 1].name[:40])}"


def _question(rubric: Rubric, asked: Asked) -> str:
    if asked.criterion == SCORE:
        return "What is the step worth?"
    return rubric.criterion(asked.criterion).question


def _score_words(rubric: Rubric) -> str:
    passes, bad = (", ".join(names) for names in (rubric.scoring.passes, rubric.scoring.bad))
    below = f"−1: one of {bad} is no" if bad else "−1: never"
    return f"+1: {passes} are all yes; {below}; 0: neither"


def _cases(criterion: Criterion) -> dict[str, tuple[str, ...]]:
    return {
        "yes": criterion.yes_when,
        "no": criterion.no_when,
        "not applicable": criterion.not_applicable_when,
        "mind": criterion.edge_cases,
        "example": tuple(f"{each.given} → {each.answer}: {each.because}" for each in criterion.examples),
    }

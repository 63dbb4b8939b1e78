"""Agreement as a person reads it on a terminal: one plain line per question, then the figures behind it."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stepjudge.agreement import Agreement, Figure
from stepjudge.annotators import Ceiling
from stepjudge.floors import Floor
from stepjudge.labelled import Counts, LabelledVerdicts, ReadingAgreement
from stepjudge.recorded_audit import RecordedAudit
from stepjudge.visible import visible

_STYLES = {"trust it": "green", "use with care": "yellow", "do not rely on it": "red", "too few examples to say": "dim"}


def print_labelled(found: LabelledVerdicts) -> None:
    """A judge beside people under one rubric."""
    console = Console(highlight=False)
    console.print(Text(visible(f"judge {found.judge} ({found.judge_digest[:19]}…)"), style="bold"))
    console.print(Text(visible(f"rubric {found.rubric} ({found.rubric_digest[:19]}…)")))
    people = ", ".join(found.annotators) or "nobody yet"
    console.print(Text(visible(f"{found.steps} labelled steps, by {people}\n")))
    for each in found.readings:
        console.print(_line(each))
    if not found.readings:
        console.print("no labels of this rubric count yet: see stepjudge label --help")
        return
    console.print()
    console.print(_figures(found.readings))
    for each in found.readings:
        for line in (*_reservations(each.counts), *_people(each.ceiling)):
            console.print(Text(visible(f"{each.reading}: {line}"), style="dim"))
    for floor in found.floors:
        console.print(Text(f"floor for raw agreement on score: {_floor(floor)}"))
    if found.first_error:
        first = found.first_error
        console.print(
            f"first error: {first.matches}/{first.traces} traces {_shown(first.accuracy, percent=True)}, ", end=""
        )
        console.print(f"FE-F1 {_shown(first.f1, percent=True)}")
    console.print(Text(f"\nrule: {found.rule}", style="dim"))


def print_recorded(audits: Sequence[RecordedAudit]) -> None:
    """Recorded judges beside people, one table per data set, with its floors."""
    console = Console(highlight=False)
    for dataset in dict.fromkeys(each.dataset for each in audits):
        mine = [each for each in audits if each.dataset == dataset]
        mine.sort(key=lambda each: -(each.score.raw.value or 0.0))
        first = mine[0]
        heading = f"{dataset}: {first.traces} traces of {first.tasks} tasks, {first.steps} steps labelled by people"
        console.print(Text(visible(heading), style="bold"))
        console.print(_recorded(mine), soft_wrap=not console.is_terminal)
        for floor in first.floors:
            console.print(Text(f"floor: {_floor(floor)}"))
        console.print(
            Text(
                "A missing answer is wrong in step accuracy and no error in first-error accuracy; kappas are over answered "
                "steps. κ good: +1 against the rest; κ bad: −1 against the rest. Intervals at 95%, tasks drawn again.\n",
                style="dim",
            )
        )


def _recorded(audits: Sequence[RecordedAudit]) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    table.add_column("judge", overflow="fold")
    for name in (
        "right/steps",
        "step acc.",
        "first error",
        "FE-F1",
        "κ",
        "κ quad.",
        "κ good",
        "κ bad",
        "missing",
        "silent 0",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for each in audits:
        table.add_row(
            Text(visible(each.judge)),
            f"{each.score.matches}/{each.steps}",
            _accuracy(each.score.raw),
            _shown(each.first_error.accuracy, percent=True),
            _percent(each.first_error.f1),
            _shown(each.score.kappa),
            _plain(each.score.kappa_quadratic),
            _plain(each.passes.kappa),
            _plain(each.bad.kappa),
            str(each.missing),
            str(each.silent),
        )
    return table


def _line(each: ReadingAgreement) -> Text:
    text = Text(f"{visible(each.reading):12}")
    text.append(each.trust.word, style=_STYLES[each.trust.word])
    return text.append(f": {visible(each.trust.because)}")


def _figures(readings: Sequence[ReadingAgreement]) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    table.add_column("")
    for name in ("equal", "raw", "κ", "κ quad.", "α", "balanced", "precision / recall / F1 by answer"):
        table.add_column(name, justify="left", overflow="fold")
    for each in readings:
        found = each.agreement
        table.add_row(
            Text(visible(each.reading)),
            f"{found.matches}/{found.labelled}",
            _shown(found.raw, percent=True),
            _shown(found.kappa),
            _plain(found.kappa_quadratic),
            _plain(found.alpha_ordinal or found.alpha_nominal),
            _percent(found.balanced_accuracy),
            _classes(found),
        )
    return table


def _classes(found: Agreement) -> str:
    return "\n".join(
        f"{each.answer}: {_number(each.precision)} / {_number(each.recall)} / {_number(each.f1)}"
        for each in found.classes
        if each.human or each.judge
    )


def _reservations(counts: Counts) -> list[str]:
    said = {
        "labels left out: not blind, or of unknown probability": counts.left_out,
        "questions on which people differ and nobody adjudicated": counts.contested,
        "questions on which people could not tell": counts.could_not_tell,
        "questions about steps that this judge has not judged": counts.not_judged,
        "labels given for another version of the rubric": counts.other_wording,
    }
    return [f"{number} {words}" for words, number in said.items() if number]


def _people(found: Ceiling | None) -> list[str]:
    if found is None:
        return []
    pairs = [f"{each.first} and {each.second} κ {_number(each.kappa)} on {each.both}" for each in found.pairs]
    share = _number(found.raw)
    return [f"ceiling: people among themselves α {_number(found.alpha)}, raw {share}; {'; '.join(pairs)}"]


def _floor(floor: Floor) -> str:
    if floor.accuracy is None:
        return f"{floor.name}: not known, {floor.why_none}"
    first = f", first error {floor.first_error_matches}/{floor.traces}" if floor.traces else ""
    return f"{floor.name}: {100 * floor.accuracy:.1f}% ({floor.matches}/{floor.steps}){first}"


def _shown(figure: Figure, *, percent: bool = False) -> str:
    shown = _percent(figure) if percent else _plain(figure)
    if figure.interval is None:
        return shown
    low, high = figure.interval.low, figure.interval.high
    return f"{shown} [{100 * low:.0f}, {100 * high:.0f}]" if percent else f"{shown} [{low:.2f}, {high:.2f}]"


def _percent(figure: Figure) -> str:
    return "–" if figure.value is None else f"{100 * figure.value:.1f}"


def _plain(figure: Figure | None) -> str:
    return "–" if figure is None or figure.value is None else f"{figure.value:.3f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _accuracy(figure: Figure) -> str:
    """With two digits, as the benchmark's judges lie close together."""
    if figure.value is None or figure.interval is None:
        return _percent(figure)
    return f"{100 * figure.value:.2f} [{100 * figure.interval.low:.0f}, {100 * figure.interval.high:.0f}]"

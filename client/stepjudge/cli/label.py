"""`stepjudge label`: give answers at the terminal, import and export them, and see what they say of the judges."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import click

from stepjudge.cli.label_sittings import Design, disputes, from_ledger, from_traces
from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient, LabelFilter
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file


class _Labelling(click.Group):
    """Labels traces unless a subcommand is named: `stepjudge label trace.json` is what people type most."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Labelling)
def label() -> None:
    """Answer a rubric's questions about steps, one key each, without seeing what a judge said.

    `stepjudge label TRACES…` labels steps of trace files, `stepjudge label` those that judges have judged; both are short
    for `stepjudge label run`.
    """


_rubric = click.option("--rubric", default="step", show_default=True, help="NAME, NAME@VERSION or a rubric FILE.yaml.")
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


@label.command()
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path))
@_rubric
@click.option("--annotator", envvar="STEPJUDGE_ANNOTATOR", help="Your name. [default: the login name]")
@click.option("--criterion", "criteria", multiple=True, help="Only this criterion; may be given several times.")
@click.option("--score", "scores", is_flag=True, help="One question per step: +1 passes, 0 neither, −1 bad.")
@click.option(
    "--design",
    type=click.Choice(["uniform", "disagreement", "low_confidence", "all"]),
    default="uniform",
    show_default=True,
    help="uniform: drawn at random, which rates need. disagreement, low_confidence: where errors are likely. all: "
    "every step of TRACES.",
)
@click.option("--count", type=click.IntRange(1, 5_000), default=50, show_default=True, help="Steps to label.")
@click.option(
    "--seed", type=click.IntRange(0, 2**53), default=0, show_default=True, help="The same seed draws the same."
)
@click.option("--judge", help="Without TRACES: only steps that this judge has judged.")
@click.option("--show-judge", is_flag=True, help="Show what judges said, once a step is labelled.")
@click.option("--adjudicate", is_flag=True, help="Settle the questions on which annotators differ.")
@click.option("--format", "trace_format", metavar="NAME", help="Format of the traces. [default: detected]")
@click.option("--lines", type=click.IntRange(min=1), default=30, show_default=True, help="Lines shown of each text.")
@asks_service
def run(
    traces: tuple[Path, ...],
    rubric: str,
    annotator: str | None,
    criteria: tuple[str, ...],
    scores: bool,
    design: Design,
    count: int,
    seed: int,
    judge: str | None,
    show_judge: bool,
    adjudicate: bool,
    trace_format: str | None,
    lines: int,
    client: Callable[..., JudgeClient],
    embedded: bool,
) -> None:
    """Label steps of TRACES or, without any, steps that judges have judged.

    Every answer is stored at once. Stop whenever you like: the same command goes on where you stopped.
    """
    from stepjudge.cli.label_session import Session, own, questions
    from stepjudge.cli.label_terminal import Terminal

    name = _annotator(annotator)
    if not sys.stdin.isatty():
        raise click.UsageError(
            "labelling needs a terminal; labels from elsewhere come in with `stepjudge label import`"
        )
    what: Literal["criteria", "score"] = "score" if scores else "criteria"
    with client() as service:
        used = _used(service, rubric, criteria)
        if adjudicate:
            asked, mine = disputes(service, used, name), {}
        else:
            sittings = (
                from_traces(service, traces, used, design=design, count=count, seed=seed, format=trace_format)
                if traces
                else from_ledger(service, used, judge=judge, design=design, count=count, seed=seed)
            )
            asked = questions(used, sittings, criteria=criteria, what=what)
            mine = own(service.all_labels(rubric=used.name, annotator=name), name)
        session = Session(used, name, asked, lambda one: service.label([one]).labels[0], mine)
        Terminal(session, service, lines=lines, show_judge=show_judge).run()


@label.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--from-traces", is_flag=True, help="FILE is traces that carry labels, as AgentProcessBench's do.")
@_rubric
@click.option("--annotator", help="With --from-traces: who gave them. [default: imported]")
@asks_service
def import_(
    files: tuple[Path, ...],
    from_traces: bool,
    rubric: str,
    annotator: str | None,
    client: Callable[..., JudgeClient],
    embedded: bool,
) -> None:
    """Store the labels of files: CSV when the name ends in .csv, else JSON Lines. What is there already stays."""
    from stepjudge.cli.label_import import import_files, import_traces

    with client() as service:
        if from_traces:
            used = _used(service, rubric, ())
            fresh, known = import_traces(service, files, used, annotator or "imported")
        else:
            fresh, known = import_files(service, files)
    click.echo(f"{fresh} labels stored, {known} were there already")


@label.command("export")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="[default: standard output]")
@click.option("--rubric", help="Only labels of this rubric, by name.")
@click.option("--annotator", help="Only labels of this annotator.")
@asks_service
def export(
    form: Literal["jsonl", "csv"],
    output: Path | None,
    rubric: str | None,
    annotator: str | None,
    client: Callable[..., JudgeClient],
    embedded: bool,
) -> None:
    """Write all labels, oldest first: every record, also those that others have replaced."""
    from stepjudge.label_file import to_csv, to_jsonl
    from stepjudge.whole import write_whole

    which: LabelFilter = {}
    if rubric:
        which["rubric"] = rubric
    if annotator:
        which["annotator"] = annotator
    with client() as service:
        labels = service.all_labels(**which)
    text = "".join(to_jsonl(labels) if form == "jsonl" else to_csv(labels))
    if output:
        write_whole(output, text.encode())
    else:
        sys.stdout.buffer.write(text.encode())


@label.command()
@click.option("--rubric", default="step", show_default=True, help="NAME (every version) or NAME@VERSION.")
@click.option("--judge", help="Only this judge, by name or digest.")
@click.option("--every", is_flag=True, help="Count labels too that were not blind, or of unknown probability.")
@_json
@asks_service
def agreement(
    rubric: str, judge: str | None, every: bool, as_json: bool, client: Callable[..., JudgeClient], embedded: bool
) -> None:
    """Say of each criterion whether the judge's answers can be trusted, with the numbers behind it."""
    with client() as service:
        found = service.agreement(rubric, judge=judge, every=every)
    if as_json:
        sys.stdout.write(json.dumps(found.model_dump(mode="json"), indent=2) + "\n")
        return
    from stepjudge.cli.agreement_page import print_labelled

    for report in found.reports:
        print_labelled(report.labelled)
        click.echo(f"{report.validation.words}\n")


def _used(service: JudgeClient, reference: str, criteria: Sequence[str]) -> Rubric:
    path = Path(reference)
    used = read_rubric_file(path) if path.suffix in (".yaml", ".yml") else service.rubric(reference)
    names = [criterion.name for criterion in used.criteria]
    if unknown := [name for name in criteria if name not in names]:
        raise click.UsageError(f"--criterion: {used.reference} has no {unknown[0]!r}; it has {', '.join(names)}")
    return used


def _annotator(given: str | None) -> str:
    import getpass

    if given:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise click.UsageError("--annotator: say who you are") from None

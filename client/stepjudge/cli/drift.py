"""`stepjudge audit drift`: has a judge changed under its name?"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from stepjudge.cli.inquiry import Asking, Inquiry, asks_judge
from stepjudge.cli.score import traces_of
from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard, VerdictSummary
from stepjudge.drift import Labels
from stepjudge.label import settled
from stepjudge.steps import spelled


@click.command()
@click.argument("sample", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", "trace_format", metavar="NAME", help="Format of the sample. [default: detected]")
@click.option("--fail", is_flag=True, help="Exit with 1 when there is a warning, for use in a schedule.")
@asks_service
@asks_judge
def drift(
    sample: tuple[Path, ...],
    trace_format: str | None,
    fail: bool,
    dry_run: bool,
    as_json: bool,
    client: Callable[..., JudgeClient],
    inquiry: Callable[[JudgeClient], Inquiry],
    settings: dict[str, Any],
) -> None:
    """Compare what a judge said of the same steps at different times.

    With SAMPLE, files of traces that you keep for this, they are judged anew first, and only their steps are compared.
    Without, whatever the ledger holds is. Labels of these steps, where there are any, tell whether it got better.
    """
    from stepjudge import drift as drifting

    with client(**settings) as service, inquiry(service) as asked:
        judge = asked.judge or next(card.name for card in service.judges() if card.default)
        rubric = asked.whole_rubric()
        askings = [
            Asking(trace, spelled([step.index for step in trace.steps]), fresh=True)
            for trace in traces_of(sample, trace_format)
        ]
        if dry_run:
            price = asked.price(askings)
            sys.stdout.write(json.dumps(price.model_dump(), indent=2) + "\n" if as_json else f"{price}\n")
            return
        cards = asked.scored(askings, f"{len(askings)} traces")
        every = [verdict for page in service.all_verdicts() for verdict in page.verdicts]
        own = [each for each in every if (each.judge, each.rubric) == (judge, rubric.reference)]
        verdicts = _of_sample(own, cards) if cards else own
        report = drifting.drift(judge, rubric.reference, verdicts, _labels(service, rubric.name))
    if as_json:
        sys.stdout.write(json.dumps(report.model_dump(mode="json"), indent=2) + "\n")
    else:
        from stepjudge.cli.drift_page import print_drift

        print_drift(report)
    if fail and report.warnings:
        sys.exit(1)


def _of_sample(verdicts: Iterable[VerdictSummary], cards: Iterable[Scorecard]) -> list[VerdictSummary]:
    """Those on the same questions as the sample's, and those that the name's earlier judges gave to the same steps."""
    found = list(verdicts)
    new = {step.verdict_id for card in cards for step in card.steps}
    steps = {(each.state_digest, each.step_digest) for each in found if each.verdict_id in new}
    return [each for each in found if (each.state_digest, each.step_digest) in steps]


def _labels(service: JudgeClient, rubric: str) -> Labels:
    """Where people have settled on an answer."""
    return {
        (each.state_digest, each.step_digest, each.criterion, (each.call or 1) - 1): said
        for each, said, _ in settled(service.all_labels(rubric=rubric))
        if isinstance(said, str)
    }

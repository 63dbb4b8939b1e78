"""`stepjudge audit import`: recorded answers of other judges beside people's labels."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from stepjudge.floors import Floor
from stepjudge.recorded_answers import BadRecordedAnswers, read_recorded
from stepjudge.recorded_audit import RecordedAudit, labels_for, recorded_audit


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--labels",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file of people's labels. [default: those among FILE... whose rows name no annotator]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the resampling and of the floor's folds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def import_(files: tuple[Path, ...], labels: tuple[Path, ...], seed: int, as_json: bool) -> None:
    """Set recorded answers of judges beside people's labels: how often they are right, and beyond chance.

    FILE is JSON Lines with `step_labels` (−1, 0, 1 by message index), as AgentProcessBench releases them, or a folder of
    such files. Needs `stepjudge[labels]`. Nothing is stored.
    """
    audits = list(_audits(files, labels, seed))
    if as_json:
        sys.stdout.write(json.dumps({"audits": [each.model_dump(mode="json") for each in audits]}, indent=2) + "\n")
        return
    from stepjudge.cli.agreement_page import print_recorded

    print_recorded(audits)


def _audits(files: Sequence[Path], labels: Sequence[Path], seed: int) -> Iterator[RecordedAudit]:
    found = [read_recorded(file) for path in files for file in _files(path)]
    humans = [read_recorded(file) for path in labels for file in _files(path)] or [
        each for each in found if each.by_people
    ]
    judges = [each for each in found if not each.by_people]
    if not judges:
        raise BadRecordedAnswers(
            f"{', '.join(map(str, files))}: no file of a judge's answers: its rows name an `annotator`"
        )
    floors: dict[str, tuple[Floor, ...]] = {}
    try:
        for judge in sorted(judges, key=lambda each: (each.dataset, each.judge)):
            human = labels_for(judge, humans)
            audit = recorded_audit(human, judge, known_floors=floors.get(human.dataset), seed=seed)
            floors[human.dataset] = audit.floors
            yield audit
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"agreement needs more packages ({error.name}): pip install 'stepjudge[labels]'"
        ) from error


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted([*path.rglob("*.jsonl"), *path.rglob("*.jsonl.gz")])

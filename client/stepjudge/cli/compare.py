"""`stepjudge compare`: set a second run beside a first one, task by task."""

import json
import sys
from pathlib import Path

import click


@click.command()
@click.argument("first", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("second", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def compare(first: Path, second: Path, seed: int, as_json: bool) -> None:
    """Compare the bundles FIRST and SECOND: what changed, with intervals, and which steps are answered otherwise."""
    from stepjudge import comparison
    from stepjudge.bundle import read_bundle

    found = comparison.compare(read_bundle(first).scores, read_bundle(second).scores, seed)
    if as_json:
        sys.stdout.write(json.dumps(found.model_dump(mode="json"), indent=2) + "\n")
        return
    from stepjudge.cli.comparison_page import print_comparison

    print_comparison(found)

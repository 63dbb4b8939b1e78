"""`stepjudge rubric test`: judge exactly the labelled steps under a rubric, and say how far the answers can be trusted."""

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from stepjudge.cli.inquiry import needs_statistics
from stepjudge.cli.service import asks_service
from stepjudge.cli.tuning_ground import Ground, all_paid, askings, asks_on_labels
from stepjudge.client import JudgeClient
from stepjudge.tuning.rubric_test import rubric_test


@click.command()
@click.argument("rubric")
@click.option("--dry-run", is_flag=True, help="Say what it would take; spend nothing.")
@asks_service
@asks_on_labels
def test(
    rubric: str,
    dry_run: bool,
    as_json: bool,
    ground: Ground,
    settings: dict[str, Any],
    client: Callable[..., JudgeClient],
) -> None:
    """Judge the labelled steps, and no others, under RUBRIC (NAME, NAME@VERSION or a FILE.yaml).

    Prints one plain line per criterion, the figures behind it, what it cost, and how many answers were undetermined or
    rest on quotes that do not stand. Labels of every version of the rubric serve, since they belong to its name.
    """
    needs_statistics()
    with client(**settings) as service:
        meant = ground.rubric(service, rubric)
        found = ground.examples(service, meant)
        with ground.inquiry(service, meant, quiet=as_json) as inquiry:
            asked = askings(found.found, meant)
            if dry_run:
                price = inquiry.price(asked)
                click.echo(json.dumps(price.model_dump(mode="json"), indent=2) if as_json else str(price))
                return
            cards = inquiry.scored(asked, "labelled steps")
            all_paid(inquiry, cards)
            tested = rubric_test(meant, found, cards, cost_usd=inquiry.cost_usd, every=ground.every)
    if as_json:
        sys.stdout.write(json.dumps(tested.model_dump(mode="json"), indent=2) + "\n")
        return
    from stepjudge.cli.tuning_page import print_test

    print_test(tested)

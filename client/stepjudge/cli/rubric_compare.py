"""`stepjudge rubric compare`: two rubrics on the same labelled steps, with every answer that flips."""

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from stepjudge.cli.inquiry import needs_statistics
from stepjudge.cli.service import asks_service
from stepjudge.cli.tuning_ground import Ground, all_paid, askings, asks_on_labels
from stepjudge.client import JudgeClient
from stepjudge.tuning.example import NoExamples
from stepjudge.tuning.rubric_comparison import rubric_comparison
from stepjudge.tuning.rubric_test import answers_of, expense


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--dry-run", is_flag=True, help="Say what it would take; spend nothing.")
@asks_service
@asks_on_labels
def compare(
    a: str,
    b: str,
    dry_run: bool,
    as_json: bool,
    ground: Ground,
    settings: dict[str, Any],
    client: Callable[..., JudgeClient],
) -> None:
    """Judge the labelled steps under rubric A and under B, and say whether the labels tell them apart.

    A difference is supported only where McNemar's test over the answers and the interval that draws whole tasks again
    agree. Every flipped answer is listed with the label and both reasons. `rubric diff` compares the words alone.
    """
    needs_statistics()
    with client(**settings) as service:
        first, second = (ground.rubric(service, wanted) for wanted in (a, b))
        if first.name != second.name:
            raise NoExamples(
                f"{first.reference} and {second.reference} have no labels in common: labels belong to a rubric by its name"
            )
        found = ground.examples(service, first)
        with ground.inquiry(service, first, quiet=as_json) as inquiry:
            asked = [askings(found.found, rubric) for rubric in (first, second)]
            if dry_run:
                price = inquiry.price([*asked[0], *asked[1]])
                click.echo(json.dumps(price.model_dump(mode="json"), indent=2) if as_json else str(price))
                return
            one = inquiry.scored(asked[0], f"under {first.reference}")
            two = inquiry.scored(asked[1], f"under {second.reference}")
            all_paid(inquiry, [*one, *two])
            cost = inquiry.cost_usd
    answers = answers_of(found.found, one), answers_of(found.found, two)
    judge = one[0].judge, one[0].judge_digest
    compared = rubric_comparison((first, second), found.found, answers, judge)
    took = expense(found, one, cost), expense(found, two, cost)
    if as_json:
        document = {
            "conclusion": compared.words,
            **compared.model_dump(mode="json"),
            "cost_usd": cost,
            "expenses": [each.model_dump(mode="json", exclude={"cost_usd"}) for each in took],
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    from stepjudge.cli.tuning_page import print_comparison

    print_comparison(compared, took)

"""`stepjudge rubric stale`: which stored verdicts a new rubric, judge or prompt version outdates, before anything is paid."""

import json
import sys
from collections.abc import Callable

import click

from stepjudge.cli.score import judge_settings, rubric_of
from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient
from stepjudge.stats import counted
from stepjudge.tuning.stale import StaleGroup, StaleReport
from stepjudge.visible import visible


@click.command()
@click.option(
    "--rubric", metavar="NEW", help="NAME, NAME@VERSION or a FILE.yaml. [default: the newest of every rubric]"
)
@click.option("--judge", help="The judge that takes over. [default: each verdict's own, as configured today]")
@click.option("--api-base", help="Address of an OpenAI-compatible server that runs the model.")
@click.option("--list", "listed", is_flag=True, help="List the verdicts one by one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@asks_service
def stale(
    rubric: str | None,
    judge: str | None,
    api_base: str | None,
    listed: bool,
    as_json: bool,
    client: Callable[..., JudgeClient],
    embedded: bool,
) -> None:
    """Say which stored verdicts would be given anew, why, and what that would cost. Spends nothing.

    The cost follows from the tokens that the stored verdicts took. Without options it tells what an update of stepjudge
    or of the service's settings outdates.
    """
    settings = judge_settings(embedded, api_base, None, None, None)
    with client(**settings) as service:
        found = service.stale(None if rubric is None else rubric_of(rubric), judge=judge)
    if as_json:
        sys.stdout.write(json.dumps(found.model_dump(mode="json"), indent=2) + "\n")
    else:
        _print(found, listed=listed)


def _print(found: StaleReport, *, listed: bool) -> None:
    for group in found.groups:
        click.echo(_group(group))
        for each in group.stale if listed else ():
            reasons = ", ".join(each.reasons)
            click.echo(f"  {each.verdict_id} step {each.step}: {reasons}; {_took(each.requests, each.cost_usd)}")
    click.echo(
        f"{counted(found.stale, 'verdict')} to give anew: {_took(found.requests, found.cost_usd)}, without re-asks"
    )


def _group(group: StaleGroup) -> str:
    becomes = f"{group.becomes_rubric} by {group.becomes_judge}"
    heading = visible(f"{group.rubric} by {group.judge} → {becomes}")
    if group.why_unknown:
        return (
            f"{heading}: {counted(group.verdicts, 'verdict')}, cannot be given anew here: {visible(group.why_unknown)}"
        )
    why = ", ".join(f"{reason} {number}" for reason, number in group.reasons.items())
    return (
        f"{heading}: {group.current} of {group.verdicts} hold"
        f"{f'; outdated by {why}: {_took(group.requests, group.cost_usd)}' if why else ''}"
    )


def _took(requests: int, cost: float | None) -> str:
    return f"{counted(requests, 'model request')}, {'at a price that is not known' if cost is None else f'${cost:.4f}'}"

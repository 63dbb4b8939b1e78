"""`stepjudge audit`: look into verdicts."""

import json
import sys
from collections.abc import Callable

import click

from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient
from stepjudge.contract import Audit


@click.group()
def audit() -> None:
    """Look into verdicts."""


@audit.command()
@click.argument("verdict_id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@asks_service
def show(verdict_id: str, as_json: bool, client: Callable[..., JudgeClient], embedded: bool) -> None:
    """Everything about one verdict, with its exact prompt rendered again.

    Exits with 1 when what is stored no longer gives the prompt that was sent.
    """
    with client() as service:
        found = service.audit(verdict_id)
    if as_json:
        sys.stdout.write(json.dumps(found.model_dump(mode="json"), indent=2) + "\n")
    else:
        from stepjudge.cli.audit_page import print_audit

        print_audit(found)
    if not _intact(found):
        sys.exit(1)


@audit.command("list")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True)
@click.option("--cursor", help="`next_cursor` of the page before.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@asks_service
def list_(limit: int, cursor: str | None, as_json: bool, client: Callable[..., JudgeClient], embedded: bool) -> None:
    """The newest verdicts."""
    with client() as service:
        page = service.verdicts(cursor=cursor, limit=limit)
    if as_json:
        sys.stdout.write(json.dumps(page.model_dump(mode="json"), indent=2) + "\n")
        return
    from stepjudge.cli.audit_page import print_page

    print_page(page)


def _intact(found: Audit) -> bool:
    return found.state_matches and found.prompt_matches is not False

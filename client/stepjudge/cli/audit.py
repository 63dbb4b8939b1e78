"""`stepjudge audit`: look into verdicts."""

import importlib
import json
import sys
from collections.abc import Callable

import click

from stepjudge.cli.audit_import import import_
from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient
from stepjudge.contract import Audit

_LATE = {
    "probe": (
        "stepjudge.cli.probe",
        "Does a judge change its mind, or obey a trace? Ask it again, a little otherwise.",
    ),
    "faults": ("stepjudge.cli.faults", "Break steps in known ways, and see whether a judge finds them."),
    "replay": (
        "stepjudge.cli.replay",
        "Read every stored reply again with the code of today, and list the answers that flip.",
    ),
    "verify": (
        "stepjudge.cli.verify",
        "Compute every digest and seal of a ledger again, and render every prompt again.",
    ),
    "drift": ("stepjudge.cli.drift", "Has a judge changed under its name? Compare what it said at different times."),
}
"""Imported when they run."""


class _Late(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_LATE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _LATE:
            return super().get_command(ctx, cmd_name)
        return getattr(importlib.import_module(_LATE[cmd_name][0]), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = [(name, command.get_short_help_str(100)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*told, *((name, about) for name, (_, about) in _LATE.items())])


@click.group(cls=_Late)
def audit() -> None:
    """Look into verdicts."""


audit.add_command(import_)


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

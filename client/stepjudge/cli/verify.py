"""`stepjudge audit verify`: compute every digest and seal of a ledger again, and render every prompt again."""

import json
import sys

import click

from stepjudge.cli.counting import Counting
from stepjudge.cli.ledger_place import LedgerPlace, works_on_ledger
from stepjudge.visible import visible


@click.command()
@click.option("--head", "noted", help="A newest seal that was noted earlier: it must still be there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@works_on_ledger
def verify(noted: str | None, as_json: bool, quiet: bool, place: LedgerPlace) -> None:
    """Compute every digest and seal of the ledger again, and render every prompt again.

    Reads the database itself, so that no service needs to be trusted. Names each row that was changed, removed or
    slipped in, and exits with 1 when there is one. Note the newest seal that it prints: --head proves later that
    everything up to it is still there.
    """
    from judge_service.verify import Verification

    engine = place.open()
    found = Verification(engine, noted)
    faults = 0
    listed: list[dict[str, str]] = []
    with Counting("verifying", None, quiet=quiet or as_json) as counting:
        for fault in found.faults():
            faults += 1
            if as_json:
                listed.append(fault.model_dump())
            else:
                click.echo(f"{fault.table} {visible(fault.row)}: {visible(fault.fault)}")
            counting.reached(found.checked, found.total)
        counting.reached(found.checked, found.total)
    engine.dispose()
    summary = {
        "rows": found.checked,
        "faults": faults,
        "removed": found.removed,
        "unrendered": found.unrendered,
        "head": found.head,
    }
    if as_json:
        sys.stdout.write(json.dumps({**summary, "found": listed}, indent=2) + "\n")
    else:
        click.echo(_told(summary))
    if faults:
        sys.exit(1)


def _told(summary: dict[str, int | str]) -> str:
    lines = [f"{summary['rows']} rows verified, {summary['faults']} faults"]
    if summary["removed"]:
        lines.append(
            f"{summary['removed']} records were removed by recorded acts; of them only the seals were verified"
        )
    if summary["unrendered"]:
        lines.append(
            f"{summary['unrendered']} prompts belong to another version of the code and were not rendered again"
        )
    return "\n".join([*lines, f"newest seal: {summary['head']}"])

"""`stepjudge audit replay`: read every stored reply again with the code of today, and list the answers that flip."""

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from stepjudge.cli.counting import Counting
from stepjudge.cli.ledger_place import LedgerPlace, works_on_ledger
from stepjudge.stats import counted
from stepjudge.visible import visible

if TYPE_CHECKING:
    from judge_service.replay import AnswerFlip


@click.command()
@click.option("--rubric", help="Only verdicts under this NAME or NAME@VERSION.")
@click.option("--judge", help="Only verdicts of this judge.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    help="Also list what becomes undetermined when answers of a lower confidence do not count.",
)
@click.option(
    "--needs", type=click.IntRange(min=1), help="Also list what changes when a jury needs so many equal votes."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@works_on_ledger
def replay(
    rubric: str | None,
    judge: str | None,
    min_confidence: float | None,
    needs: int | None,
    as_json: bool,
    quiet: bool,
    place: LedgerPlace,
) -> None:
    """Read every raw reply of the ledger again: with today's parser, consistency, grounding, and other thresholds.

    Asks no model, and changes nothing: what is stored stays. Says of each answer that would come out otherwise what it
    was, what it would be and why.
    """
    from judge_service.replay import Replay, Thresholds

    engine = place.open()
    found = Replay(engine, Thresholds(min_confidence=min_confidence, needs=needs), rubric=rubric, judge=judge)
    flips: list[AnswerFlip] = []
    with Counting("reading again", None, quiet=quiet or as_json) as counting:
        for flip in found.flips():
            flips.append(flip)
            if not as_json:
                click.echo(_line(flip))
            counting.reached(found.read + found.without + found.damaged, found.total)
    engine.dispose()
    summary: dict[str, Any] = {
        "read": found.read,
        "without_reply": found.without,
        "damaged": found.damaged,
        "ask_again": found.ask_again,
        "why": dict(Counter(flip.why for flip in flips)),
    }
    if as_json:
        document = {**summary, "flips": [flip.model_dump(mode="json") for flip in flips]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        click.echo(_told(summary, len(flips)))


def _line(flip: "AnswerFlip") -> str:
    call = "" if flip.call is None else f" of call {flip.call}"
    stored = _word(flip.stored, flip.stored_cause, ungrounded=flip.stored_ungrounded)
    now = _word(flip.now, flip.now_cause, ungrounded=flip.now_ungrounded)
    where = f"{flip.verdict_id} {flip.rubric} by {flip.judge}, step {flip.step}, {flip.criterion}{call}"
    return visible(f"{where}: {stored} → {now} ({flip.why})")


def _word(answer: str, cause: str | None, *, ungrounded: bool) -> str:
    return f"{answer}{f' ({cause})' if cause else ''}{', ungrounded' if ungrounded else ''}"


def _told(summary: dict[str, Any], flips: int) -> str:
    why = ", ".join(f"{number} {reason}" for reason, number in summary["why"].items())
    lines = [
        f"{counted(summary['read'], 'verdict')} read again: {counted(flips, 'answer')} come out otherwise"
        f"{f' ({why})' if why else ''}",
        f"{counted(summary['without_reply'], 'verdict')} rest on no reply of their own",
    ]
    if summary["ask_again"]:
        lines.append(f"{summary['ask_again']} last replies would be objected to: the judge would be asked again")
    if summary["damaged"]:
        lines.append(f"{counted(summary['damaged'], 'verdict')} cannot be read again: see stepjudge audit verify")
    return "\n".join(lines)

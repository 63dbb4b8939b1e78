"""`stepjudge audit faults`: break steps in known ways, and see whether a judge finds them."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from stepjudge.cli.inquiry import Asking, Inquiry, asks_judge
from stepjudge.cli.score import traces_of
from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.digest import digest
from stepjudge.fault_injection.detection import Detections, Pair, detection, overall
from stepjudge.fault_injection.fault import Fault, Injected
from stepjudge.fault_injection.inject import FAULTS, injected
from stepjudge.trace import Trace


@click.command()
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice([fault.kind for fault in FAULTS]), help="[default: all]"
)
@click.option("--per-trace", type=click.IntRange(1, 100), default=1, show_default=True, help="Faults of each kind.")
@click.option("--limit", type=click.IntRange(min=1), help="Take the first N traces only.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which places are broken, and how.")
@click.option("--alone", is_flag=True, help="Judge the broken steps alone: cheaper, but locates nothing.")
@click.option("--format", "trace_format", metavar="NAME", help="Format of the traces. [default: detected]")
@asks_service
@asks_judge
def faults(
    traces: tuple[Path, ...],
    kinds: tuple[str, ...],
    per_trace: int,
    limit: int | None,
    seed: int,
    alone: bool,
    trace_format: str | None,
    dry_run: bool,
    as_json: bool,
    client: Callable[..., JudgeClient],
    inquiry: Callable[[JudgeClient], Inquiry],
    settings: dict[str, Any],
) -> None:
    """Break steps of TRACES in known ways and report how many the judge finds.

    The truth is known without annotators: exactly one step is at fault, and how. Each broken step is judged beside the
    same step of the trace as it was.
    """
    chosen = [fault for fault in FAULTS if not kinds or fault.kind in kinds]
    parents = list(zip(traces_of(traces, trace_format), range(limit or sys.maxsize), strict=False))
    broken = [(trace, injected(trace, chosen, seed=seed, each=per_trace)) for trace, _ in parents]
    cases = [(trace, each) for trace, found in broken for each in found]
    # parents first: the beginning that a broken trace shares with its parent is the parent's
    askings = [Asking(trace, _range(each.parent_step, alone=alone)) for trace, each in cases]
    askings += [Asking(each.broken, _range(each.step, alone=alone), made=True) for _, each in cases]
    with client(**settings) as service, inquiry(service) as asked:
        if dry_run:
            price = asked.price(askings)
            sys.stdout.write(json.dumps(price.model_dump(), indent=2) + "\n" if as_json else f"{price}\n")
            return
        before = asked.scored(askings[: len(cases)], "before")
        after = asked.scored(askings[len(cases) :], "broken")
        spent = asked.cost_usd
    pairs = _pairs(cases, before, after)
    head = after[0] if after else None
    report = Detections(
        judge=head.judge if head else "",
        judge_note=head.judge_note if head else "",
        rubric=f"{head.rubric.name}@{head.rubric.version}" if head else "",
        seed=seed,
        traces=len(parents),
        without_places=sum(not found for _, found in broken),
        kinds=tuple(
            detection(fault, own, seed, everything=not alone) for fault in chosen if (own := _of(fault, pairs))
        ),
        overall=overall(chosen, pairs, seed, everything=not alone),
        cost_usd=spent,
    )
    if asked.unpaid:
        click.echo(f"stepjudge: the budget did not allow {asked.unpaid} scorings: raise --max-cost", err=True)
    if as_json:
        sys.stdout.write(json.dumps(report.model_dump(mode="json"), indent=2) + "\n")
        return
    from stepjudge.cli.faults_page import print_detections

    print_detections(report)


def _range(index: int, *, alone: bool) -> str:
    """Up to the step in question, or that step alone. Equal beginnings are judged once."""
    return str(index) if alone else f"1-{index}"


def _pairs(
    cases: Sequence[tuple[Trace, Injected]], before: Sequence[Scorecard], after: Sequence[Scorecard]
) -> list[Pair]:
    return [
        Pair(each, digest([trace.trace_id, trace.task]), broken, parent)
        for (trace, each), parent, broken in zip(cases, before, after, strict=True)
    ]


def _of(fault: Fault, pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.injected.kind == fault.kind]

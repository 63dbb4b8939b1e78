"""`stepjudge audit probe`: ask a judge again, in other forms, and see what moves it."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import click
from pydantic import JsonValue

from stepjudge.cli.inquiry import Asking, Inquiry, asks_judge
from stepjudge.cli.score import traces_of
from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.digest import digest
from stepjudge.probe.finding import Findings, Pair, finding
from stepjudge.probe.injection import INJECTION
from stepjudge.probe.irrelevant import IRRELEVANT
from stepjudge.probe.order import ORDER
from stepjudge.probe.probe import Probe, Subject, Variant
from stepjudge.probe.retest import retests
from stepjudge.probe.self_preference import Judged, SelfPreference, self_preference
from stepjudge.probe.verbosity import VERBOSITY
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace

_ALL = Probe("all_injections", "injection", "all injections together", lambda _subject, _random: None)


@dataclass(frozen=True)
class _Asked:
    """A variant of a subject, and which probe made it."""

    probe: Probe
    subject: int
    variant: Variant | None


@click.command()
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--family",
    "families",
    multiple=True,
    type=click.Choice(["retest", "order", "verbosity", "irrelevant", "injection"]),
    help="[default: all]",
)
@click.option("--per-trace", type=click.IntRange(1, 100), default=2, show_default=True, help="Steps of each trace.")
@click.option("--limit", type=click.IntRange(min=1), help="Take the first N traces only.")
@click.option("--retests", "count", type=click.IntRange(1, 50), default=2, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Which steps are probed, and how.")
@click.option("--format", "trace_format", metavar="NAME", help="Format of the traces. [default: detected]")
@asks_service
@asks_judge
def probe(
    traces: tuple[Path, ...],
    families: tuple[str, ...],
    per_trace: int,
    limit: int | None,
    count: int,
    seed: int,
    trace_format: str | None,
    dry_run: bool,
    as_json: bool,
    client: Callable[..., JudgeClient],
    inquiry: Callable[[JudgeClient], Inquiry],
    settings: dict[str, Any],
) -> None:
    """Ask about steps of TRACES again in forms that should not matter, and report how often the answers change.

    Asked again as it was, with criteria or tools in another order, with empty words added, with irrelevant edits, and
    with text in a tool's output that orders the judge to say yes. Says first what it costs with --dry-run.
    """
    chosen = [
        each
        for each in (*retests(count), *ORDER, *VERBOSITY, *IRRELEVANT, *INJECTION)
        if not families or each.family in families
    ]
    with client(**settings) as service, inquiry(service) as asked:
        rubric = asked.whole_rubric()
        read = [trace for trace, _ in zip(traces_of(traces, trace_format), range(limit or sys.maxsize), strict=False)]
        subjects = [subject for trace in read for subject in _subjects(trace, rubric, per_trace, seed)]
        variants = _varied(chosen, subjects, seed)
        first = [Asking(each.trace, str(each.index)) for each in subjects]
        again = [_asking(subjects[each.subject], each.variant) for each in variants if each.variant]
        if dry_run:
            price = asked.price([*first, *again])
            sys.stdout.write(json.dumps(price.model_dump(), indent=2) + "\n" if as_json else f"{price}\n")
            return
        # first, so that what has the same key finds it
        before = asked.scored(first, f"{len(subjects)} steps")
        cards = asked.scored(again, f"{len(again)} variants")
        favour = _favour(service, subjects, before, seed)
        report = _report(chosen, subjects, variants, before, cards, seed, favour, asked.cost_usd)
    if asked.unpaid:
        click.echo(f"stepjudge: the budget did not allow {asked.unpaid} scorings: raise --max-cost", err=True)
    if as_json:
        sys.stdout.write(json.dumps(report.model_dump(mode="json"), indent=2) + "\n")
        return
    from stepjudge.cli.probe_page import print_findings

    print_findings(report)


def _subjects(trace: Trace, rubric: Rubric, count: int, seed: int) -> list[Subject]:
    indices = [step.index for step in trace.steps]
    drawn = Random(digest([seed, _task(trace)])).sample(indices, min(count, len(indices)))
    return [Subject(trace, index, rubric) for index in sorted(drawn)]


def _varied(probes: Sequence[Probe], subjects: Sequence[Subject], seed: int) -> list[_Asked]:
    return [
        _Asked(each, place, each.vary(subject, Random(digest([seed, each.name, _task(subject.trace), subject.index]))))
        for each in probes
        for place, subject in enumerate(subjects)
    ]


def _asking(subject: Subject, variant: Variant) -> Asking:
    return Asking(variant.trace, str(subject.index), variant.rubric, variant.sample, made=True)


def _report(
    probes: Sequence[Probe],
    subjects: Sequence[Subject],
    variants: Sequence[_Asked],
    before: Sequence[Scorecard],
    cards: Sequence[Scorecard],
    seed: int,
    favour: SelfPreference,
    cost_usd: float | None,
) -> Findings:
    pairs: dict[str, list[Pair]] = {each.name: [] for each in probes}
    for each, card in zip([each for each in variants if each.variant], cards, strict=True):
        first = before[each.subject].steps[0]
        pairs[each.probe.name].append(Pair(_task(subjects[each.subject].trace), first, card.steps[0]))
    skipped = [each.probe.name for each in variants if each.variant is None]
    kinds = {each.name: each for each in probes}
    injected = [pair for each in INJECTION for pair in pairs.get(each.name, ())]
    head = before[0] if before else None
    return Findings(
        judge=head.judge if head else "",
        judge_note=head.judge_note if head else "",
        rubric=f"{head.rubric.name}@{head.rubric.version}" if head else "",
        seed=seed,
        traces=len({_task(each.trace) for each in subjects}),
        steps=len(subjects),
        probes=tuple(finding(kinds[name], own, seed, skipped=skipped.count(name)) for name, own in pairs.items()),
        injections=finding(_ALL, injected, seed) if injected else None,
        self_preference=favour,
        cost_usd=cost_usd,
    )


def _task(trace: Trace) -> str:
    return digest([trace.trace_id, trace.task])


def _favour(
    service: JudgeClient, subjects: Sequence[Subject], before: Sequence[Scorecard], seed: int
) -> SelfPreference:
    names = [name for card in before[:1] for name in _models(service, card.judge)]
    judged = [
        Judged(_task(each.trace), each.trace.steps[each.index - 1].model or each.trace.model, card.steps[0].passes)
        for each, card in zip(subjects, before, strict=True)
    ]
    return self_preference(names, judged, seed)


def _models(service: JudgeClient, judge: str) -> list[str]:
    """The models behind a judge: one, or those of its members."""
    specifications = [card.specification for card in service.judges() if card.name == judge]
    return [name for each in specifications for name in _named(each)] or [judge]


def _named(specification: JsonValue) -> list[str]:
    """The names of models anywhere in it: a jury holds its members' specifications."""
    match specification:
        case dict():
            own = [specification["model"]] if specification.get("kind") == "llm" else []
            inner = [name for value in specification.values() for name in _named(value)]
            return [*map(str, own), *inner]
        case list():
            return [name for value in specification for name in _named(value)]
        case _:
            return []

"""`stepjudge score`: score the steps of traces, as a table or as JSON."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from stepjudge.cli.money import Usd
from stepjudge.cli.service import asks_service
from stepjudge.client import JudgeClient, ScoreOptions
from stepjudge.contract import Estimate, Scorecard
from stepjudge.formats import read_file
from stepjudge.grouping import Grouping
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file
from stepjudge.trace import Trace

MAX_COST_USD = 1.0
"""What one command may spend when nothing is said."""


@click.command()
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--rubric", default="step", show_default=True, help="NAME, NAME@VERSION or a rubric FILE.yaml.")
@click.option("--judge", envvar="STEPJUDGE_JUDGE", help="rules, or a model such as openai/gpt-5.2. [default: rules]")
@click.option("--api-base", help="Address of an OpenAI-compatible server that runs the model.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key for --api-base.")
@click.option("--temperature", type=float, help="Sampling temperature of the model. [default: 0]")
@click.option("--seed", type=int, help="Sampling seed of the model.")
@click.option("--steps", metavar="RANGE", help="Steps to score, such as 1-5 or 3,7-. [default: all]")
@click.option("--group", type=click.Choice(["none", "consecutive-reads"]), default="none", show_default=True)
@click.option("--format", "trace_format", metavar="NAME", help="Format of the traces. [default: detected]")
@click.option(
    "--max-cost",
    type=Usd(),
    envvar="STEPJUDGE_MAX_COST_USD",
    default=MAX_COST_USD,
    show_default=True,
    help="Stop asking at this many USD.",
)
@click.option("--fresh", is_flag=True, help="Ask again even where a verdict is remembered.")
@click.option("--dry-run", is_flag=True, help="Count steps, calls, tokens and money; spend nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Score in bulk: append a line of JSON for each trace to this file; what stands there is not scored again.",
)
@click.option(
    "--batch",
    is_flag=True,
    help="Ask in the provider's batches, at half the price: sends what is open and collects what has been answered. "
    "Exits with 75 while answers are missing; the same command again goes on.",
)
@click.option(
    "--ray",
    is_flag=True,
    help="Score on the Ray cluster that RAY_ADDRESS names, --jobs traces at once on each worker. Needs stepjudge[ray].",
)
@click.option("--jobs", type=click.IntRange(min=1), default=8, show_default=True, help="Traces at once, with --output.")
@asks_service
def score(
    traces: tuple[Path, ...],
    rubric: str,
    judge: str | None,
    api_base: str | None,
    api_key_env: str | None,
    temperature: float | None,
    seed: int | None,
    steps: str | None,
    group: Grouping,
    trace_format: str | None,
    max_cost: float,
    fresh: bool,
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    batch: bool,
    ray: bool,
    jobs: int,
    client: Callable[..., JudgeClient],
    embedded: bool,
) -> None:
    """Score the steps of TRACES: files, folders that hold a trace, or - for standard input.

    Without --judge, the offline rules answer what can be known without a model.
    """
    settings = judge_settings(embedded, api_base, api_key_env, temperature, seed)
    options: ScoreOptions = {"rubric": rubric_of(rubric), "steps": steps, "group": group, "fresh": fresh}
    if judge is not None:
        options["judge"] = judge
    if batch:
        if fresh or output is None:
            raise click.UsageError("--batch: needs --output FILE, and goes without --fresh")
        options["batch"] = True
    if ray and (batch or output is None):
        raise click.UsageError("--ray: needs --output FILE, and goes without --batch")
    if dry_run:
        with client(**settings) as service:
            estimates = [service.estimate(trace, **options) for trace in traces_of(traces, trace_format)]
        _print_estimates(estimates, as_json)
        return
    if output is not None:
        from stepjudge.cli.bulk import score_in_bulk

        asked = client(**settings).asynchronous
        files = [file for path in traces for file in _files(path)]
        if ray:
            from stepjudge.cli.ray_bulk import score_on_ray

            score_on_ray(
                asked,
                files,
                output,
                options,
                trace_format=trace_format,
                jobs=jobs,
                max_cost_usd=max_cost,
                embedded=embedded,
            )
            return
        score_in_bulk(asked, files, output, options, trace_format=trace_format, jobs=jobs, max_cost_usd=max_cost)
        return
    cards: list[Scorecard] = []
    try:
        with client(**settings) as service:
            for card in _scored(service, traces, trace_format, options, max_cost, as_json):
                cards.append(card)
                if not as_json:
                    _print_card(card)
    except KeyboardInterrupt:
        click.echo("stepjudge: stopped. What was answered is remembered: the same command goes on there", err=True)
        sys.exit(130)
    if as_json:
        documents = [card.model_dump(mode="json") for card in cards]
        _print_json(documents[0] if len(documents) == 1 else {"scorecards": documents})


def judge_settings(
    embedded: bool, api_base: str | None, api_key_env: str | None, temperature: float | None, seed: int | None
) -> dict[str, Any]:
    """Settings of the embedded service. A remote one has its own, which no caller can change."""
    import os

    chosen = {"api_base": api_base, "temperature": temperature, "seed": seed}
    settings: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    if api_key_env:
        if api_key_env not in os.environ:
            raise click.UsageError(f"--api-key-env: there is no environment variable {api_key_env!r}")
        settings["api_key"] = os.environ[api_key_env]
    if settings and not embedded:
        names = ", ".join(sorted(settings))
        raise click.UsageError(f"{names}: only for the embedded service; the one at --url has judges of its own")
    return settings if not embedded else {"max_cost_usd": None, **settings}


def rubric_of(reference: str) -> str | Rubric:
    """A file when it looks like one: a name has neither a dot before its version nor a slash."""
    path = Path(reference)
    return read_rubric_file(path) if path.suffix in (".yaml", ".yml") or path.is_file() else reference


def traces_of(paths: tuple[Path, ...], trace_format: str | None) -> Iterator[Trace]:
    """The traces of these files and folders, one after the other."""
    for path in paths:
        for file in _files(path):
            yield from read_file(file, format=trace_format)


def _files(path: Path) -> list[Path]:
    """A folder stands for the `trace.*` in it, so that a trace can lie beside its environment."""
    if not path.is_dir():
        return [path]
    named = sorted(file for file in path.glob("trace.*") if file.is_file())
    return named or [path]


def _scored(
    service: JudgeClient,
    paths: tuple[Path, ...],
    trace_format: str | None,
    options: ScoreOptions,
    max_cost: float,
    as_json: bool,
) -> Iterator[Scorecard]:
    """One scorecard per trace. Traces read before a broken one have been scored and remembered."""
    from stepjudge.cli.progress import Progress

    spent = 0.0
    with Progress(quiet=as_json) as progress:
        for trace in traces_of(paths, trace_format):
            left = max(0.0, max_cost - spent)
            progress.start(trace)
            limited: ScoreOptions = {**options, "max_cost_usd": left}
            card = service.score(trace, on_step=progress.step, **limited)
            spent += card.cost_usd or 0.0
            yield card


def _print_card(card: Scorecard) -> None:
    from stepjudge.cli.table import print_card

    print_card(card)


def _print_estimates(estimates: list[Estimate], as_json: bool) -> None:
    total: dict[str, Any] = {
        "traces": len(estimates),
        **{
            name: sum(getattr(estimate, name) for estimate in estimates)
            for name in (
                "steps",
                "calls",
                "cached_steps",
                "settled_steps",
                "requests",
                "most_requests",
                "prompt_tokens",
                "completion_tokens",
            )
        },
        "cost_usd": _sum([estimate.cost_usd for estimate in estimates]),
        "most_cost_usd": _sum([estimate.most_cost_usd for estimate in estimates]),
        "notes": [*dict.fromkeys(estimate.note for estimate in estimates if estimate.note)],
    }
    if as_json:
        _print_json(total)
        return
    from stepjudge.cli.table import print_estimate

    print_estimate(total)


def _sum(costs: list[float | None]) -> float | None:
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _print_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=True, indent=2) + "\n")

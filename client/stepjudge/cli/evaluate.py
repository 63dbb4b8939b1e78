"""`stepjudge evaluate`: run or re-score the trials of a suite, and leave a bundle."""

import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import click

from stepjudge.cli.money import Usd
from stepjudge.client import AsyncJudgeClient
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file

MAX_COST_USD = 1.0
"""What one evaluation may spend on judges when nothing is said."""


@click.command()
@click.argument("suite", type=click.Path(path_type=Path))
@click.argument("more", nargs=-1, metavar="[MORE_TRIALS]...")
@click.option("--trials", multiple=True, metavar="PATH", help="Trials that exist. May be given again.")
@click.option("--allow-outside", is_flag=True, help="Let trials name files outside of their own folder.")
@click.option("--target", metavar="FILE|MODULE:FUNCTION", help="What is to attempt the tasks.")
@click.option("--passes", type=click.IntRange(1, 1000), default=1, show_default=True, help="Attempts at each task.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Limit of an attempt.")
@click.option("--jobs", type=click.IntRange(1, 256), default=4, show_default=True, help="Trials at once.")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="The bundle.")
@click.option("--overwrite", is_flag=True, help="Replace whatever is in the folder of --output.")
@click.option("--judge", envvar="STEPJUDGE_JUDGE", help="rules, or a model such as openai/gpt-5.2. [default: rules]")
@click.option("--no-judge", is_flag=True, help="Run the checks only.")
@click.option("--rubric", metavar="RUBRIC", help="NAME, NAME@VERSION or FILE.yaml, instead of the tasks' own.")
@click.option("--api-base", help="Address of an OpenAI-compatible server that runs the judge's model.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key for --api-base.")
@click.option("--temperature", type=float, help="Sampling temperature of the judge's model. [default: 0]")
@click.option("--seed", type=int, help="Sampling seed of the judge's model.")
@click.option("--bootstrap-seed", type=int, default=0, show_default=True, help="Seed of the intervals.")
@click.option(
    "--max-cost",
    type=Usd(),
    envvar="STEPJUDGE_MAX_COST_USD",
    default=MAX_COST_USD,
    show_default=True,
    help="Stop asking at this many USD.",
)
@click.option("--fresh", is_flag=True, help="Ask again even where a verdict is remembered.")
@click.option("--format", "trace_format", metavar="NAME", help="Format of the traces. [default: detected]")
@click.option("--allow-host", multiple=True, metavar="HOST", help="A host that checks may reach, NAME or NAME:PORT.")
@click.option("--url", envvar="STEPJUDGE_URL", help="Ask the service at this address instead of an embedded one.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Of the embedded service.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def evaluate(suite: Path, more: tuple[str, ...], trials: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Evaluate the tasks of SUITE, a folder or a YAML file.

    --trials takes a folder of TASK/N/trace.*, a trials.jsonl, TASK=TRACE, or a bundle. --target takes a target file
    (a model endpoint or an agent behind HTTP), or MODULE:FUNCTION, an async function, which is imported.
    """
    sources = (*trials, *(more if trials else ()))
    if bool(sources) == bool(options["target"]) or (more and not trials):
        raise click.UsageError("say what is to be scored: --trials PATH, or --target FILE or MODULE:FUNCTION")
    try:
        anyio.run(_evaluate, suite, sources, as_json, options)
    except KeyboardInterrupt:
        output = options["output"]
        click.echo(f"stepjudge: stopped. What was scored is kept in {output}: the same command goes on there", err=True)
        sys.exit(130)


async def _evaluate(path: Path, sources: tuple[str, ...], as_json: bool, options: dict[str, Any]) -> None:
    from stepjudge.cli.evaluate_progress import TrialsProgress
    from stepjudge.suite_file import read_suite, suite_folder
    from stepjudge.suite_run import Passes, Run, Stored, judged_by
    from stepjudge.targets.target_file import opened_target

    suite = read_suite(path)
    async with AsyncExitStack() as stack:
        what: Passes | Stored = Stored(sources, options["trace_format"], options["allow_outside"])
        if options["target"]:
            target = await stack.enter_async_context(opened_target(options["target"]))
            what = Passes(target, options["passes"], options["timeout"])
        judging = None
        if not options["no_judge"]:
            rubric = _rubric(options["rubric"])
            judging = await stack.enter_async_context(
                judged_by(
                    _client(options),
                    suite,
                    judge=options["judge"] if options["url"] else None,
                    rubric=rubric,
                    max_cost_usd=options["max_cost"],
                    fresh=options["fresh"],
                )
            )
        progress = stack.enter_context(TrialsProgress(quiet=as_json))
        bundle = await Run(
            suite=suite,
            folder=suite_folder(path),
            trials=what,
            output=options["output"],
            judging=judging,
            jobs=options["jobs"],
            seed=options["bootstrap_seed"],
            hosts=frozenset(options["allow_host"]),
            overwrite=options["overwrite"],
            on_start=progress.start,
            on_scored=progress.scored,
        ).run()
    from stepjudge.cli.bundle_page import print_bundle

    print_bundle(bundle, as_json=as_json)


def _client(options: dict[str, Any]) -> AsyncJudgeClient:
    names = ("api_base", "temperature", "seed")
    settings: dict[str, Any] = {name: options[name] for name in names if options[name] is not None}
    if (variable := options["api_key_env"]) is not None:
        if variable not in os.environ:
            raise click.UsageError(f"--api-key-env: there is no environment variable {variable!r}")
        settings["api_key"] = os.environ[variable]
    if options["url"]:
        if settings:
            named = ", ".join(sorted(settings))
            raise click.UsageError(f"{named}: only for the embedded service; the one at --url has judges of its own")
        return AsyncJudgeClient(options["url"], api_key=os.environ.get("STEPJUDGE_CLIENT_KEY"))
    chosen = {name: options[name] for name in ("judge", "data_dir") if options[name] is not None}
    return AsyncJudgeClient.embedded(max_cost_usd=None, **chosen, **settings)


def _rubric(reference: str | None) -> str | Rubric | None:
    """A file when it looks like one, as `stepjudge score` takes it."""
    if reference is None:
        return None
    path = Path(reference)
    return read_rubric_file(path) if path.suffix in (".yaml", ".yml") or path.is_file() else reference

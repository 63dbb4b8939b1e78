"""`stepjudge check`: run the checks of one task on an environment, without a judge."""

import json
import sys
from pathlib import Path

import anyio
import click

from stepjudge.checks import CheckResult, Scene, read_check, run_checks
from stepjudge.task import Task


@click.command()
@click.argument("suite", type=click.Path(path_type=Path))
@click.argument("task")
@click.option("--environment", type=click.Path(path_type=Path, file_okay=False, exists=True), help="The final state.")
@click.option("--trace", "trace_path", type=click.Path(path_type=Path), help="The trace of the attempt.")
@click.option("--output", "output_path", type=click.Path(path_type=Path), help="A file that holds the final output.")
@click.option("--format", "trace_format", metavar="NAME", help="Format of the trace. [default: detected]")
@click.option("--allow-host", multiple=True, metavar="HOST", help="A host that checks may reach, NAME or NAME:PORT.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def check(
    suite: Path,
    task: str,
    environment: Path | None,
    trace_path: Path | None,
    output_path: Path | None,
    trace_format: str | None,
    allow_host: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run the checks of TASK, a task of SUITE. Exits with 0 when all pass, 1 when one fails, 3 when one cannot run."""
    from stepjudge.suite_file import read_suite, suite_folder
    from stepjudge.trial_files import FoundTrial, TrialFile, read_trial

    found = read_suite(suite)
    if task not in found.by_id:
        raise click.UsageError(f"the suite has no task {task!r}; its tasks are {', '.join(found.by_id)}")
    file = TrialFile(
        trace=str(trace_path.absolute()) if trace_path else None,
        format=trace_format,
        output=str(output_path.absolute()) if output_path else None,
        environment=str(environment.absolute()) if environment else None,
    )
    trial = read_trial(FoundTrial(id=task, task_id=task, trial=1, folder=".", file=file))
    if trial.error is not None:
        raise click.ClickException(trial.error.message)
    scene = Scene(
        root=environment.absolute() if environment else None,
        final_output=trial.output_text,
        trace=trial.trace,
        reference=found.by_id[task].reference,
        folder=suite_folder(suite),
        hosts=frozenset(allow_host),
    )
    results = anyio.run(_results, found.by_id[task], scene)
    _print(results, as_json=as_json)
    outcomes = {result.outcome for result in results}
    sys.exit(1 if "fail" in outcomes else 3 if "error" in outcomes else 0)


async def _results(task: Task, scene: Scene) -> tuple[CheckResult, ...]:
    return await run_checks([read_check(document) for document in task.checks], scene)


def _print(results: tuple[CheckResult, ...], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(
            json.dumps({"checks": [result.model_dump(mode="json") for result in results]}, indent=2) + "\n"
        )
        return
    for result in results:
        click.echo(f"{result.outcome:5}  {result.name}: {result.reason}")
        for seen in result.evidence if result.outcome != "pass" else ():
            click.echo("\n".join(f"       {line}" for line in (seen.place, *seen.text.splitlines()[:20])))

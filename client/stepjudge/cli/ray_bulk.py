"""`stepjudge score --output FILE --ray`: bulk scoring by the workers of a Ray cluster."""
# pyright: basic, reportMissingImports=false

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from stepjudge.bulk import Tally
from stepjudge.cli.bulk import BulkProgress, about, sum_up
from stepjudge.client import AsyncJudgeClient, ScoreOptions

SHARED = ("STEPJUDGE_LEDGER_URL", "STEPJUDGE_CACHE_URL")


def score_on_ray(
    client: AsyncJudgeClient,
    files: Sequence[Path],
    output: Path,
    options: ScoreOptions,
    *,
    trace_format: str | None,
    jobs: int,
    max_cost_usd: float,
    embedded: bool,
) -> None:
    """Score into the file and sum up on standard error. Exits with 1 when a trace has no scorecard."""
    try:
        import ray
    except ModuleNotFoundError:
        raise click.UsageError("--ray needs more packages: pip install 'stepjudge[ray]'") from None
    missing = [name for name in SHARED if embedded and not os.environ.get(name)]
    if missing and os.environ.get("RAY_ADDRESS"):
        raise click.UsageError(f"--ray: set {' and '.join(missing)}, or --url: the workers share nothing else")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(log_to_driver=False, include_dashboard=False if not os.environ.get("RAY_ADDRESS") else None)
    absolute = [file.absolute() for file in files]
    try:
        tally = _scored(client, absolute, output, options, trace_format, jobs, max_cost_usd)
    finally:
        ray.shutdown()
    sum_up(tally, output)
    if tally.failed:
        sys.exit(1)


def _scored(
    client: AsyncJudgeClient,
    files: Sequence[Path],
    output: Path,
    options: ScoreOptions,
    trace_format: str | None,
    jobs: int,
    max_cost_usd: float,
) -> Tally:
    from stepjudge.ray_bulk import RayBulk

    with BulkProgress(about(files), quiet=False) as progress:
        return RayBulk(client, files, output, options, trace_format, jobs, max_cost_usd, progress.show).run()

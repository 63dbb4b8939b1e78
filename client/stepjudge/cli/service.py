"""Which service a command asks: the one at `--url`, or an embedded one in this process."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from stepjudge.client import JudgeClient

P = ParamSpec("P")
R = TypeVar("R")


def asks_service(command: Callable[..., R]) -> Callable[..., R]:
    """Adds `--url` and `--data-dir`, and hands the command a `client` factory that takes further settings."""

    @click.option("--url", envvar="STEPJUDGE_URL", help="Ask the service at this address instead of an embedded one.")
    @click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the embedded service's cache and ledger.",
    )
    @functools.wraps(command)
    def wrapped(url: str | None, data_dir: Path | None, **arguments: Any) -> R:
        def client(**settings: Any) -> JudgeClient:
            if url:
                return JudgeClient(url, api_key=os.environ.get("STEPJUDGE_CLIENT_KEY"))
            return JudgeClient.embedded(**({"data_dir": data_dir} if data_dir else {}), **settings)

        return command(client=client, embedded=not url, **arguments)

    return wrapped

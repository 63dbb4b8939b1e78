"""`stepjudge convert`: write traces in another format."""

import json
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import click
from pydantic import JsonValue

from stepjudge.formats import read_file
from stepjudge.formats.to_atif import to_atif
from stepjudge.trace import Trace
from stepjudge.whole import replacing

_WRITERS: dict[str, Callable[[Trace], JsonValue]] = {
    "stepjudge": lambda trace: trace.model_dump(mode="json", exclude_defaults=True),
    "atif": to_atif,
}


@click.command()
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--to", "target", type=click.Choice(list(_WRITERS)), default="stepjudge", show_default=True)
@click.option("--format", "trace_format", metavar="NAME", help="Format of the source. [default: detected]")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="[default: standard output]")
def convert(source: Path, target: str, trace_format: str | None, output: Path | None) -> None:
    """Write the traces of SOURCE, a file, a folder or - for standard input, as JSON, one per line."""
    if output is None:
        _write(source, target, trace_format, sys.stdout)
        return
    with replacing(output) as binary:
        file = TextIOWrapper(binary, encoding="utf-8", write_through=True)
        _write(source, target, trace_format, file)
        file.detach()


def _write(source: Path, target: str, trace_format: str | None, file: TextIO) -> None:
    for trace in read_file(source, format=trace_format):
        file.write(json.dumps(_WRITERS[target](trace), ensure_ascii=True) + "\n")

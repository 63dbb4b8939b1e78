"""`stepjudge trace`: look at traces."""

import json
import sys
from pathlib import Path

import click

from stepjudge.formats import formats, read_file


@click.group()
def trace() -> None:
    """Look at traces."""


@trace.command()
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", "trace_format", metavar="NAME", help="Format of the source. [default: detected]")
@click.option("--lines", type=click.IntRange(min=1), default=8, show_default=True, help="Lines shown of each text.")
@click.option("--json", "as_json", is_flag=True, help="Print the canonical trace, one JSON document per line.")
def show(source: Path, trace_format: str | None, lines: int, as_json: bool) -> None:
    """Print the traces of SOURCE, a file, a folder or - for standard input, for a person to read."""
    for each in read_file(source, format=trace_format):
        if as_json:
            sys.stdout.write(json.dumps(each.model_dump(mode="json", exclude_defaults=True)) + "\n")
        else:
            from stepjudge.cli.trace_page import print_trace

            print_trace(each, lines=lines)


@trace.command("formats")
def list_formats() -> None:
    """List the formats that are read."""
    for each in formats():
        click.echo(f"{each.name:24} {each.title}")

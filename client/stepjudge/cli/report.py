"""`stepjudge report`: write the report of a bundle anew."""

from pathlib import Path

import click


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path, exists=True, file_okay=False))
def report(bundle: Path) -> None:
    """Write report.html into BUNDLE, a folder that `stepjudge evaluate` left, and print where it is."""
    from stepjudge.suite_run import write_dashboard

    write_dashboard(bundle)
    click.echo(bundle / "report.html")

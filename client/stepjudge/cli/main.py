"""`stepjudge`: subcommands are imported when they run, so that `--help` is quick."""

import importlib
import sys

import click

_COMMANDS = {
    "score": ("stepjudge.cli.score", "Score the steps of traces."),
    "evaluate": ("stepjudge.cli.evaluate", "Score the trials of a suite: checks, steps, views, a report."),
    "check": ("stepjudge.cli.check", "Run a task's checks on an environment."),
    "compare": ("stepjudge.cli.compare", "Set a second run beside a first one."),
    "report": ("stepjudge.cli.report", "Write the report of a run anew."),
    "serve": ("stepjudge.cli.serve", "Run the judge service."),
    "config": ("stepjudge.cli.config", "Show the effective settings of the service."),
    "key": ("stepjudge.cli.key", "Make an API key for the service."),
    "rubric": ("stepjudge.cli.rubric", "List, show, validate, compare, test and improve rubrics."),
    "label": ("stepjudge.cli.label", "Answer a rubric's questions yourself, and see how far judges agree."),
    "calibrate": ("stepjudge.cli.calibrate", "Correct a rate by labels, or put a probability beside each verdict."),
    "ledger": ("stepjudge.cli.ledger", "Keep the permanent record: export, back up, remove what is old."),
    "audit": ("stepjudge.cli.audit", "Look into verdicts, and into the judges that gave them."),
    "trace": ("stepjudge.cli.trace", "Look at traces."),
    "convert": ("stepjudge.cli.convert", "Write a trace in another format."),
}


class _Lazy(click.Group):
    """Knows its subcommands by name and one line each; imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        return getattr(module, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stepjudge", prog_name="stepjudge")
def stepjudge() -> None:
    """Scores every step of an agent trace with versioned rubrics."""


def main() -> None:
    """Run the command; an error that was to be expected is one line, not a traceback."""
    try:
        stepjudge()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        from stepjudge.errors import StepjudgeError  # late: with pydantic it takes half of the time that --help does

        if not isinstance(error, StepjudgeError):
            raise
        click.echo(f"stepjudge: {error}", err=True)
        sys.exit(2)

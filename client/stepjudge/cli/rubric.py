"""`stepjudge rubric` lists, shows, checks and compares rubrics: the shipped ones, those of a folder, and single files."""

import importlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from pydantic import JsonValue

from stepjudge.errors import BadRubric
from stepjudge.rubric import Criterion, Rubric
from stepjudge.rubric_diff import Change, diff
from stepjudge.rubric_file import read_rubric_file, shipped
from stepjudge.rubric_folder import find, published, read_folders
from stepjudge.value import JsonObject

_as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
_folders = click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A further folder of rubrics; may be given several times.",
)

Line = tuple[str, str]
"""Text and the style it is shown in."""


_LATE = {
    "test": (
        "stepjudge.cli.rubric_test",
        "Judge the labelled steps under a rubric: how far can its answers be trusted?",
    ),
    "compare": (
        "stepjudge.cli.rubric_compare",
        "Two rubrics on the same labelled steps, with every answer that flips.",
    ),
    "stale": (
        "stepjudge.cli.rubric_stale",
        "Which stored verdicts a new rubric or judge outdates, and what anew costs.",
    ),
    "optimize": (
        "stepjudge.cli.rubric_optimize",
        "Search better words for the criteria, and test them on unseen labels.",
    ),
}
"""Imported when they run."""


class _Late(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_LATE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _LATE:
            return super().get_command(ctx, cmd_name)
        return getattr(importlib.import_module(_LATE[cmd_name][0]), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = [(name, command.get_short_help_str(100)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*told, *((name, about) for name, (_, about) in _LATE.items())])


@click.group(cls=_Late)
def rubric() -> None:
    """List, show, validate, compare, test and improve rubrics.

    Where a rubric is asked for, give a reference (step, step@1.0.0) or a file (draft.yaml, or any path with a slash).
    """


@rubric.command("list")
@_folders
@_as_json
def list_rubrics(folders: tuple[Path, ...], as_json: bool) -> None:
    """List the rubrics there are."""
    rubrics = _all(folders)
    if as_json:
        _print_json([{**_identity(each), "title": each.title, "criteria": _names(each)} for each in rubrics])
        return
    for each in rubrics:
        _print(
            [
                (each.reference, "bold"),
                (each.title, ""),
                (f"{', '.join(_texts(_names(each)))}\n{each.digest}", "dim"),
                ("", ""),
            ]
        )


@rubric.command()
@click.argument("wanted", metavar="REFERENCE|FILE")
@_folders
@_as_json
def show(wanted: str, folders: tuple[Path, ...], as_json: bool) -> None:
    """Show a rubric as the judge is told it, with its digest."""
    meant = _meant(wanted, folders)
    if as_json:
        _print_json({**_identity(meant), "rubric": meant.model_dump(mode="json")})
    else:
        _print(_shown(meant))


@rubric.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@_as_json
@click.pass_context
def validate(context: click.Context, files: tuple[Path, ...], as_json: bool) -> None:
    """Check rubric files. All faults go to stderr, each with file, line and column; the exit code is then 1."""
    checked = [_checked(file) for file in files]
    if as_json:
        _print_json(checked)
    for entry in checked:
        for fault in _texts(entry["faults"]):
            click.echo(fault, err=True)
        if entry["valid"] and not as_json:
            criteria = len(_texts(entry["criteria"]))
            click.echo(f"{entry['file']}: {entry['reference']} {entry['digest']}, {criteria} criteria")
    if not all(entry["valid"] for entry in checked):
        context.exit(1)


@rubric.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@_folders
@_as_json
def compare(a: str, b: str, folders: tuple[Path, ...], as_json: bool) -> None:
    """Compare two rubrics, criterion by criterion and field by field. Each is a reference or a file."""
    old, new = _meant(a, folders), _meant(b, folders)
    changes = diff(old, new)
    if as_json:
        _print_json({"a": _identity(old), "b": _identity(new), "changes": [c.model_dump(mode="json") for c in changes]})
        return
    heading = f"{old.reference} {old.digest}\n{new.reference} {new.digest}"
    _print([(heading, "bold"), *(line for change in changes for line in _change(change))])
    if not changes:
        _print([("no difference", "")])


def _all(folders: Sequence[Path]) -> tuple[Rubric, ...]:
    try:
        return read_folders([shipped(), *folders], published(shipped()))
    except BadRubric as error:
        raise click.ClickException(str(error)) from error


def _meant(wanted: str, folders: Sequence[Path]) -> Rubric:
    try:
        if os.sep in wanted or "/" in wanted or wanted.endswith((".yaml", ".yml")):
            return read_rubric_file(Path(wanted))
        return find(_all(folders), wanted)
    except (BadRubric, LookupError) as error:
        raise click.ClickException(str(error)) from error


def _checked(file: Path) -> JsonObject:
    try:
        valid = read_rubric_file(file, published=published(shipped()))
    except BadRubric as error:
        return {"file": str(file), "valid": False, "faults": [*str(error).splitlines()]}
    return {"file": str(file), "valid": True, "faults": [], **_identity(valid), "criteria": _names(valid)}


def _identity(rubric: Rubric) -> JsonObject:
    return {"reference": rubric.reference, "name": rubric.name, "version": rubric.version, "digest": rubric.digest}


def _names(rubric: Rubric) -> JsonValue:
    return [criterion.name for criterion in rubric.criteria]


def _shown(rubric: Rubric) -> Iterator[Line]:
    yield f"{rubric.reference}  {rubric.title}".rstrip(), "bold"
    yield f"{rubric.digest}\n", "dim"
    yield rubric.instructions, ""
    for criterion in rubric.criteria:
        yield f"\n{criterion.name}  ({_asked(criterion)})", "bold"
        yield criterion.question, "italic"
        if criterion.definition:
            yield criterion.definition, ""
        for title, items in _lists(criterion):
            yield title, "dim"
            yield from ((f"- {item}", "") for item in items)
    yield "\nscoring", "bold"
    for field, value in rubric.scoring.model_dump(mode="json", exclude_defaults=True).items():
        yield f"{field}: {_text(value)}", ""


def _asked(criterion: Criterion) -> str:
    asked = (
        "asked of the step"
        if criterion.unit == "step"
        else f"asked of each call, the step takes {criterion.step_takes}"
    )
    settings = {
        "needs a call": criterion.needs_call,
        f"implies {', '.join(criterion.implies)}": criterion.implies,
        f"no by fact: {', '.join(criterion.no_by_fact)}": criterion.no_by_fact,
        f"not applicable by fact: {', '.join(criterion.not_applicable_by_fact)}": criterion.not_applicable_by_fact,
        "names the steps it fixes": criterion.names_steps,
    }
    return "; ".join([asked, *(words for words, given in settings.items() if given)])


def _lists(criterion: Criterion) -> Iterator[tuple[str, Sequence[str]]]:
    examples = [f"{case.given} → {case.answer}: {case.because}" for case in criterion.examples]
    titled = {
        "yes when": criterion.yes_when,
        "no when": criterion.no_when,
        "not applicable when": criterion.not_applicable_when,
        "edge cases": criterion.edge_cases,
        "examples": examples,
    }
    return ((title, items) for title, items in titled.items() if items)


def _change(change: Change) -> Iterator[Line]:
    where = " of ".join(filter(None, (change.field, change.criterion))) or "rubric"
    yield f"\n{where}: {change.kind}", "bold"
    before, after = _lines(change.before), _lines(change.after)
    moved = sorted(before) == sorted(after)
    yield from ((f"- {line}", "red") for line in before if moved or line not in after)
    yield from ((f"+ {line}", "green") for line in after if moved or line not in before)


def _lines(value: JsonValue) -> list[str]:
    """A list line by line, a whole criterion field by field, so that only what differs needs to be shown."""
    match value:
        case None:
            return []
        case list():
            return [_text(item) for item in value]
        case dict():
            return [f"{field}: {line}" for field, item in value.items() if item is not False for line in _lines(item)]
        case _:
            return _text(value).splitlines()


def _text(value: JsonValue) -> str:
    match value:
        case list():
            return ", ".join(_text(item) for item in value)
        case dict():
            return ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _texts(value: JsonValue) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _print(lines: Iterator[Line] | Sequence[Line]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for text, style in lines:
        # Lines are left whole where nobody reads them at a terminal, so that they can be searched.
        console.print(Text(text, style=style), soft_wrap=not console.is_terminal)


def _print_json(value: JsonObject | list[JsonObject]) -> None:
    click.echo(json.dumps(value, indent=2))

"""The next version of a rubric is a new file: what was published stays as it is, and nothing is written over."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from stepjudge.errors import BadRubric
from stepjudge.rubric import Rubric, version_order
from stepjudge.rubric_file import read_rubric


def next_version(version: str) -> str:
    """The next one whose answers can be compared, with other readings: the second number, raised."""
    first, second, _ = version_order(version)
    return f"{first}.{second + 1}.0"


def write_version(rubric: Rubric, path: Path, known: Sequence[Rubric], about: Sequence[str]) -> None:
    """Write the rubric to a new file, with comments on where it comes from.

    Raises BadRubric when the file is there already, or one of the known rubrics has that name and version.
    """
    check_free(rubric.reference, path, known)
    text = rubric_text(rubric, about)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadRubric(_there(path)) from None
    except OSError as error:
        raise BadRubric(f"{path}: cannot be written: {error.strerror or error}") from error


def check_free(reference: str, path: Path, known: Sequence[Rubric]) -> None:
    """Raises BadRubric when the file or the version is taken: said before anything is paid."""
    if path.exists():
        raise BadRubric(_there(path))
    if any(each.reference == reference for each in known):
        raise BadRubric(f"{reference} is there already, and versions never change: name the next one with --version")


def rubric_text(rubric: Rubric, about: Sequence[str] = ()) -> str:
    """The rubric as a file, which reads back to the same rubric. Raises BadRubric when it does not."""
    content = rubric.model_dump(mode="json", exclude_defaults=True)
    comments = "".join(f"# {line}\n" for text in about for line in text.splitlines())
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    if read_rubric(body, source=rubric.reference).digest != rubric.digest:
        raise BadRubric(f"{rubric.reference}: its words cannot be written as YAML that reads back the same")
    return comments + body


def _there(path: Path) -> str:
    return f"{path} is there already and is not written over: name another file with --output"

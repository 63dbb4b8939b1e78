"""A rubric file is YAML that spells one rubric. Whatever is wrong with it is reported by line, all of it at once."""

import difflib
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from stepjudge.errors import BadRubric
from stepjudge.rubric import Criterion, Example, Rubric, Scoring, criterion_faults, scoring_faults
from stepjudge.value import Value
from stepjudge.yaml_page import MAX_LENGTH, TOO_LONG, Content, Fault, NoPage, Page, Place, position

V = TypeVar("V", bound=Value)

_MODELS: Mapping[Place, type[Value]] = {
    (): Rubric,
    ("criteria",): Criterion,
    ("criteria", "examples"): Example,
    ("scoring",): Scoring,
}


def shipped() -> Path:
    """The folder of the rubrics that come with stepjudge: inside the wheel, or at the root of a checkout."""
    installed = Path(__file__).parent / "rubrics"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "rubrics"


def read_rubric_file(path: Path, *, published: Mapping[str, str] | None = None) -> Rubric:
    """The rubric in a file. Raises BadRubric as `read_rubric` does, also when the file cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(4 * MAX_LENGTH + 1)
    except OSError as error:
        raise BadRubric(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(raw) > 4 * MAX_LENGTH:
        raise _bad(str(path), [Fault(1, 1, TOO_LONG)])
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        fault = Fault(*position(before, len(before)), f"byte 0x{raw[error.start]:02x} is not UTF-8: save it as UTF-8")
        raise _bad(str(path), [fault]) from error
    return read_rubric(text, source=str(path), published=published)


def read_rubric(text: str, *, source: str = "rubric", published: Mapping[str, str] | None = None) -> Rubric:
    """The rubric that a YAML text spells.

    Raises BadRubric with one line `source:line:column: what is wrong: how to mend it` for each fault, in their order.
    `published` maps `name@version` to digests: a rubric that claims such a name with another digest is refused.
    """
    try:
        page = Page(text)
    except NoPage as error:
        raise _bad(source, [error.fault]) from error
    if faults := [*page.faults, *_misfits(page), *_incoherences(page)]:
        raise _bad(source, faults)
    rubric = Rubric.model_validate(page.content, strict=True)
    if (published or {}).get(rubric.reference, rubric.digest) != rubric.digest:
        fault = f"{rubric.reference} is published with other content and never changes: raise the version"
        raise _bad(source, [page.fault(("version",), fault)])
    return rubric


def _bad(source: str, faults: Iterable[Fault]) -> BadRubric:
    return BadRubric("\n".join(f"{source}:{line}:{column}: {text}" for line, column, text in sorted(set(faults))))


def _misfits(page: Page) -> Iterator[Fault]:
    """What does not fit the fields of a rubric."""
    try:
        Rubric.model_validate(page.content, strict=True)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            if detail["type"] != "value_error":  # an incoherence: the model stops at the first, we want them all
                yield page.fault(detail["loc"], _told(detail), key=detail["type"] == "extra_forbidden")


def _incoherences(page: Page) -> Iterator[Fault]:
    """Criteria that stand twice, settings that exclude each other, names of criteria that do not exist."""
    written = page.content.get("criteria")
    criteria = [item if isinstance(item, dict) else {} for item in written] if isinstance(written, tuple) else []
    names = {i: name for i, item in enumerate(criteria) if isinstance(name := item.get("name"), str)}
    # A name that is missing is a misfit already. What refers to it cannot be told from what refers to nothing.
    all_named = len(names) == len(criteria) > 0
    lines: dict[str, int] = {}
    for index, name in names.items():
        place = ("criteria", index)
        if name in lines:
            text = f"criterion {name!r} stands twice, first on line {lines[name]}: keep one"
            yield page.fault((*place, "name"), text)
        lines.setdefault(name, page.line((*place, "name")))
        if valid := _valid(Criterion, criteria[index]):
            for field, fault in criterion_faults(valid, list(names.values())):
                if all_named or field != "implies":
                    yield page.fault((*place, field), f"criterion {name!r} {fault}", key=True)
    if all_named and (scoring := _valid(Scoring, page.content.get("scoring"))):
        for field, fault in scoring_faults(scoring, list(names.values())):
            yield page.fault(("scoring", field), fault, key=True)


def _valid(model: type[V], content: Content) -> V | None:
    try:
        return model.model_validate(content, strict=True)
    except ValidationError:
        return None


def _told(detail: ErrorDetails) -> str:
    """One of pydantic's complaints in words for the author of a rubric."""
    *parents, last = detail["loc"]
    what = f"item {last + 1} of {parents[-1]!r}" if isinstance(last, int) else repr(last)
    said = "empty" if detail["input"] is None else reprlib.repr(detail["input"])
    match detail["type"]:
        case "missing":
            return f"the {_noun(parents)} has no {what}: add it"
        case "extra_forbidden":
            return f"unknown key {what}: {_known(str(last), parents)}"
        case "literal_error":
            return f"{what} is {said}: write {detail.get('ctx', {}).get('expected')}"
        case "string_pattern_mismatch":
            shape = "three numbers, such as 1.0.0" if last == "version" else "a lower-case word, such as step"
            return f"{what} is {said}: write {shape}"
        case "string_type":
            hint = "give it a text" if detail["input"] is None else "put the text in quotes"
            return f"{what} must be text and is {said}: {hint}"
        case "bool_type":
            return f"{what} must be true or false and is {said}: write true or false, without quotes"
        case "tuple_type":
            return f"{what} must be a list and is {said}: write '- ' before each item"
        case "model_type" | "model_attributes_type":
            return f"{what} must be a mapping and is {said}: write lines of 'key: value'"
        case "too_short":
            return f"{what} has no item: give it at least one"
        case _:
            return f"{what} is {said}: {detail['msg']}"


def _model(parents: Sequence[int | str]) -> type[Value]:
    return _MODELS[tuple(part for part in parents if isinstance(part, str))]


def _noun(parents: Sequence[int | str]) -> str:
    return _model(parents).__name__.lower()


def _known(key: str, parents: Sequence[int | str]) -> str:
    fields = list(_model(parents).model_fields)
    close = difflib.get_close_matches(key[:40], fields, n=1)
    return f"did you mean {close[0]!r}?" if close else f"the {_noun(parents)} takes {', '.join(fields)}"

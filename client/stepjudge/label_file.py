"""A label file holds labels as JSON Lines or as CSV; either reads back to the same labels."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue, ValidationError

from stepjudge.errors import StepjudgeError
from stepjudge.label import Label
from stepjudge.value import JsonObject

MAX_BYTES = 256 * 2**20

_SAMPLING = ("design", "probability", "population", "seed")
COLUMNS = (
    *(name for name in Label.model_fields if name != "sampling"),
    *(f"sampling_{name}" for name in _SAMPLING),
)
_NUMBERS = {"step", "call", "score", "sampling_probability", "sampling_population", "sampling_seed"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""What a spreadsheet may take for a formula at the start of a text. Such a text is written with an apostrophe before."""


class BadLabelFile(StepjudgeError):
    """The file holds no labels: where, and how to mend it."""


def to_jsonl(labels: Iterable[Label]) -> Iterator[str]:
    """One line per label, with its line end."""
    for label in labels:
        yield json.dumps(label.model_dump(mode="json", exclude_defaults=True)) + "\n"


def to_csv(labels: Iterable[Label]) -> Iterator[str]:
    """The line of headings, then one row per label."""
    yield _row(COLUMNS)
    for label in labels:
        fields = label.model_dump(mode="json")
        sampling = fields.pop("sampling")
        fields["adjudicates"] = " ".join(label.adjudicates)
        fields.update({f"sampling_{name}": sampling[name] for name in _SAMPLING})
        yield _row([_cell(name, fields[name]) for name in COLUMNS])


def read_labels(path: Path) -> Iterator[Label]:
    """The labels of a file: CSV when its name ends in `.csv`, else JSON Lines. Raises BadLabelFile."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise BadLabelFile(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadLabelFile(f"{path}: the text is not UTF-8: save it as UTF-8") from None
    if len(raw) > MAX_BYTES:
        raise BadLabelFile(f"{path}: longer than {MAX_BYTES:,} bytes: split it")
    rows = _csv_rows(text, path) if path.suffix.lower() == ".csv" else _jsonl_rows(text, path)
    for number, fields in rows:
        try:
            yield Label.model_validate_json(json.dumps(fields))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = "/".join(map(str, first["loc"]))
            raise BadLabelFile(f"{path}, line {number}: {f'{place}: ' if place else ''}{first['msg']}") from None


def _jsonl_rows(text: str, path: Path) -> Iterator[tuple[int, JsonObject]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            fields: JsonValue = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadLabelFile(f"{path}, line {number}: no JSON: {error}") from None
        if not isinstance(fields, dict):
            raise BadLabelFile(f"{path}, line {number}: not a JSON object")
        yield number, fields


def _csv_rows(text: str, path: Path) -> Iterator[tuple[int, JsonObject]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        headings = reader.fieldnames or ()
        if unknown := [name for name in headings if name not in COLUMNS]:
            raise BadLabelFile(f"{path}, line 1: no column is called {unknown[0]!r}: there are {', '.join(COLUMNS)}")
        for row in reader:
            if None in row or None in row.values():
                raise BadLabelFile(f"{path}, line {reader.line_num}: not as many cells as there are headings")
            yield reader.line_num, _fields(row, f"{path}, line {reader.line_num}")
    except csv.Error as error:
        raise BadLabelFile(f"{path}, line {reader.line_num}: {error}") from None


def _fields(row: dict[str, str], where: str) -> JsonObject:
    """A row's cells as the fields of a label. An empty cell is one that is not given."""
    fields: JsonObject = {}
    sampling: JsonObject = {}
    for name, cell in row.items():
        if cell == "":
            continue
        value = _value(name, cell, where)
        if name.startswith("sampling_"):
            sampling[name.removeprefix("sampling_")] = value
        else:
            fields[name] = value
    return {**fields, "sampling": sampling}


def _value(name: str, cell: str, where: str) -> JsonValue:
    text = cell.removeprefix("'") if name not in _NUMBERS else cell
    if name == "adjudicates":
        return list[JsonValue](text.split())
    if name == "blind":
        if text.lower() not in ("true", "false"):
            raise BadLabelFile(f"{where}: blind is {text[:40]!r}: write true or false")
        return text.lower() == "true"
    if name in _NUMBERS:
        try:
            return float(text) if name == "sampling_probability" else int(text)
        except ValueError:
            raise BadLabelFile(f"{where}: {name} is {text[:40]!r}: write a number") from None
    return text


def _cell(name: str, value: JsonValue) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return f"'{text}" if name not in _NUMBERS and text.startswith(_FORMULA) else text


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()

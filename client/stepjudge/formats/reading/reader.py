"""A reader turns a file, bytes or a parsed document into traces: it finds the format and passes each document to it."""

import io
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.cleaning import clean
from stepjudge.formats.reading.detection import choose
from stepjudge.formats.reading.format import Format, Origin
from stepjudge.formats.reading.limits import MAX_DOCUMENT_BYTES
from stepjudge.formats.reading.records import Record, Records, records_in, records_of
from stepjudge.formats.reading.registry import formats, named
from stepjudge.formats.reading.source import SPLIT, Source
from stepjudge.formats.reading.tree import Tree, archive, beside, folder
from stepjudge.trace import Trace

_PEEKED_RECORDS = 64
_PEEKED_BYTES = 4 * 2**20
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".gz", ".traj")


Skip = Callable[[UnreadableTrace], None]
"""Told of a record that is no trace we can read; the records after it are read on."""


def read_file(path: Path | str, *, format: str | None = None, skip: Skip | None = None) -> Iterator[Trace]:
    """The traces in a file, `-` for standard input, or a folder where a format stores a run as one.

    Raises UnreadableTrace at the first record that cannot be read. With `skip`, it is told instead, and what comes after
    that record is read; what spoils the file as a whole (no such file, a broken archive, a list cut in the middle) still
    raises.
    """
    if str(path) == "-":
        yield from _stream(sys.stdin.buffer, Origin("standard input"), format, skip, seekable=False)
        return
    path = Path(path)
    try:
        if path.is_dir():
            yield from _tree(folder(path), format, skip, is_folder=True)
            return
        stream = path.open("rb")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableTrace(f"{path}: cannot be opened: {reason}: check the path") from None
    with stream:
        yield from _stream(stream, Origin(str(path), beside(path)), format, skip, seekable=stream.seekable())


def read_bytes(data: bytes, *, format: str | None = None, name: str = "document") -> Iterator[Trace]:
    """The traces in the content of a file."""
    return _stream(io.BytesIO(data), Origin(name), format, None, seekable=True)


def read_document(document: object, *, format: str | None = None) -> Iterator[Trace]:
    """The traces in parsed JSON."""
    try:
        parsed = clean(document)
    except UnreadableTrace as error:
        raise UnreadableTrace(f"document: {error}") from None
    yield from _records(records_of(parsed, "document"), Origin(), format, None)


def _stream(
    stream: IO[bytes], origin: Origin, name: str | None, skip: Skip | None, *, seekable: bool
) -> Iterator[Trace]:
    start = stream.tell() if seekable else 0
    source = Source(stream, origin.name)
    if not source.is_zip:
        yield from _records(records_in(source, skip), origin, name, skip)
        return
    if seekable:
        stream.seek(start)
        yield from _tree(archive(stream, origin.name), name, skip, is_folder=False)
    else:
        yield from _tree(archive(io.BytesIO(source.rest()), origin.name), name, skip, is_folder=False)


def _tree(tree: Tree, name: str | None, skip: Skip | None, *, is_folder: bool) -> Iterator[Trace]:
    found = _unpacked(tree, name)
    if found is not None:
        format, documents = found
        for document in documents:
            yield from _read(format, Record(document, tree.name), Origin(tree.name), skip)
        return
    files = [each for each in tree.names if each.endswith(_SUFFIXES)]
    if is_folder or not files:
        raise UnreadableTrace(_no_run(tree, files))
    for each in files:
        with tree.open(each) as source:
            yield from _records(records_in(source, skip), Origin(source.name), name, skip)


def _unpacked(tree: Tree, name: str | None) -> tuple[Format, Iterator[JsonValue]] | None:
    found: list[tuple[Format, Iterator[JsonValue]]] = []
    for each in (named(name),) if name is not None else formats():
        documents = each.unpack(tree) if each.unpack is not None else None
        if documents is not None:
            found.append((each, documents))
    if len(found) > 1:
        names = " and ".join(format.name for format, _ in found)
        raise UnreadableTrace(f"{tree.name}: fits {names} equally well: name the right one with --format")
    return found[0] if found else None


def _no_run(tree: Tree, files: list[str]) -> str:
    if not tree.names:
        return f"{tree.name}: holds no files: expected a trace in it"
    shown = ", ".join((files or list(tree.names))[:10])
    more = len(files or tree.names) - 10
    listed = f"{shown} and {more} more" if more > 0 else shown
    return f"{tree.name}: no format stores a run like this; name one of the files inside: {listed}"


def _records(records: Records, origin: Origin, name: str | None, skip: Skip | None) -> Iterator[Trace]:
    peeked, each = _peek(records)
    if not peeked:
        raise UnreadableTrace(f"{origin.name}: the list is empty: expected a trace in it")
    gathered: JsonValue = [record.value for record in peeked]
    views = [gathered, peeked[0].value] if records.kind == "list" else [peeked[0].value, gathered]
    format, view = _chosen(views, name, origin.name)
    if views[view] is gathered:
        yield from _read(format, _gathered(each, origin.name), origin, skip)
        return
    for record in each:
        try:
            fits = name is not None or format.detect(record.value).fits
            reader = format if fits else _chosen([record.value], name, record.place)[0]
        except UnreadableTrace as error:
            _skipped(skip, error)
            continue
        yield from _read(reader, record, replace(origin, name=record.place), skip)


def _chosen(views: list[JsonValue], name: str | None, place: str) -> tuple[Format, int]:
    try:
        return choose(views, name)
    except UnreadableTrace as error:
        raise UnreadableTrace(f"{place}: {error}") from None


def _peek(records: Records) -> tuple[list[Record], Iterator[Record]]:
    """The first records, to look at, and all of them, to read."""
    peeked: list[Record] = []
    size = 0
    for record in records.each:
        peeked.append(record)
        size += record.size
        if len(peeked) >= _PEEKED_RECORDS or size > _PEEKED_BYTES:
            break
    return peeked, itertools.chain(peeked, records.each)


def _gathered(each: Iterable[Record], place: str) -> Record:
    values: list[JsonValue] = []
    notes: dict[str, None] = {}
    size = 0
    for record in each:
        values.append(record.value)
        notes.update(dict.fromkeys(record.notes))
        size += record.size
        if size > MAX_DOCUMENT_BYTES:
            raise UnreadableTrace(f"{place}: one trace is longer than {MAX_DOCUMENT_BYTES:,} bytes: {SPLIT}")
    return Record(values, place, size, tuple(notes))


def _read(format: Format, record: Record, origin: Origin, skip: Skip | None) -> Iterator[Trace]:
    try:
        yield from _traces(format, record, origin)
    except UnreadableTrace as error:
        _skipped(skip, error)


def _skipped(skip: Skip | None, error: UnreadableTrace) -> None:
    if skip is None:
        raise error
    skip(error)


def _traces(format: Format, record: Record, origin: Origin) -> Iterator[Trace]:
    found = False
    try:
        for trace in format.read(record.value, origin):
            found = True
            yield trace.model_copy(update={"notes": trace.notes + record.notes}) if record.notes else trace
    except UnreadableTrace as error:
        raise UnreadableTrace(f"{record.place}: read as {format.name}: {error}") from None
    if not found:
        raise UnreadableTrace(f"{record.place}: read as {format.name}: there is no trace in it")

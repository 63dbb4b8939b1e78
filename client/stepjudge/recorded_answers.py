"""Recorded answers are step labels −1/0/+1 that a person or another judge left in a file, one trace per line.

The rows are those of AgentProcessBench (arXiv 2603.14465): `step_labels` and `explanations.steps`, both by the index of the
agent's message. A label that is absent or null is missing, not 0. A 0 without an explanation, in a row that explains its
labels, is what that release's parser wrote where the judge's reply held nothing for the step: it is counted apart.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

from pydantic import JsonValue

from stepjudge.errors import StepjudgeError, UnreadableTrace
from stepjudge.formats.reading.cleaning import TooDeep
from stepjudge.formats.reading.parsing import parse
from stepjudge.formats.reading.shape import as_object, as_text, identifier
from stepjudge.formats.reading.source import Source
from stepjudge.value import JsonObject, Value

Ternary = Literal[-1, 0, 1]
State = Literal["given", "missing", "silent"]
"""`silent`: a 0 that nobody gave."""

MAX_LINE_BYTES = 64 * 2**20


class BadRecordedAnswers(StepjudgeError):
    """The file holds no recorded answers: where, and how to mend it."""


class RecordedAnswer(Value):
    """What was said of one step."""

    place: int
    """Index of the agent's message in the conversation."""
    value: Ternary | None
    """Null when it is missing; 0 when it is silent."""
    reason: str = ""
    state: State = "given"


class RecordedTrace(Value):
    """What was said of the steps of one trace, in their order."""

    trace_id: str
    task_id: str
    """Attempts at one query share it."""
    answers: tuple[RecordedAnswer, ...]
    final: Ternary | None = None
    """What was said of the whole attempt."""

    @property
    def by_place(self) -> dict[int, RecordedAnswer]:
        return {each.place: each for each in self.answers}


class RecordedAnswers(Value):
    """All that one person or judge said of one data set."""

    judge: str
    dataset: str
    traces: tuple[RecordedTrace, ...]
    by_people: bool = False
    """Whether no row names an annotator or explains its labels, as rows of people's labels do not."""

    @property
    def by_trace(self) -> dict[str, RecordedTrace]:
        return {each.trace_id: each for each in self.traces}


class PairedStep(Value):
    """One step with what people said of it and what the judge said of it."""

    trace_id: str
    task_id: str
    position: int
    """From 0, among the labelled steps of the trace."""
    place: int
    human: Ternary
    judge: Ternary | None
    """Null when the judge's answer is missing; 0 when it is silent."""
    state: State
    reason: str = ""
    """The judge's."""


def read_recorded(path: Path, *, judge: str | None = None) -> RecordedAnswers:
    """The answers in a JSONL file, plain or gzip.

    The judge's name, when none is given: that of the folder when the file bears the data set's name
    (`judges/MODEL/DATASET.jsonl`), else that of the annotator in the rows, else that of the file. Rows of several
    annotators are refused unless a name is given.
    """
    rows = list(_rows(path))
    if not rows:
        raise BadRecordedAnswers(f"{path}: the file is empty: one JSON object with `step_labels` per line is expected")
    traces = tuple(_trace(row, f"{path}, line {line}") for line, row in rows)
    _refuse_repeats([each.trace_id for each in traces], [line for line, _ in rows], path)
    if judge is None:
        _refuse_several(rows, path)
    first = rows[0][1]
    stem = path.name.split(".")[0]
    dataset = identifier(first.get("dataset")) or identifier(first.get("data_source")) or stem
    named = (
        path.resolve().parent.name if stem == dataset and first.get("annotator") else identifier(first.get("annotator"))
    )
    by_people = not any(row.get("annotator") or row.get("explanations") for _, row in rows)
    return RecordedAnswers(judge=judge or named or stem, dataset=dataset, traces=traces, by_people=by_people)


def paired(human: RecordedAnswers, judge: RecordedAnswers) -> tuple[PairedStep, ...]:
    """Every step that people labelled, in their order, with the judge's answer to it; a trace the judge lacks is missing."""
    found = judge.by_trace
    return tuple(
        step
        for trace in human.traces
        for step in _paired(trace, found[trace.trace_id].by_place if trace.trace_id in found else {})
    )


def unlabelled(human: RecordedAnswers, judge: RecordedAnswers) -> int:
    """Answers of the judge to steps that people did not label: no figure counts them."""
    found = human.by_trace
    labelled = {id: {each.place for each in trace.answers if each.value is not None} for id, trace in found.items()}
    return sum(
        each.place not in labelled.get(trace.trace_id, set())
        for trace in judge.traces
        for each in trace.answers
        if each.value is not None
    )


def _paired(trace: RecordedTrace, answers: dict[int, RecordedAnswer]) -> Iterator[PairedStep]:
    labelled = [each for each in trace.answers if each.value is not None]
    for position, label in enumerate(labelled):
        answer = answers.get(label.place, RecordedAnswer(place=label.place, value=None, state="missing"))
        yield PairedStep(
            trace_id=trace.trace_id,
            task_id=trace.task_id,
            position=position,
            place=label.place,
            human=cast("Ternary", label.value),  # only labels with a value are walked
            judge=answer.value,
            state=answer.state,
            reason=answer.reason,
        )


def _trace(row: JsonObject, where: str) -> RecordedTrace:
    labels = row.get("step_labels")
    if not isinstance(labels, dict):
        raise BadRecordedAnswers(f"{where}: no object `step_labels`, which gives −1, 0 or 1 by message index")
    source, query, sample = (identifier(row.get(key)) for key in ("data_source", "query_index", "sample_index"))
    composed = ":".join((source, query, sample)) if source and query and sample else None
    trace_id = identifier(row.get("record_id")) or composed
    if trace_id is None:
        raise BadRecordedAnswers(f"{where}: neither `record_id` nor `data_source`, `query_index` and `sample_index`")
    explained = row.get("explanations")
    steps = as_object(as_object(explained).get("steps")) if isinstance(explained, dict) else None
    reasons = (
        None
        if steps is None
        else _by_place({key: steps[key] for key in steps if _is_place(key)}, where, "explanations.steps")
    )
    if strange := [key for key in labels if not _is_place(key)]:
        raise BadRecordedAnswers(f"{where}: {strange[0]!r} in `step_labels` is no message index")
    answers = [_answer(*each, reasons, where) for each in _by_place(labels, where, "step_labels").items()]
    final = row.get("final_label")
    return RecordedTrace(
        trace_id=trace_id,
        task_id=f"{source}:{query}" if source and query else trace_id,
        answers=tuple(sorted(answers, key=lambda each: each.place)),
        final=None if final is None else _ternary(final, f"{where}, final_label"),
    )


def _is_place(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) < 10


def _by_place(values: JsonObject, where: str, name: str) -> dict[int, JsonValue]:
    """By message index, however it is spelled: `2` and `02` are one."""
    spelled: dict[int, str] = {}
    for key in values:
        if (other := spelled.setdefault(int(key), key)) != key:
            raise BadRecordedAnswers(f"{where}: {other!r} and {key!r} in `{name}` are the same step: keep one")
    return {place: values[key] for place, key in spelled.items()}


def _answer(place: int, value: JsonValue, reasons: dict[int, JsonValue] | None, where: str) -> RecordedAnswer:
    if value is None:
        return RecordedAnswer(place=place, value=None, state="missing")
    reason = as_text((reasons or {}).get(place)).strip()
    number = _ternary(value, f"{where}, step {place}")
    silent = number == 0 and reasons is not None and not reason
    return RecordedAnswer(place=place, value=number, reason=reason, state="silent" if silent else "given")


def _ternary(value: JsonValue, where: str) -> Ternary:
    if isinstance(value, bool) or not isinstance(value, int) or value not in (-1, 0, 1):
        raise BadRecordedAnswers(f"{where}: {json.dumps(value)[:80]} is none of −1, 0, 1")
    return value


def _rows(path: Path) -> Iterator[tuple[int, JsonObject]]:
    try:
        with path.open("rb") as file:
            source, number = Source(file, str(path)), 0
            while line := source.line(MAX_LINE_BYTES):
                number += 1
                where = f"{path}, line {number}"
                if len(line) == MAX_LINE_BYTES:
                    raise BadRecordedAnswers(f"{where}: longer than {MAX_LINE_BYTES:,} bytes")
                if text := line.decode("utf-8", "replace").strip():
                    yield number, _row(text, where)
    except (OSError, UnreadableTrace) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadRecordedAnswers(f"{path}: cannot be read: {reason}") from None


def _row(text: str, where: str) -> JsonObject:
    try:
        value = parse(text).value
    except (json.JSONDecodeError, TooDeep) as error:
        raise BadRecordedAnswers(f"{where}: no JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadRecordedAnswers(f"{where}: not a JSON object")
    return value


def _refuse_repeats(ids: Sequence[str], lines: Sequence[int], path: Path) -> None:
    seen: dict[str, int] = {}
    for trace_id, line in zip(ids, lines, strict=True):
        if trace_id in seen:
            raise BadRecordedAnswers(f"{path}: lines {seen[trace_id]} and {line} are both of {trace_id!r}: keep one")
        seen[trace_id] = line


def _refuse_several(rows: Sequence[tuple[int, JsonObject]], path: Path) -> None:
    named = [(line, name) for line, row in rows if (name := identifier(row.get("annotator")))]
    for line, name in named:
        if name != named[0][1]:
            raise BadRecordedAnswers(
                f"{path}, line {line}: the answers are of {name!r}, and those of line {named[0][0]} of {named[0][1]!r}: "
                "make one file of each"
            )

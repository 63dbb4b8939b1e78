"""Importing labels: from label files, and from traces that carry a score for each of their steps."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from stepjudge.client import JudgeClient
from stepjudge.formats import read_file
from stepjudge.label import SCORE, Label, Sampling, standing
from stepjudge.label_contract import KeptTrace
from stepjudge.label_file import read_labels
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_BATCH = 1_000


def import_files(service: JudgeClient, files: Sequence[Path]) -> tuple[int, int]:
    """(stored, there already). Every file is read before anything is stored."""
    return _store(service, [label for file in files for label in read_labels(file)])


def import_traces(service: JudgeClient, files: Sequence[Path], rubric: Rubric, annotator: str) -> tuple[int, int]:
    """The scores that traces carry by message index, as labels of whole traces. The judge that comes later is blind to
    them, and whoever gave them did not see it."""
    there = {
        (label.question, label.said) for label in standing(service.all_labels(rubric=rubric.name, annotator=annotator))
    }
    traces = [trace for file in files for trace in read_file(file)]
    if not any(_scores(trace) for trace in traces):
        raise click.ClickException(f"{', '.join(map(str, files))}: no trace has `step_labels`")
    labels = [
        label for trace in traces for label in _labels(trace, service.keep(trace, rubric=rubric), rubric, annotator)
    ]
    fresh = [label for label in labels if (label.question, label.said) not in there]
    stored, _ = _store(service, fresh)
    return stored, len(labels) - len(fresh)


def _labels(trace: Trace, kept: KeptTrace, rubric: Rubric, annotator: str) -> Iterator[Label]:
    scores = _scores(trace)
    for step, place in zip(kept.steps, trace.steps, strict=True):
        score = scores.get(str(place.extra.get("message_index")))
        if score not in (-1, 0, 1) or isinstance(score, bool):
            continue
        yield Label(
            state_digest=step.state_digest,
            step_digest=step.step_digest,
            task_digest=kept.task_digest,
            trace_id=trace.trace_id[:1_000],
            step=step.step,
            rubric=rubric.reference,
            rubric_digest=rubric.digest,
            criterion=SCORE,
            score=score,
            annotator=annotator,
            blind=True,
            sampling=Sampling(design="whole_traces", probability=1.0),
        )


def _scores(trace: Trace) -> JsonObject:
    found = trace.extra.get("step_labels")
    return found if isinstance(found, dict) else {}


def _store(service: JudgeClient, labels: Sequence[Label]) -> tuple[int, int]:
    known = 0
    for start in range(0, len(labels), _BATCH):
        known += service.label(labels[start : start + _BATCH]).known
    return len(labels) - known, known

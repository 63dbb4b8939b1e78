"""Which steps an annotator is given: those of trace files, or those that the ledger's judges have judged."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Literal

import click

from stepjudge.cli.label_session import Asked, Sitting
from stepjudge.client import JudgeClient, QueueOptions
from stepjudge.formats import read_file
from stepjudge.label import Label, Sampling, settled
from stepjudge.label_sampling import Candidate, drawn
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace

Design = Literal["uniform", "disagreement", "low_confidence", "all"]


def from_traces(
    service: JudgeClient,
    paths: Sequence[Path],
    rubric: Rubric,
    *,
    design: Design,
    count: int,
    seed: int,
    format: str | None,
) -> list[Sitting]:
    """Steps of the traces. A step that occurs more than once, after the same steps, is one step."""
    found: dict[str, Sitting] = {}
    for path in paths:
        for trace in read_file(path, format=format):
            kept = service.keep(trace, rubric=rubric)
            for step in kept.steps:
                digests = (step.state_digest, step.step_digest)
                found.setdefault(" ".join(digests), Sitting(trace, step.step, *digests, kept.task_digest, Sampling()))
    if design == "all":
        whole = Sampling(design="whole_traces", probability=1.0, population=len(found) or None)
        return [_drawn(sitting, whole) for sitting in found.values()]
    if design == "uniform":
        chosen = drawn([Candidate(key) for key in found], count, design="uniform", seed=seed)
        return [_drawn(found[each.key], each.sampling) for each in chosen]
    queue = service.queue(rubric=rubric.reference, design=design, count=5_000, seed=seed)
    mine = [(" ".join((each.state_digest, each.step_digest)), each.sampling) for each in queue.steps]
    return [_drawn(found[key], sampling) for key, sampling in mine if key in found][:count]


def from_ledger(
    service: JudgeClient, rubric: Rubric, *, judge: str | None, design: Design, count: int, seed: int
) -> list[Sitting]:
    """Judged steps of the ledger."""
    if design == "all":
        raise click.UsageError("--design all is for TRACES: name the files whose every step is to be labelled")
    options: QueueOptions = {"rubric": rubric.reference, "design": design, "count": count, "seed": seed}
    if judge is not None:
        options["judge"] = judge
    return [
        Sitting(
            service.state(each.state_digest, each.step_digest),
            each.step,
            each.state_digest,
            each.step_digest,
            each.task_digest,
            each.sampling,
        )
        for each in service.queue(**options).steps
    ]


def disputes(service: JudgeClient, rubric: Rubric, annotator: str) -> tuple[Asked, ...]:
    """Questions on which people differ and nobody has adjudicated, whatever most of them say."""
    asked: list[Asked] = []
    open_ = [
        each
        for each in settled(service.all_labels(rubric=rubric.name))
        if not each.adjudicated and len({label.said for label in each.labels}) > 1
    ]
    open_.sort(key=lambda each: (each.question.state_digest, each.question.step_digest))
    for (state, step), questions in groupby(open_, key=lambda each: each.question[:2]):
        trace = service.state(state, step)
        mine = list(questions)
        sitting = _of_label(mine[0].labels[0], trace)
        for each in mine:
            others = tuple(label for label in each.labels if label.annotator != annotator)
            asked.append(Asked(sitting, each.question.criterion, each.question.call, others))
    return tuple(asked)


def _of_label(label: Label, trace: Trace) -> Sitting:
    last = len(trace.steps)
    return Sitting(trace, last, label.state_digest, label.step_digest, label.task_digest, label.sampling)


def _drawn(sitting: Sitting, sampling: Sampling) -> Sitting:
    return replace(sitting, sampling=sampling)

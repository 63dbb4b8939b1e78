"""An example is a labelled step with the trace it stands in: what a rubric is tested on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stepjudge.client import JudgeClient
from stepjudge.errors import BadRange, JudgeRefused, StepjudgeError
from stepjudge.label import Label, standing
from stepjudge.labelled import StepKey, representative
from stepjudge.rubric import Rubric
from stepjudge.steps import selected
from stepjudge.trace import Trace


class NoExamples(StepjudgeError):
    """There is nothing to test a rubric on: why, and how to mend it."""


class Example(NamedTuple):
    """A labelled step."""

    key: StepKey
    """State digest and step digest, as its labels name them."""
    task: str
    """Digest of what stands before the first step; steps of one task are alike."""
    trace: Trace
    step: int
    labels: tuple[Label, ...]
    """Those that count."""


class Examples(NamedTuple):
    """All labelled steps of a rubric, in the order of their keys."""

    found: tuple[Example, ...]
    not_found: int
    """Labelled steps that stand in none of the traces and not in the ledger."""
    left_out: int
    """Labels that were not given blind, or of steps whose chance of being drawn nobody knows."""


def examples(
    service: JudgeClient,
    rubric: Rubric,
    labels: Iterable[Label],
    traces: Iterable[Trace] = (),
    *,
    steps: str | None = None,
    every: bool = False,
) -> Examples:
    """The steps that people answered about, for the rubric of that name in any version.

    They are looked for in `traces`, then in the ledger of the service. `steps` narrows them to a range of steps of each
    trace; `every` takes labels too that rates may not rest on. Raises NoExamples, BadRange.
    """
    given = [label for label in labels if label.rubric_name == rubric.name]
    counted = [label for label in standing(given) if every or representative(label)]
    wanted: dict[StepKey, list[Label]] = {}
    for label in counted:
        wanted.setdefault((label.state_digest, label.step_digest), []).append(label)
    if not wanted:
        raise NoExamples(_nothing(rubric, given))
    places = _places(service, rubric, wanted, traces)
    found = [
        Example(key, mine[0].task_digest, *places[key], tuple(mine))
        for key, mine in sorted(wanted.items())
        if key in places
    ]
    kept = found if steps is None else _in_range(found, steps)
    if not kept:
        raise NoExamples("no labelled step is at hand: name the files of their traces with --traces")
    return Examples(tuple(kept), len(wanted) - len(found), len(standing(given)) - len(counted))


def by_trace(found: Sequence[Example]) -> tuple[tuple[Example, ...], ...]:
    """The examples of each trace together: they are asked about in one request, and share its prefix."""
    groups: dict[int, list[Example]] = {}
    for each in found:
        groups.setdefault(id(each.trace), []).append(each)
    return tuple(tuple(sorted(mine, key=lambda each: each.step)) for mine in groups.values())


def _places(
    service: JudgeClient, rubric: Rubric, wanted: Mapping[StepKey, Sequence[Label]], traces: Iterable[Trace]
) -> dict[StepKey, tuple[Trace, int]]:
    places: dict[StepKey, tuple[Trace, int]] = {}
    for trace in traces:
        for key, step in _kept(service, rubric, trace):
            if key in wanted:
                places.setdefault(key, (trace, step))
    # of the ledger's, the longest first: it holds the others of its trace
    for key in sorted(wanted, key=lambda key: -max(label.step for label in wanted[key])):
        if key not in places and (trace := _stored(service, key)) is not None:
            for other, step in _kept(service, rubric, trace):
                if other in wanted:
                    places.setdefault(other, (trace, step))
            places.setdefault(key, (trace, len(trace.steps)))
    return places


def _kept(service: JudgeClient, rubric: Rubric, trace: Trace) -> Iterator[tuple[StepKey, int]]:
    for step in service.keep(trace, rubric=rubric).steps:
        yield (step.state_digest, step.step_digest), step.step


def _stored(service: JudgeClient, key: StepKey) -> Trace | None:
    try:
        return service.state(*key)
    except JudgeRefused as refused:
        if refused.problem.status == 404:
            return None
        raise


def _in_range(found: Sequence[Example], steps: str) -> list[Example]:
    """Raises BadRange when the range is malformed, or holds none of them."""
    kept: list[Example] = []
    for each in found:
        try:
            kept += [each] if each.step in selected(steps, len(each.trace.steps)) else []
        except BadRange:  # it may begin where this trace has ended; a malformed one fits no trace
            continue
    if found and not kept:
        raise BadRange(f"no labelled step is in the range {steps!r}")
    return kept


def _nothing(rubric: Rubric, given: Sequence[Label]) -> str:
    if not given:
        return f"there are no labels of {rubric.name!r}: labels belong to a rubric by its name"
    return (
        f"none of the {len(given)} labels of {rubric.name!r} was given blind for a step of known probability: "
        "--every takes them all the same"
    )

"""A range of steps is what a score covers: `1-5`, `3`, `4-`, `1-3,7`; the whole trace when nothing is said."""

import re
from collections.abc import Sequence

from stepjudge.errors import BadRange

_PART = re.compile(r"\s*([0-9]{0,9})(?:\s*(-)\s*([0-9]{0,9}))?\s*")


def selected(text: str | None, count: int) -> tuple[int, ...]:
    """The step indices that `text` selects from a trace of `count` steps, ascending.

    Raises BadRange when the text is malformed or selects no step.
    """
    if text is None or not text.strip():
        return tuple(range(1, count + 1))
    indices: set[int] = set()
    for part in text.split(","):
        first, last = _bounds(part, count)
        indices.update(range(first, min(last, count) + 1))
    if not indices:
        there = f"steps 1-{count}" if count else "no steps"
        raise BadRange(f"the range {text!r} selects no step: the trace has {there}")
    return tuple(sorted(indices))


def spelled(indices: Sequence[int]) -> str:
    """The shortest spelling of ascending indices: (1, 2, 3, 7) → `1-3,7`."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def _bounds(part: str, count: int) -> tuple[int, int]:
    match = _PART.fullmatch(part)
    if match is None or not (match[1] or match[3]):
        raise BadRange(f"{part!r} is no range of steps: write a step, such as 3, or a range, such as 1-5 or 4-")
    first = int(match[1] or 1)
    last = int(match[3] or count) if match[2] else first
    if first < 1:
        raise BadRange(f"{part!r} starts before step 1: steps are numbered from 1")
    if match[3] and last < first:
        raise BadRange(f"the range {part!r} ends before it starts: write the smaller number first")
    return first, last

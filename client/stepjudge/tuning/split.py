"""A split gives whole tasks to three purposes: to learn from, to choose by, and to report on what was never looked at."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from stepjudge.tuning.example import Example, NoExamples

SHARES = (0.4, 0.3, 0.3)
"""Of the labelled steps, about: learned from, chosen by, reported on."""
MIN_TASKS = 2
"""In each part."""


class Split(NamedTuple):
    """Examples by purpose. No task is in two of them: its steps are alike, and would tell the answer."""

    train: tuple[Example, ...]
    select: tuple[Example, ...]
    report: tuple[Example, ...]


def split(found: Sequence[Example], seed: int) -> Split:
    """The same seed gives the same split. Raises NoExamples where there are too few tasks."""
    tasks: dict[str, list[Example]] = {}
    for each in found:
        tasks.setdefault(each.task, []).append(each)
    if len(tasks) < MIN_TASKS * len(SHARES):
        raise NoExamples(
            f"labels of {len(tasks)} tasks: at least {MIN_TASKS * len(SHARES)} are needed, so that each of the three "
            "splits has two. The report's own split should have far more"
        )
    order = sorted(tasks)
    random.Random(seed).shuffle(order)
    parts: tuple[list[Example], ...] = ([], [], [])
    held = [0, 0, 0]
    for left, task in zip(range(len(order), 0, -1), order, strict=True):
        short = [place for place in range(3) if held[place] < MIN_TASKS]
        open_ = short if left <= sum(MIN_TASKS - held[place] for place in short) else range(3)
        # the part that is furthest behind its share
        place = min(open_, key=lambda place: len(parts[place]) / SHARES[place])
        parts[place].extend(tasks[task])
        held[place] += 1
    return Split(*(tuple(sorted(part, key=lambda each: each.key)) for part in parts))

# pyright: basic
"""A floor is what a judge that never reads reaches: raw accuracy means nothing without it.

Two of them: always saying +1, and saying what a step's position in its trace suggests, learned from other tasks.
"""

from collections.abc import Sequence
from typing import NamedTuple

from stepjudge.value import Value

FOLDS = 5


class Positioned(NamedTuple):
    """A labelled step: its task, its place in the trace from 0, and people's score."""

    task: str
    position: int
    human: int


class Floor(Value):
    """What one of them reaches on the same steps."""

    name: str
    matches: int
    steps: int
    first_error_matches: int | None = None
    traces: int | None = None
    why_none: str = ""

    @property
    def accuracy(self) -> float | None:
        return self.matches / self.steps if self.steps and not self.why_none else None


def always_plus(scores: Sequence[Sequence[int]]) -> Floor:
    """Always +1, over traces of scores."""
    steps = [score for trace in scores for score in trace]
    return Floor(
        name="always +1",
        matches=steps.count(1),
        steps=len(steps),
        first_error_matches=sum(-1 not in trace for trace in scores),
        traces=len(scores),
    )


def position_alone(steps: Sequence[Positioned], *, seed: int = 0) -> Floor:
    """A logistic model of the position alone, its tasks split five ways, each part predicted by the other four.

    Where all steps of the other parts have one score, that one is said.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold

    tasks = len({each.task for each in steps})
    name = "step index alone"
    if tasks < FOLDS:
        why = f"{tasks} tasks are too few to learn from others: {FOLDS} are needed"
        return Floor(name=name, matches=0, steps=len(steps), why_none=why)
    steps = sorted(steps)  # the order of files must not decide the folds
    position = np.array([[each.position] for each in steps], dtype=float)
    scores = np.array([each.human for each in steps])
    groups = np.array([each.task for each in steps])
    matches = 0
    for rest, part in GroupKFold(FOLDS, shuffle=True, random_state=seed).split(position, scores, groups):
        if len(set(scores[rest])) == 1:
            said = np.full(len(part), scores[rest][0])
        else:
            said = LogisticRegression(max_iter=1_000).fit(position[rest], scores[rest]).predict(position[part])
        matches += int((said == scores[part]).sum())
    return Floor(name=name, matches=matches, steps=len(steps))

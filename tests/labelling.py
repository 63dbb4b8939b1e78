"""Labels for tests, and the truth table of a rubric's answers."""

from typing import Any

from stepjudge.digest import digest
from stepjudge.label import SCORE, Label, Sampling
from stepjudge.rubric import Rubric

from rubrics_for_tests import SMALL

DRAWN = Sampling(design="uniform", probability=0.5, population=100, seed=0)


def label(
    said: str | int | None, *, step: int = 1, criterion: str = "valid", rubric: Rubric = SMALL, **fields: Any
) -> Label:
    """A label of one of many steps, each of a task of its own."""
    answer = {"score": said} if isinstance(said, int) else {"answer": said}
    task = fields.pop("task", step)
    return Label.model_validate(
        {
            "label_id": f"{fields.get('annotator', 'ann')}-{step}-{criterion}-{fields.get('call')}",
            "state_digest": digest(["state", step]),
            "step_digest": digest(["step", step]),
            "task_digest": digest(["task", task]),
            "step": 1,
            "rubric": rubric.reference,
            "rubric_digest": rubric.digest,
            "criterion": SCORE if isinstance(said, int) else criterion,
            "annotator": "ann",
            "created_at": "2024-12-01T10:00:00Z",
            "blind": True,
            "sampling": DRAWN,
            **answer,
            **fields,
        }
    )


def key(step: int) -> tuple[str, str]:
    return digest(["state", step]), digest(["step", step])

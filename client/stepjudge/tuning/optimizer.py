# pyright: basic
"""An optimizer searches better words for a rubric's criteria with GEPA: it learns from one split and chooses by another.

GEPA (L. A. Agrawal and others, "GEPA: Reflective prompt evolution can outperform reinforcement learning", 2025) keeps
candidates that are best on some example, changes one by reflecting on what went wrong, and keeps what does better.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stepjudge.errors import StepjudgeError
from stepjudge.rubric import Rubric
from stepjudge.tuning.example import Example
from stepjudge.tuning.reflection import records, reflection, share_alike
from stepjudge.tuning.rubric_test import Answers
from stepjudge.tuning.split import Split
from stepjudge.tuning.wording import reworded, wording

Ask = Callable[[Rubric, Sequence[Example]], Answers]
"""Judges these examples under a rubric. Raises OutOfBudget."""
Reflect = Callable[[str], str]
"""Answers a reflection with a wording, as JSON. Raises StepjudgeError."""

MINIBATCH = 6
"""Examples that one reflection looks at."""


class OutOfBudget(StepjudgeError):
    """The limit on cost does not allow the next question."""


class Limits(NamedTuple):
    """When the search ends."""

    max_metric_calls: int
    """Examples judged, remembered ones too."""
    spent: Callable[[], bool]
    """Whether the money is spent."""


class Found(NamedTuple):
    """What the search came to."""

    rubric: Rubric
    """The best on the split that it chose by; the one it began with when nothing did better there."""
    improved: bool
    """Whether it did better there than the one the search began with."""
    tried: int
    """Wordings that were judged, the first one included."""
    first: float
    """The share of answers as people gave them, on the split that was chosen by."""
    best: float
    reflections: int
    refused: int
    """Reflections that were no wording, or failed."""


def search(
    rubric: Rubric,
    criteria: Sequence[str],
    parts: Split,
    ask: Ask,
    reflect: Reflect,
    limits: Limits,
    *,
    version: str,
    seed: int,
) -> Found:
    """Look for better words for these criteria. The report's split is not looked at.

    The best rubric has the new version. Raises OutOfBudget when not even the rubric as it is could be judged.
    """
    from gepa.api import optimize

    adapter = _Adapter(rubric, criteria, ask, reflect, version)
    gepa_adapter: Any = adapter  # its protocol takes a method for a field that may be set
    found = optimize(
        seed_candidate=adapter.seed,
        trainset=list(parts.train),
        valset=list(parts.select),
        adapter=gepa_adapter,
        reflection_minibatch_size=min(MINIBATCH, len(parts.train)),
        max_metric_calls=limits.max_metric_calls,
        stop_callbacks=lambda gepa_state: limits.spent() or adapter.stuck,
        logger=_Silent(),
        seed=seed,
        raise_on_exception=False,
    )
    scores = found.val_aggregate_scores
    best = max(range(len(scores)), key=lambda place: (scores[place], -place))
    return Found(
        rubric=adapter.rubric(found.candidates[best]),
        improved=scores[best] > scores[0],
        tried=len(adapter.tried),
        first=scores[0],
        best=scores[best],
        reflections=adapter.reflections,
        refused=adapter.refused,
    )


class _Adapter:
    """What GEPA needs of a rubric: judge a candidate on a batch, and propose new words."""

    def __init__(self, rubric: Rubric, criteria: Sequence[str], ask: Ask, reflect: Reflect, version: str) -> None:
        self._rubric = rubric
        self._criteria = criteria
        self._ask = ask
        self._reflect = reflect
        self._version = version
        self.seed = {name: wording(rubric.criterion(name)).text for name in criteria}
        self.tried: set[str] = set()
        self.reflections = 0
        self.refused = 0
        self._failed_in_a_row = 0

    @property
    def stuck(self) -> bool:
        """Whether nothing is gained by going on."""
        return self._failed_in_a_row >= 3

    def rubric(self, candidate: Mapping[str, str]) -> Rubric:
        """The candidate as a rubric; as it was, under its own version, where no word has changed."""
        if dict(candidate) == self.seed:
            return self._rubric
        return reworded(self._rubric, candidate).model_copy(update={"version": self._version})

    def evaluate(self, batch: list[Example], candidate: dict[str, str], capture_traces: bool = False):
        from gepa.core.adapter import EvaluationBatch

        rubric = self.rubric(candidate)
        self.tried.add(rubric.digest)
        try:
            answers = self._ask(rubric, batch)
        except OutOfBudget:
            self._failed_in_a_row = 3
            raise
        said = [answers.get(each.key, ()) for each in batch]
        scores = [share_alike(each, mine, self._criteria) for each, mine in zip(batch, said, strict=True)]
        return EvaluationBatch(outputs=said, scores=scores, trajectories=list(zip(batch, said, strict=True)))

    def make_reflective_dataset(self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]):
        told: dict[str, list[dict[str, Any]]] = {name: [] for name in components_to_update}
        for example, answers in eval_batch.trajectories:
            for name, mine in records(example, answers, components_to_update).items():
                told[name] += mine
        return told

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        return {name: self._proposed(name, candidate[name], reflective_dataset[name]) for name in components_to_update}

    def _proposed(self, name: str, words: str, told: Sequence[Mapping[str, Any]]) -> str:
        if all(str(record["Feedback"]).startswith("Right") for record in told):
            return words  # nothing to mend in these cases
        self.reflections += 1
        try:
            proposed = self._reflect(reflection(name, words, told))
            reworded(self._rubric, {name: proposed})
        except (StepjudgeError, ValueError):
            self.refused += 1
            self._failed_in_a_row += 1
            return words
        self._failed_in_a_row = 0
        return proposed


class _Silent:
    """GEPA tells each step of its search; the command has a progress bar."""

    def log(self, message: str) -> None:
        pass

"""A labelling session walks through questions: a key is an answer, and every answer is a label that is stored at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from stepjudge.agreement import Answered
from stepjudge.label import SCORE, Label, Question, Sampling, Score, standing
from stepjudge.label import questions as asked_of
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.trace import Trace

WORDS: Mapping[str, AnswerWord] = {"y": "yes", "n": "no", "a": "not_applicable", "u": "undetermined"}
SCORES: Mapping[str, Score] = {"+": 1, "0": 0, "-": -1}


@dataclass(frozen=True)
class Sitting:
    """A step to label, in its trace."""

    trace: Trace
    step: int
    state_digest: str
    step_digest: str
    task_digest: str
    sampling: Sampling


@dataclass(frozen=True)
class Asked:
    """One question about one step."""

    sitting: Sitting
    criterion: str
    call: int | None
    disputed: tuple[Label, ...] = ()
    """Labels of others that the answer is to settle."""

    def question(self, rubric: Rubric) -> Question:
        sitting = self.sitting
        return Question(sitting.state_digest, sitting.step_digest, rubric.name, self.criterion, self.call)


@dataclass
class Session:
    """Where one annotator stands in a list of questions."""

    rubric: Rubric
    annotator: str
    asked: Sequence[Asked]
    store: Callable[[Label], Label]
    """Keeps a label and gives it back with its id."""
    mine: dict[Question, Label] = field(default_factory=dict[Question, Label])
    """What the annotator has said, by question."""
    place: int = 0
    note: str = ""
    """Goes with the next answer."""
    revealed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Steps of which a judge's answers were shown."""

    @property
    def now(self) -> Asked | None:
        """The question at hand; null at the end."""
        return self.asked[self.place] if self.place < len(self.asked) else None

    def said(self, asked: Asked) -> Answered | None:
        label = self.mine.get(asked.question(self.rubric))
        return label.said if label else None

    def keys(self, asked: Asked) -> Mapping[str, Answered]:
        """The keys that answer a question, and what each says."""
        if asked.criterion == SCORE:
            return {**SCORES, "u": "undetermined"}
        allowed = bool(self.rubric.criterion(asked.criterion).not_applicable_when)
        return {key: word for key, word in WORDS.items() if allowed or word != "not_applicable"}

    def answer(self, key: str) -> Label:
        """Store the answer that the key gives to the question at hand, and go on to the next one that is open."""
        asked = self._at_hand()
        label = self._keep(asked, self.keys(asked)[key])
        self.place += 1
        self.resume()
        return label

    def take_back(self) -> bool:
        """Withdraw what was said to the question at hand; false when nothing was."""
        asked = self._at_hand()
        if asked.question(self.rubric) not in self.mine:
            return False
        self._keep(asked, None)
        del self.mine[asked.question(self.rubric)]
        return True

    def back(self) -> bool:
        """Go to the question before; false at the first one."""
        if self.place == 0:
            return False
        self.place -= 1
        return True

    def skip(self) -> None:
        """Leave the rest of the step for later."""
        sitting = self._at_hand().sitting
        while self.now is not None and self.now.sitting is sitting:
            self.place += 1
        self.resume()

    def resume(self) -> None:
        """Go to the first question that is still open, from the place at hand on."""
        while self.now is not None and self.now.question(self.rubric) in self.mine:
            self.place += 1

    @property
    def steps(self) -> tuple[int, int]:
        """(done, all): how many steps have an answer to every question."""
        open_: dict[int, bool] = {}
        for asked in self.asked:
            unanswered = asked.question(self.rubric) not in self.mine
            open_[id(asked.sitting)] = open_.get(id(asked.sitting), False) or unanswered
        return sum(not each for each in open_.values()), len(open_)

    def _at_hand(self) -> Asked:
        if self.now is None:
            raise IndexError("the session is at its end")
        return self.now

    def _keep(self, asked: Asked, said: Answered | None) -> Label:
        before = self.mine.get(asked.question(self.rubric))
        sitting = asked.sitting
        fields: dict[str, object] = {"score": said} if isinstance(said, int) else {"answer": said}
        label = Label.model_validate(
            {
                "state_digest": sitting.state_digest,
                "step_digest": sitting.step_digest,
                "task_digest": sitting.task_digest,
                "trace_id": sitting.trace.trace_id[:1_000].encode("utf-8", "replace").decode(),
                "step": sitting.step,
                "rubric": self.rubric.reference,
                "rubric_digest": self.rubric.digest,
                "criterion": asked.criterion,
                "call": asked.call,
                "annotator": self.annotator,
                "blind": (sitting.state_digest, sitting.step_digest) not in self.revealed,
                "sampling": sitting.sampling,
                "note": self.note,
                "supersedes": before.label_id if before else None,
                "adjudicates": tuple(each.label_id for each in asked.disputed) if said is not None else (),
                **fields,
            }
        )
        self.note = ""
        stored = self.store(label)
        self.mine[asked.question(self.rubric)] = stored
        return stored


def questions(
    rubric: Rubric, sittings: Iterable[Sitting], *, criteria: Sequence[str], what: Literal["criteria", "score"]
) -> tuple[Asked, ...]:
    """Everything to ask about these steps: each criterion of each call, or the score alone."""
    if what == "score":
        return tuple(Asked(sitting, SCORE, None) for sitting in sittings)
    return tuple(
        Asked(sitting, criterion, call)
        for sitting in sittings
        for criterion, call in asked_of(rubric, sitting.trace.steps[sitting.step - 1])
        if not criteria or criterion in criteria
    )


def own(labels: Iterable[Label], annotator: str) -> dict[Question, Label]:
    """What an annotator has said so far, by question."""
    return {label.question: label for label in standing(labels) if label.annotator == annotator}

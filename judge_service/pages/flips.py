"""A flip is a labelled question that one judge answers otherwise under another version of a rubric."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judge_service.judged import Judged
from judge_service.label_store import LabelStore
from judge_service.state import next_state
from stepjudge.label import SCORE, Settled, settled
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.verdict import Answer

_Answers = dict[tuple[str, str], tuple[Answer, ...]]


@dataclass(frozen=True)
class Flip:
    criterion: str
    call: int | None
    step: int
    state_after: str
    """By which the trace's page is found."""
    people: str
    """What they say; `contested` where they differ."""
    before: AnswerWord
    after: AnswerWord

    @property
    def better(self) -> bool | None:
        """Whether the second version agrees with people where the first did not; null where neither does."""
        if self.people not in (self.before, self.after):
            return None
        return self.after == self.people


@dataclass(frozen=True)
class Flips:
    judge: str
    judge_digest: str
    labelled: int
    """Labelled questions that both versions have an answer to."""
    found: tuple[Flip, ...]

    @property
    def better(self) -> int:
        return sum(flip.better is True for flip in self.found)

    @property
    def worse(self) -> int:
        return sum(flip.better is False for flip in self.found)


def flips(old: Rubric, new: Rubric, judged: Judged, labels: LabelStore) -> tuple[Flips, ...]:
    """For every judge that has judged under both. Blocks. Raises LedgerUnavailable."""
    pairs = judged.pairs(old.name)
    both = {
        pair.judge_digest: pair.judge
        for pair in pairs
        if pair.rubric_digest == old.digest
        and any(each.rubric_digest == new.digest and each.judge_digest == pair.judge_digest for each in pairs)
    }
    questions = [each for each in settled(labels.of_rubric(old.name)) if each.question.criterion != SCORE]
    steps = list({(each.question.state_digest, each.question.step_digest): None for each in questions})
    found: list[Flips] = []
    for judge_digest, judge in both.items():
        before = judged.answers((old.digest, judge_digest), steps)
        after = judged.answers((new.digest, judge_digest), steps)
        asked = list(_asked(questions, before, after))
        flipped = tuple(flip for flip in asked if flip.before != flip.after)
        found.append(Flips(judge, judge_digest, len(asked), flipped))
    return tuple(found)


def _asked(questions: Sequence[Settled], before: _Answers, after: _Answers) -> Iterator[Flip]:
    for each in questions:
        question = each.question
        key = (question.state_digest, question.step_digest)
        first, second = (_said(answers.get(key, ()), each) for answers in (before, after))
        if first and second:
            people = "contested" if each.said is None else str(each.said)
            state = next_state(*key)
            step = each.labels[0].step
            yield Flip(question.criterion, question.call, step, state, people, first.answer, second.answer)


def _said(answers: Sequence[Answer], each: Settled) -> Answer | None:
    """The judge's answer to the question; where a step has one call, its answer is that of the step."""
    mine = [answer for answer in answers if answer.criterion == each.question.criterion]
    exact = next((answer for answer in mine if answer.call == each.question.call), None)
    return exact or (mine[0] if len(mine) == 1 else None)

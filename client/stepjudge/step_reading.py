"""A reading of a whole step: its score (−1, 0, +1), whether it passes, whether it is bad; from answers or from a label."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from stepjudge.agreement import Answered
from stepjudge.label import SCORE, Settled
from stepjudge.metric import bad, passes, rolled_up, score
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.verdict import Answer

Reading = Literal["score", "passes", "bad"]
READINGS: tuple[Reading, ...] = ("score", "passes", "bad")


class StepReading(NamedTuple):
    """The three readings; each null where it cannot be told."""

    score: Literal[-1, 0, 1] | None
    passes: bool | None
    bad: bool | None

    def told(self, reading: Reading) -> Answered | None:
        """The score, or yes or no."""
        match reading:
            case "score":
                return self.score
            case "passes":
                return _yes_no(self.passes)
            case "bad":
                return _yes_no(self.bad)


def judged_reading(rubric: Rubric, answers: Sequence[Answer]) -> StepReading:
    """As the rubric's scoring makes it of a judge's answers."""
    names = {criterion.name for criterion in rubric.criteria}
    rolled = rolled_up(rubric, [each for each in answers if each.criterion in names])
    return StepReading(score(rubric, rolled), passes(rubric, rolled), bad(rubric, rolled))


def people_reading(rubric: Rubric, mine: Sequence[Settled], judged: Sequence[Answer]) -> StepReading:
    """People's, of one step. A label of the score says all three; else the scoring of their answers does.

    What facts make not applicable is not asked of people, so it is taken from the judge's answers; an answer about one
    call counts only together with those about all others.
    """
    for each in mine:
        if each.question.criterion == SCORE and each.said in (-1, 0, 1):
            return StepReading(each.said, passes=each.said == 1, bad=each.said == -1)
    answers = [
        Answer(criterion=each.question.criterion, call=each.question.call, answer=_word(each.said))
        for each in mine
        if each.question.criterion != SCORE
    ]
    given = {(answer.criterion, answer.call) for answer in answers}
    for answer in judged:
        if (answer.criterion, answer.call) not in given:
            word: AnswerWord = "not_applicable" if answer.answer == "not_applicable" else "undetermined"
            answers.append(Answer(criterion=answer.criterion, call=answer.call, answer=word))
    return judged_reading(rubric, answers)


def _yes_no(value: bool | None) -> Answered | None:
    return None if value is None else "yes" if value else "no"


def _word(said: Answered | None) -> AnswerWord:
    match said:
        case "yes" | "no" | "not_applicable":
            return said
        case _:
            return "undetermined"

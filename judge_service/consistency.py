"""Answers are consistent when none excludes another: what a yes implies is yes, and a recovery names what it fixes."""

from collections.abc import Sequence
from typing import NamedTuple

from stepjudge.metric import Answers, rolled_up
from stepjudge.rubric import Rubric
from stepjudge.verdict import Answer


class _Contradiction(NamedTuple):
    denied: tuple[str, ...]
    """Criteria that the yes implies and that are no."""
    words: str


def contradictions(rubric: Rubric, answers: Sequence[Answer]) -> dict[int, str]:
    """Positions of answers that contradict another, with the contradiction in words."""
    return {position: found.words for position, found in _contradictions(rubric, answers).items()}


def abstained(rubric: Rubric, answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """The answers, with every contradiction made undetermined on both sides. Answers settled by facts stay.

    Between a step and its calls only the yes gives way: one reading of the whole does not undo those of its parts.
    """
    involved: dict[tuple[str, int | None], list[str]] = {}
    for position, found in _contradictions(rubric, answers).items():
        answer = answers[position]
        unit = rubric.criterion(answer.criterion).unit
        denied = [name for name in found.denied if rubric.criterion(name).unit == unit]
        for name in (answer.criterion, *denied):
            involved.setdefault((name, answer.call), []).append(found.words)
    return tuple(
        _abstain(answer, "; ".join(words))
        if answer.settled_by == "judge" and (words := involved.get((answer.criterion, answer.call)))
        else answer
        for answer in answers
    )


def _contradictions(rubric: Rubric, answers: Sequence[Answer]) -> dict[int, _Contradiction]:
    step = rolled_up(rubric, answers)
    found: dict[int, _Contradiction] = {}
    for position, answer in enumerate(answers):
        criterion = rubric.criterion(answer.criterion)
        if answer.answer != "yes":
            continue
        scope = step if criterion.unit == "step" else _known_to_call(rubric, answers, answer.call)
        denied = tuple(name for name in criterion.implies if scope.get(name) == "no")
        if denied:
            words = f"{_named(answer)} is yes although {' and '.join(denied)} is no; that cannot be"
            found[position] = _Contradiction(denied, words)
        elif criterion.names_steps and not answer.fixes:
            found[position] = _Contradiction((), f"{_named(answer)} is yes but `fixes` names no earlier step")
    return found


def _known_to_call(rubric: Rubric, answers: Sequence[Answer], call: int | None) -> Answers:
    """The call's own answers and those of its step."""
    return {
        answer.criterion: answer.answer
        for answer in answers
        if answer.call == call or rubric.criterion(answer.criterion).unit == "step"
    }


def _abstain(answer: Answer, reason: str) -> Answer:
    """No answer any more, so neither a confidence in it nor what it would fix."""
    return answer.model_copy(
        update={"answer": "undetermined", "cause": "contradiction", "reason": reason, "fixes": (), "confidence": None}
    )


def _named(answer: Answer) -> str:
    return f"`{answer.criterion}`" if answer.call is None else f"`{answer.criterion}` of call {answer.call}"

"""An answer is grounded when every quote it rests on really stands at the place it names, white space folded."""

from collections.abc import Sequence

from judge_service.shown import Places
from stepjudge.verdict import Answer
from stepjudge.visible import visible


def grounded(answers: Sequence[Answer], places: Places) -> tuple[Answer, ...]:
    """The answers, with those flagged `ungrounded` whose evidence does not stand, or that have none.

    An answer that was settled by facts, or that is no yes and no no, needs no evidence.
    """
    return tuple(
        answer.model_copy(update={"ungrounded": True})
        if _needs_evidence(answer) and complaint(answer, places)
        else answer
        for answer in answers
    )


def complaints(answers: Sequence[Answer], places: Places) -> tuple[str, ...]:
    """What to tell the model about each answer that is not grounded."""
    found = ((answer, complaint(answer, places)) for answer in answers if _needs_evidence(answer))
    return tuple(f"`{answer.criterion}`{_of(answer)}: {text}" for answer, text in found if text)


def complaint(answer: Answer, places: Places) -> str:
    """What is wrong with the answer's evidence; empty when nothing is."""
    if not answer.evidence:
        return "no evidence is quoted"
    for item in answer.evidence:
        if (piece := places(item.place)) is None:
            return f"there is no place {item.place[:60]!r}"
        if not (quote := visible(item.quote)).strip():
            return "a quote is empty"
        if not piece.holds(quote):
            return f"the quote {item.quote[:80]!r} does not stand at {item.place}"
    return ""


def _needs_evidence(answer: Answer) -> bool:
    return answer.settled_by == "judge" and answer.answer in ("yes", "no")


def _of(answer: Answer) -> str:
    return "" if answer.call is None else f" of call {answer.call}"

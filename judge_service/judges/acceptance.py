"""Acceptance is what to make of a model's reply: its answers, or what to object to when they cannot be taken as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from judge_service.confidence import confident
from judge_service.consistency import abstained, contradictions
from judge_service.grounding import complaints, grounded
from judge_service.model import Completion
from judge_service.question import Asked, Question, undetermined
from judge_service.reply import Reply, read
from judge_service.shown import Places, Shown
from stepjudge.verdict import Answer, Cause


@dataclass(frozen=True)
class Exchange:
    """One request and what came of it."""

    completion: Completion
    reply: Reply
    objection: tuple[str, str] | None
    """(kind of fault, what to tell the model); null when the reply is accepted."""


def received(question: Question, completion: Completion, places: Places, objected: set[str]) -> Exchange:
    """Read a completion and decide what, if anything, to object to: each kind of fault is objected to once."""
    reply = read(
        completion.text, question.asked, index=question.index, repair=completion.mode in ("json_object", "text")
    )
    reply = replace(reply, answers=confident(reply.answers, completion.tokens))
    if completion.refusal or completion.finish_reason == "content_filter":
        return Exchange(completion, reply, None)
    faults = {
        "malformed": reply.faults and _cut_short(completion) + reply.faults,
        "contradiction": tuple(contradictions(question.rubric, reply.answers).values()),
        "ungrounded": complaints(reply.answers, places),
    }
    for kind, found in faults.items():
        if found and kind not in objected:
            return Exchange(completion, reply, (kind, _objection(found)))
    return Exchange(completion, reply, None)


def accepted(question: Question, last: Exchange, shown: Shown) -> tuple[Answer, ...]:
    """The last reply's answers, checked; undetermined with the cause where there is none."""
    if last.completion.refusal:
        return without(question.asked, "refusal", last.completion.refusal)
    if last.completion.finish_reason == "content_filter":
        return without(question.asked, "content_filter", "the provider withheld the reply")
    answers = last.reply.answers
    if last.completion.finish_reason == "length":
        answers = _renamed(answers, "malformed_reply", "truncated_reply")
    own = shown.own_pieces(question.index)
    if any(piece.partial for piece in own):
        answers = _renamed(answers, "judge_unsure", "evidence_unseen")
    return grounded(abstained(question.rubric, answers), shown.places(question.index))


def without(asked: Sequence[Asked], cause: Cause, reason: str) -> tuple[Answer, ...]:
    """No answer to anything asked, all for one cause."""
    return tuple(undetermined(item, cause, reason) for item in asked)


def _cut_short(completion: Completion) -> tuple[str, ...]:
    return ("the reply hit its length limit: be much shorter",) if completion.finish_reason == "length" else ()


def _objection(faults: Sequence[str]) -> str:
    lines = "\n".join(f"- {fault}" for fault in faults[:20])
    return f"Your reply cannot be accepted:\n{lines}\nAnswer again, with the whole JSON object and nothing else."


def _renamed(answers: Sequence[Answer], cause: Cause, to: Cause) -> tuple[Answer, ...]:
    return tuple(answer.model_copy(update={"cause": to}) if answer.cause == cause else answer for answer in answers)

"""A cascade asks one or two cheap judges first, and a strong one only where their answers do not settle the question.

Only what is open is escalated, criterion by criterion and call by call. Two judges settle a question by agreeing; one
judge settles it by an answer that is sure enough, and, unless told otherwise, is not a no.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_service.budget import Budget
from judge_service.judges.hearing import Heard, answered, hear, parts, silent
from judge_service.judges.judge import Ask, Court, Judge, NamedJudge, Seat
from judge_service.question import Answered, Asked, Question, undetermined
from judge_service.shown import Shown
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Part

ESCALATION = "1"
"""Changes whenever the same answers may come to another one."""


class Referred:
    """The strong judge, as asked about what the first ones left open: a judge of its own, for the hard questions only.

    Its answers must not be counted as the strong judge's on all questions.
    """

    asks_model = True

    def __init__(self, judge: Judge, first: Sequence[NamedJudge]) -> None:
        self._judge = judge
        self._first = first

    @property
    def note(self) -> str:
        return self._judge.note

    def specification(self) -> JsonObject:
        return {
            "kind": "referred",
            "judge": self._judge.specification(),
            "after": [each.specification for each in self._first],
        }

    def estimate(self, question: Question, shown: Shown) -> tuple[int, int, float | None]:
        return self._judge.estimate(question, shown)

    async def answer(self, question: Question, shown: Shown, budget: Budget) -> Answered:
        return await self._judge.answer(question, shown, budget)


@dataclass(frozen=True)
class Threshold:
    """When the answer of a single first judge settles a question."""

    below_confidence: float | None = None
    """Escalate an answer whose confidence is known and lower."""
    escalate_no: bool = True


class Cascade(Court):
    """Two tiers."""

    def __init__(self, first: Sequence[Seat], then: Seat, threshold: Threshold) -> None:
        super().__init__([*first, then])
        self._first = tuple(first)
        self._then = then
        self._threshold = threshold

    @property
    def note(self) -> str:
        asked = " and ".join(seat.name for seat in self._first)
        when = "they disagree or do not answer" if len(self._first) > 1 else "its answer does not settle a question"
        return f"a cascade: {asked} first, {self._then.name} where {when}; that two judges agree does not make it true"

    def specification(self) -> JsonObject:
        own: JsonObject = {"below_confidence": self._threshold.below_confidence}
        own["escalate_no"] = self._threshold.escalate_no
        return {
            "kind": "cascade",
            "escalation": ESCALATION,
            "first": [seat.judge.specification for seat in self._first],
            "then": self._then.judge.specification,
            **(own if len(self._first) == 1 else {}),
        }

    async def convene(self, question: Question, ask: Ask) -> Answered:
        heard = await hear(ask, self._first, question)
        if any(each.landed.verdict.waiting for each in heard):
            # nobody knows yet what there is to escalate
            return answered([_silent(item, heard) for item in question.asked], heard, missing=heard)
        open_ = tuple(part for part in parts(question.asked) if self._is_open(part, heard))
        then = (await hear(ask, [self._then], question, open_))[0] if open_ else None
        answers = [self._answer(item, heard, then) for item in question.asked]
        return answered(answers, [*heard, *([then] if then else [])], missing=[*heard, *([then] if then else [])])

    def _is_open(self, part: Part, heard: Sequence[Heard]) -> bool:
        said = [answer for each in heard if (answer := each.answer(part))]
        if any(answer.answer == "undetermined" for answer in said):
            return True
        if len(self._first) > 1:
            return len({answer.answer for answer in said}) > 1
        limit, confidence = self._threshold.below_confidence, said[0].confidence
        unsure = limit is not None and confidence is not None and confidence < limit
        return unsure or (self._threshold.escalate_no and said[0].answer == "no")

    def _answer(self, item: Asked, heard: Sequence[Heard], then: Heard | None) -> Answer:
        (part,) = parts([item])
        first = {each.seat.name: answer for each in heard if (answer := each.answer(part))}
        told = "; ".join(f"{name} says {answer.answer}" for name, answer in first.items())
        second = then.answer(part) if then else None
        if second is None:
            return _settled(first)
        if second.answer != "undetermined":
            return _decided(second, told, self._then.name)
        return self._without(item, first, second)

    def _without(self, item: Asked, first: dict[str, Answer], second: Answer) -> Answer:
        """The strong judge has no answer. Where it failed, one that the first ones do not dispute stands."""
        determined = {name: answer for name, answer in first.items() if answer.answer != "undetermined"}
        words = {answer.answer for answer in determined.values()}
        failed = second.cause not in ("judge_unsure", "evidence_unseen", "contradiction", "rule_unknown")
        if failed and len(words) == 1:
            return _settled(determined)
        if not words:
            return silent(item, [second, *first.values()])
        told = "; ".join(f"{name} says {answer.answer}" for name, answer in first.items())
        return undetermined(item, second.cause or "judge_unsure", f"{told}; {self._then.name}: {second.reason}")


def _silent(item: Asked, heard: Sequence[Heard]) -> Answer:
    waiting = [each for each in heard if each.landed.verdict.waiting]
    names = " and ".join(each.seat.name for each in waiting)
    return undetermined(item, "in_batch", f"the question waits in a batch for {names}")


def _settled(first: dict[str, Answer]) -> Answer:
    """The answer that nobody among these disputes, in the words of the first that grounds it."""
    speaker, speech = min(first.items(), key=lambda each: each[1].ungrounded)
    reason = f"{' and '.join(first)} agree. {speaker}: {speech.reason}" if len(first) > 1 else speech.reason
    known = [answer.confidence for answer in first.values() if answer.confidence is not None]
    confidence = min(known) if len(known) == len(first) else None
    return speech.model_copy(update={"reason": reason, "confidence": confidence, "decided_by": tuple(first)})


def _decided(answer: Answer, told: str, by: str) -> Answer:
    return answer.model_copy(update={"reason": f"{told}; {by} decides: {answer.reason}", "decided_by": (by,)})

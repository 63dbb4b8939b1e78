"""A hearing asks the members of a court and keeps what each of them said and spent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from judge_service.errors import LedgerUnavailable
from judge_service.judges.judge import Ask, Seat
from judge_service.question import Answered, Asked, Question, undetermined
from stepjudge.scorecard import Landed
from stepjudge.value import JsonObject
from stepjudge.verdict import PASSING, Answer, Cause, Part, Spent, Verdict, Vote


@dataclass(frozen=True)
class Heard:
    """A member that was asked, and its verdict."""

    seat: Seat
    landed: Landed
    parts: tuple[Part, ...]
    """What it was asked."""

    def answer(self, part: Part) -> Answer | None:
        """Its answer to a part; null when it was not asked that."""
        if part not in self.parts:
            return None
        return next((one for one in self.landed.verdict.answers if same(one, part)), None)


def same(answer: Answer, part: Part) -> bool:
    return (answer.criterion, answer.call) == (part.criterion, part.call)


def parts(asked: Sequence[Asked]) -> tuple[Part, ...]:
    """What is asked, as the ledger spells it."""
    return tuple(Part(criterion=item.criterion.name, call=item.call) for item in asked)


async def hear(ask: Ask, seats: Sequence[Seat], question: Question, of: tuple[Part, ...] | None = None) -> list[Heard]:
    """Ask these members at the same time. Raises LedgerUnavailable when a verdict cannot be stored."""
    landed: dict[Seat, Landed] = {}

    async def one(seat: Seat) -> None:
        landed[seat] = await ask(seat, of)

    try:
        async with anyio.create_task_group() as group:
            for seat in seats:
                group.start_soon(one, seat)
    except* LedgerUnavailable as refused:
        raise LedgerUnavailable(str(refused.exceptions[0])) from refused
    return [Heard(seat, landed[seat], of or parts(question.asked)) for seat in seats]


def answered(answers: Sequence[Answer], heard: Sequence[Heard], missing: Sequence[Heard]) -> Answered:
    """The court's answers, with all that its members said and spent.

    `missing` are the members whose silence may pass: while there is one, the verdict is not remembered, and the next
    request asks that member again.
    """
    verdicts = [each.landed.verdict for each in heard]
    seen = next((verdict for verdict in verdicts if verdict.cuts or verdict.earlier_cuts), verdicts[0])
    return Answered(
        answers=tuple(answers),
        inherits_from=_inherited(verdicts),
        cuts=seen.cuts,
        earlier_cuts=seen.earlier_cuts,
        unfinished=next((cause for each in missing if (cause := _passing(each.landed.verdict))), None),
        exchanges=tuple(_exchange(each) for each in heard),
        votes=tuple(_vote(each) for each in heard),
        spent=_spent([each.landed.verdict.spent for each in heard if not each.landed.cached]),
    )


def silent(item: Asked, heard: Sequence[Answer]) -> Answer:
    """No member answered: the cause that most of them give, and what the first of those says."""
    causes: list[Cause] = [answer.cause for answer in heard if answer.cause]
    cause: Cause = Counter(causes).most_common(1)[0][0]
    first = next(answer for answer in heard if answer.cause == cause)
    return undetermined(item, cause, first.reason)


def _passing(verdict: Verdict) -> Cause | None:
    causes = [verdict.unfinished, *(answer.cause for answer in verdict.answers)]
    return next((cause for cause in causes if cause in PASSING), None)


def _inherited(verdicts: Sequence[Verdict]) -> tuple[int, ...]:
    """The earlier steps that more than half of the members name."""
    named = Counter(step for verdict in verdicts for step in verdict.inherits_from)
    return tuple(sorted(step for step, count in named.items() if 2 * count > len(verdicts)))


def _said(heard: Heard) -> tuple[Answer, ...]:
    return tuple(answer for part in heard.parts if (answer := heard.answer(part)))


def _vote(heard: Heard) -> Vote:
    return Vote(
        member=heard.seat.name,
        judge_digest=heard.seat.judge.digest,
        verdict_id=heard.landed.verdict.verdict_id,
        reused=heard.landed.cached,
        answers=_said(heard),
    )


def _exchange(heard: Heard) -> JsonObject:
    words: JsonObject = {
        answer.criterion if answer.call is None else f"{answer.criterion} of call {answer.call}": answer.answer
        for answer in _said(heard)
    }
    return {
        "member": heard.seat.name,
        "verdict_id": heard.landed.verdict.verdict_id,
        "reused": heard.landed.cached,
        "answers": words,
    }


def _spent(spents: Sequence[Spent]) -> Spent:
    """Sums over the members that were really asked; a figure that one of them lacks is null."""
    models = list(dict.fromkeys(spent.model for spent in spents if spent.model))
    return Spent(
        model=", ".join(models) or None,
        requests=sum(spent.requests for spent in spents),
        prompt_tokens=_total([spent.prompt_tokens for spent in spents]),
        cached_tokens=_total([spent.cached_tokens for spent in spents]),
        completion_tokens=_total([spent.completion_tokens for spent in spents]),
        cost_usd=None if any(spent.cost_usd is None for spent in spents) else sum(s.cost_usd or 0.0 for s in spents),
        latency_s=max((spent.latency_s for spent in spents), default=0.0),
    )


def _total(numbers: Sequence[int | None]) -> int | None:
    return None if None in numbers else sum(number for number in numbers if number is not None)

"""The model judge asks one model, once per step: it re-asks what it cannot accept, and abstains rather than guess."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from judge_service.budget import Budget
from judge_service.confidence import confident
from judge_service.consistency import abstained, contradictions
from judge_service.grounding import complaints, grounded
from judge_service.model import Completion, Model, ModelUnavailable
from judge_service.prompt import Prompt, prompt
from judge_service.question import Answered, Asked, Question, alone, undetermined
from judge_service.reply import Reply, read, schema
from judge_service.shown import Places, Shown
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Cause, Spent

CHARACTERS_PER_TOKEN = 4
"""For estimates only: a usual figure for English and code."""

FEWEST_BYTES_PER_TOKEN = 3
"""For reserving money: text that tokenizers spend more tokens on is rare, so a budget holds."""

_TOKENS_PER_ANSWER = 120

MOST_TOKENS_PER_ANSWER = 300
"""A step with many parallel calls needs a longer reply than the usual limit."""


@dataclass(frozen=True)
class _Exchange:
    """One request and what came of it."""

    completion: Completion
    reply: Reply
    objection: tuple[str, str] | None
    """(kind of fault, what to tell the model); null when the reply is accepted."""


class LlmJudge:
    """Any model behind the `Model` protocol."""

    asks_model = True
    note = ""

    def __init__(self, model: Model, specification: JsonObject) -> None:
        self._model = model
        self._specification = specification

    def specification(self) -> JsonObject:
        return {"kind": "llm", **self._specification}

    def estimate(self, question: Question, shown: Shown) -> tuple[int, int, float | None]:
        groups = alone(question)
        prompts = [prompt(part, shown) for part in groups]
        tokens = sum(math.ceil(each.length / CHARACTERS_PER_TOKEN) for each in prompts)
        completion = _TOKENS_PER_ANSWER * len(question.asked)
        return tokens, completion, self._model.price(tokens, completion)

    async def answer(self, question: Question, shown: Shown, budget: Budget) -> Answered:
        answered = [await self._ask(part, shown, budget) for part in alone(question)]
        return answered[0] if len(answered) == 1 else _joined(question, answered)

    async def _ask(self, question: Question, shown: Shown, budget: Budget) -> Answered:
        asking = prompt(question, shown)
        places = shown.places(question.index)
        log: list[JsonObject] = []
        said: list[tuple[str, str]] = []
        objected: set[str] = set()
        last: _Exchange | None = None
        failure: ModelUnavailable | None = None
        while last is None or last.objection:
            try:
                completion = await self._complete(asking, said, question, budget)
            except ModelUnavailable as error:
                failure = error
                log.append(_failed(error))
                break
            last = _judged(question, completion, places, objected)
            log.append(_logged(last))
            if last.objection:
                objected.add(last.objection[0])
                said.append((completion.text, last.objection[1]))
        return Answered(
            answers=_final(question, last, failure, shown),
            inherits_from=last.reply.inherits_from if last else (),
            prompt_digests=(asking.digest,),
            cuts=shown.cuts(question.index),
            earlier_cuts=shown.earlier_cuts(question.index),
            unfinished=failure.cause if failure and last else None,
            exchanges=tuple(log),
            spent=_spent(log),
        )

    async def _complete(
        self, asking: Prompt, said: Sequence[tuple[str, str]], question: Question, budget: Budget
    ) -> Completion:
        form = schema(question.form)
        limit = max(self._model.reply_limit, MOST_TOKENS_PER_ANSWER * len(question.form))
        estimate = self._most(asking, said, form, limit)
        if not await budget.reserve(estimate):
            raise ModelUnavailable(
                f"asking could cost ${estimate:.4f} and the budget is spent", cause="budget", attempts=0
            )
        cost: float | None = None
        try:
            completion = await self._model.complete(asking, said, form, limit)
            cost = completion.cost_usd
            return completion
        finally:
            await budget.settle(estimate, cost)

    def _most(self, asking: Prompt, said: Sequence[tuple[str, str]], form: JsonObject, limit: int) -> float | None:
        """About the most that asking can cost, in USD; null when the price is not known."""
        if self._model.price(0, 0) is None:
            return None
        texts = [asking.system, asking.user, json.dumps(form), *(text for pair in said for text in pair)]
        tokens = math.ceil(sum(len(text.encode()) for text in texts) / FEWEST_BYTES_PER_TOKEN)
        return self._model.price(tokens, limit)


def _judged(question: Question, completion: Completion, places: Places, objected: set[str]) -> _Exchange:
    """Read a completion and decide what, if anything, to object to: each kind of fault is objected to once."""
    reply = read(
        completion.text, question.asked, index=question.index, repair=completion.mode in ("json_object", "text")
    )
    reply = replace(reply, answers=confident(reply.answers, completion.tokens))
    if completion.refusal or completion.finish_reason == "content_filter":
        return _Exchange(completion, reply, None)
    faults = {
        "malformed": reply.faults and _cut_short(completion) + reply.faults,
        "contradiction": tuple(contradictions(question.rubric, reply.answers).values()),
        "ungrounded": complaints(reply.answers, places),
    }
    for kind, found in faults.items():
        if found and kind not in objected:
            return _Exchange(completion, reply, (kind, _objection(found)))
    return _Exchange(completion, reply, None)


def _cut_short(completion: Completion) -> tuple[str, ...]:
    return ("the reply hit its length limit: be much shorter",) if completion.finish_reason == "length" else ()


def _objection(faults: Sequence[str]) -> str:
    lines = "\n".join(f"- {fault}" for fault in faults[:20])
    return f"Your reply cannot be accepted:\n{lines}\nAnswer again, with the whole JSON object and nothing else."


def _final(
    question: Question, last: _Exchange | None, failure: ModelUnavailable | None, shown: Shown
) -> tuple[Answer, ...]:
    """The last reply's answers, checked; where there is none, undetermined with the cause."""
    if last is None:
        assert failure is not None
        return _without(question.asked, failure.cause, str(failure))
    if last.completion.refusal:
        return _without(question.asked, "refusal", last.completion.refusal)
    if last.completion.finish_reason == "content_filter":
        return _without(question.asked, "content_filter", "the provider withheld the reply")
    answers = last.reply.answers
    if last.completion.finish_reason == "length":
        answers = _renamed(answers, "malformed_reply", "truncated_reply")
    own = shown.own_pieces(question.index)
    if any(piece.partial for piece in own):
        answers = _renamed(answers, "judge_unsure", "evidence_unseen")
    return grounded(abstained(question.rubric, answers), shown.places(question.index))


def _without(asked: Sequence[Asked], cause: Cause, reason: str) -> tuple[Answer, ...]:
    return tuple(undetermined(item, cause, reason) for item in asked)


def _renamed(answers: Sequence[Answer], cause: Cause, to: Cause) -> tuple[Answer, ...]:
    return tuple(answer.model_copy(update={"cause": to}) if answer.cause == cause else answer for answer in answers)


def _joined(question: Question, parts: Sequence[Answered]) -> Answered:
    """Answers of separate calls, in the order asked; a contradiction between them cannot be re-asked, so it abstains."""
    by_place = {(answer.criterion, answer.call): answer for part in parts for answer in part.answers}
    answers = tuple(by_place[item.criterion.name, item.call] for item in question.asked)
    exchanges = tuple(exchange for part in parts for exchange in part.exchanges)
    return Answered(
        answers=abstained(question.rubric, answers),
        inherits_from=tuple(sorted({step for part in parts for step in part.inherits_from})),
        prompt_digests=tuple(digest for part in parts for digest in part.prompt_digests),
        cuts=parts[0].cuts,
        earlier_cuts=parts[0].earlier_cuts,
        unfinished=next((part.unfinished for part in parts if part.unfinished), None),
        exchanges=exchanges,
        spent=_spent(exchanges),
    )


def _failed(error: ModelUnavailable) -> JsonObject:
    return {
        "error": str(error),
        "cause": error.cause,
        "attempts": error.attempts,
        "perhaps_billed": error.perhaps_billed,
    }


def _logged(exchange: _Exchange) -> JsonObject:
    completion = exchange.completion
    return {
        "reply": completion.text,
        "refusal": completion.refusal,
        "finish_reason": completion.finish_reason,
        "mode": completion.mode,
        "dropped": list(completion.dropped),
        "model": completion.model,
        "prompt_tokens": completion.prompt_tokens,
        "cached_tokens": completion.cached_tokens,
        "completion_tokens": completion.completion_tokens,
        "cost_usd": completion.cost_usd,
        "latency_s": completion.latency_s,
        "attempts": completion.attempts,
        "perhaps_billed": completion.perhaps_billed,
        "objection": exchange.objection[1] if exchange.objection else None,
    }


def _spent(log: Sequence[JsonObject]) -> Spent:
    """Sums over the replies; a figure that one reply lacks is null.

    So is the cost where a try without an answer may have been billed: it timed out, or its connection broke.
    """
    certain = not any(entry["perhaps_billed"] for entry in log)
    replies = [entry for entry in log if "reply" in entry]
    models = [str(entry["model"]) for entry in replies if entry["model"]]
    return Spent(
        model=models[-1] if models else None,
        requests=sum(int(str(entry["attempts"])) for entry in log),
        prompt_tokens=_whole(replies, "prompt_tokens"),
        cached_tokens=_whole(replies, "cached_tokens"),
        completion_tokens=_whole(replies, "completion_tokens"),
        cost_usd=_sum(replies, "cost_usd") if certain else None,
        latency_s=_sum(replies, "latency_s") or 0.0,
    )


def _sum(entries: Sequence[JsonObject], key: str) -> float | None:
    values = [entry[key] for entry in entries]
    known = [float(value) for value in values if isinstance(value, int | float)]
    return sum(known) if len(known) == len(values) else None


def _whole(entries: Sequence[JsonObject], key: str) -> int | None:
    total = _sum(entries, key)
    return None if total is None else int(total)

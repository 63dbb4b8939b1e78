"""The model judge asks one model, once per step: it re-asks what it cannot accept, and abstains rather than guess."""

import json
import math
from collections.abc import Sequence

from judge_service.budget import Budget
from judge_service.judges.acceptance import Exchange, accepted, received, without
from judge_service.model import Completion, Model, ModelUnavailable
from judge_service.prompt import Prompt, prompt
from judge_service.question import Answered, Question
from judge_service.reply import schema
from judge_service.shown import Shown
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Spent

CHARACTERS_PER_TOKEN = 4
"""For estimates only: a usual figure for English and code."""

FEWEST_BYTES_PER_TOKEN = 3
"""For reserving money: text that tokenizers spend more tokens on is rare, so a budget holds."""

_TOKENS_PER_ANSWER = 120

MOST_TOKENS_PER_ANSWER = 300
"""A step with many parallel calls needs a longer reply than the usual limit."""


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
        tokens = math.ceil(prompt(question, shown).length / CHARACTERS_PER_TOKEN)
        completion = self._expected(question)
        return tokens, completion, self._model.price(tokens, completion)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """USD that so many tokens would cost; null when the price is not known."""
        return self._model.price(prompt_tokens, completion_tokens)

    async def answer(self, question: Question, shown: Shown, budget: Budget) -> Answered:
        asking = prompt(question, shown)
        places = shown.places(question.index)
        log: list[JsonObject] = []
        said: list[tuple[str, str]] = []
        objected: set[str] = set()
        last: Exchange | None = None
        failure: ModelUnavailable | None = None
        while last is None or last.objection:
            try:
                completion = await self._complete(asking, said, question, budget)
            except ModelUnavailable as error:
                if error.cause == "in_batch":
                    return _waiting(question, error)
                failure = error
                log.append(_failed(error))
                break
            last = received(question, completion, places, objected)
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
        except ModelUnavailable as error:
            if error.cause == "in_batch":  # it will be paid for, though nobody can say yet how much
                cost = self._model.price(math.ceil(asking.length / CHARACTERS_PER_TOKEN), self._expected(question))
            raise
        finally:
            await budget.settle(estimate, cost)

    def _expected(self, question: Question) -> int:
        return _TOKENS_PER_ANSWER * len(question.asked)

    def _most(self, asking: Prompt, said: Sequence[tuple[str, str]], form: JsonObject, limit: int) -> float | None:
        """About the most that asking can cost, in USD; null when the price is not known."""
        if self._model.price(0, 0) is None:
            return None
        texts = [asking.system, asking.user, json.dumps(form), *(text for pair in said for text in pair)]
        tokens = math.ceil(sum(len(text.encode()) for text in texts) / FEWEST_BYTES_PER_TOKEN)
        return self._model.price(tokens, limit)


def _final(
    question: Question, last: Exchange | None, failure: ModelUnavailable | None, shown: Shown
) -> tuple[Answer, ...]:
    """The last reply's answers, checked; where there is none, undetermined with the cause."""
    if last is None:
        assert failure is not None
        return without(question.asked, failure.cause, str(failure))
    return accepted(question, last, shown)


def _waiting(question: Question, error: ModelUnavailable) -> Answered:
    """Nothing is said before a batch has answered, and nothing is written down."""
    return Answered(without(question.asked, error.cause, str(error)))


def _failed(error: ModelUnavailable) -> JsonObject:
    return {
        "error": str(error),
        "cause": error.cause,
        "attempts": error.attempts,
        "perhaps_billed": error.perhaps_billed,
    }


def _logged(exchange: Exchange) -> JsonObject:
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

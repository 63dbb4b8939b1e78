"""A load is what answering one question takes of one judge: requests, tokens, money."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judge_service.judges.judge import Judge
from judge_service.question import Question
from judge_service.shown import Shown


@dataclass(frozen=True)
class Load:
    """Without re-asks."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """Null when the price is not known."""
    share: float = 1.0
    """Expected share of such questions that are asked at all: a cascade escalates some."""


class Total(NamedTuple):
    """A sum of loads."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


def load(judge: Judge, question: Question, shown: Shown) -> Load:
    """What the question takes of this judge."""
    prompt_tokens, completion_tokens, cost = judge.estimate(question, shown)
    return Load(1 if judge.asks_model else 0, prompt_tokens, completion_tokens, cost)


def expected_load(loads: Sequence[Load]) -> Total:
    """Each by its share, rounded up."""
    return _total(loads, lambda each: each.share)


def most_load(loads: Sequence[Load]) -> Total:
    """As if everything were asked."""
    return _total(loads, lambda _: 1.0)


def advice(loads: Sequence[Load]) -> str:
    """That a cascade saves nothing, where its first judges cost more than they spare the last one."""
    last = [each for each in loads if each.share < 1]
    alone, all_ = most_load(last).cost_usd, expected_load(loads).cost_usd
    if not alone or all_ is None or all_ < alone:
        return ""
    return f"this cascade is expected to cost ${all_:.4f}, its last judge alone ${alone:.4f}: ask that one"


def _total(loads: Sequence[Load], weight: Callable[[Load], float]) -> Total:
    costs = [each.cost_usd for each in loads]
    return Total(
        requests=_whole(sum(weight(each) * each.requests for each in loads)),
        prompt_tokens=_whole(sum(weight(each) * each.prompt_tokens for each in loads)),
        completion_tokens=_whole(sum(weight(each) * each.completion_tokens for each in loads)),
        cost_usd=None if None in costs else sum(weight(each) * (each.cost_usd or 0.0) for each in loads),
    )


def _whole(number: float) -> int:
    # a sum of shares such as 0.1 is a little above the whole number it means
    return math.ceil(number - 1e-9)

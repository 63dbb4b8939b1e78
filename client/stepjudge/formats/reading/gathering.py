"""Gathering puts together what a log spreads out: the entries of one model emission, the usages of a run."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeVar

from stepjudge.trace import Usage
from stepjudge.value import JsonObject

_N = TypeVar("_N", int, float)

MAX_NESTING = 6
"""Sub-agents within sub-agents; deeper traces could not be written as one JSON document."""


def gathered(
    entries: Iterable[JsonObject],
    *,
    emission: Callable[[JsonObject], str | None],
    opens_turn: Callable[[JsonObject], bool],
) -> list[list[JsonObject]]:
    """Entries of one emission, by its id, stand where the first of them stood; any other entry stands alone. Ids are
    compared within a turn: harnesses that restart may use them anew."""
    groups: list[list[JsonObject]] = []
    known: dict[str, list[JsonObject]] = {}
    for entry in entries:
        if opens_turn(entry):
            known.clear()
        key = emission(entry)
        group = known.get(key) if key is not None else None
        if group is None:
            group = list[JsonObject]()
            groups.append(group)
            if key is not None:
                known[key] = group
        group.append(entry)
    return groups


def stated(usage: Usage) -> Usage | None:
    """Null where nothing is stated, as in `read_usage`."""
    return None if usage == Usage() else usage


def summed(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of what is stated; null where nothing is."""
    known = [usage for usage in usages if usage is not None]
    return stated(
        Usage(
            prompt_tokens=_sum([each.prompt_tokens for each in known]),
            cached_tokens=_sum([each.cached_tokens for each in known]),
            completion_tokens=_sum([each.completion_tokens for each in known]),
            cost_usd=_sum([each.cost_usd for each in known]),
        )
    )


def _sum(numbers: list[_N | None]) -> _N | None:
    known = [number for number in numbers if number is not None]
    return reduce(lambda total, number: total + number, known) if known else None

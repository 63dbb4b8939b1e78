"""Matching calls against expected ones, as the Berkeley Function Calling Leaderboard does (its AST evaluation)."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from stepjudge.checks.running.condition import alike
from stepjudge.trace import Call

Strings = Literal["loose", "exact"]
_LOOSE = re.compile(r"[ ,./\-_*^]")


def accepts(expected: Mapping[str, Mapping[str, list[JsonValue]]], call: Call, *, strings: Strings) -> bool:
    """Whether the call is the expected one: its tool, every parameter it must have, and none that it may not."""
    ((name, parameters),) = expected.items()
    return call.name == name and call.arguments is not None and _object(call.arguments, parameters, strings)


def ordered_matches(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Number of the call that each expected one takes, each after the one before it."""
    match: dict[int, int] = {}
    after = 0
    for number, row in enumerate(fits):
        call = next((call for call in range(after, len(row)) if row[call]), None)
        if call is not None:
            match[number], after = call, call + 1
    return match


def paired(fits: Sequence[Sequence[bool]], calls: int) -> dict[int, int]:
    """As many pairs of an expected call and a call as can be had: the greedy choice can leave one out needlessly.

    Augmenting paths (Kuhn 1955), by hand: the only graph of this library, and of a few dozen nodes.
    """
    taken: dict[int, int] = {}

    def place(number: int, tried: set[int]) -> bool:
        for call in range(calls):
            if fits[number][call] and call not in tried:
                tried.add(call)
                if call not in taken or place(taken[call], tried):
                    taken[call] = number
                    return True
        return False

    for number in range(len(fits)):
        place(number, set())
    return {number: call for call, number in taken.items()}


def _object(
    value: Mapping[str, JsonValue], allowed: Mapping[str, list[JsonValue] | JsonValue], strings: Strings
) -> bool:
    if any(key not in allowed for key in value):
        return False
    for key, choice in allowed.items():
        choices = choice if isinstance(choice, list) else [choice]
        if key not in value:
            if "" not in choices:
                return False
        elif not any(_fits(value[key], each, strings) for each in choices):
            return False
    return True


def _fits(value: JsonValue, choice: JsonValue, strings: Strings) -> bool:
    match value, choice:
        case str(), str():
            return _standard(value, strings) == _standard(choice, strings)
        case list(), list():
            return len(value) == len(choice) and all(
                _fits(item, each, strings) for item, each in zip(value, choice, strict=True)
            )
        case dict(), dict():
            return _object(value, choice, strings)  # BFCL lists the allowed values of nested keys too
        case _:
            return alike(value, choice)


def _standard(text: str, strings: Strings) -> str:
    return text if strings == "exact" else _LOOSE.sub("", text).lower().replace("'", '"')

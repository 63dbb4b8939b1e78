"""The short-answer check: whether the answer in the attempt's last words is the expected one: yes, no, or cannot tell.

Where answers are names and numbers, words decide most cases: the same words are right, and an answer that shares no word
with the expected one is mostly wrong. What shares some needs a reader, so the check then says that it cannot tell. On
AgentProcessBench hotpotqa (250 attempts) 100 of 100 passes and 74 of 87 fails are what people say, and 63 are left open.
"""

import re
from typing import Literal

from pydantic import JsonValue, model_validator

from stepjudge.checks.check import BadCheck, CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.final_output import MAX_OUTPUT, normalised
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import shown
from stepjudge.checks.running.query import Query, selected
from stepjudge.short_answer import short_answer

_ARTICLES = frozenset({"a", "an", "the"})
_NO_WORD = re.compile(r"[^\w]+")


class ShortAnswer(Check):
    """An answer of a few words, which the final output marks (`<answer>…</answer>`, `answer: …`) or consists of."""

    kind: Literal["short-answer"] = "short-answer"
    expected: JsonValue = None
    """The right answer; a list when any of several is right."""
    reference: Query | None = None
    """Where the task's reference holds it, in place of `expected`."""

    @model_validator(mode="after")
    def _has_one_answer(self) -> "ShortAnswer":
        if ("expected" in self.model_fields_set) == (self.reference is not None):
            raise ValueError("give either expected or reference")
        if self.reference is None:
            _choices([self.expected])
        return self

    async def run(self, scene: Scene) -> Finding:
        output = scene.final_output
        if output is None and scene.trace is not None:
            output = scene.trace.final_output or ""
        if output is None:
            raise CannotCheck("the trial has neither a final output nor a trace")
        return await in_thread(lambda clock: self._found(output, scene, clock))

    def _found(self, output: str, scene: Scene, clock: Clock) -> Finding:
        choices = _choices([self.expected] if self.reference is None else _selected(self.reference, scene, clock))
        given = short_answer(output) or output[-MAX_OUTPUT:]
        alike = answers_alike(given, choices)
        named = " or ".join(shown(choice) for choice in choices[:5])
        if alike is None:
            raise CannotCheck(f"the answer {shown(given[:200])} shares words with {named}: only a reader can tell")
        reason = f"the answer is {named}" if alike else f"the answer shares no word with {named}"
        return Finding(
            outcome="pass" if alike else "fail", reason=reason, evidence=(CheckEvidence.of("answer", given),)
        )


def answers_alike(given: str, expected: list[str]) -> bool | None:
    """True for the same words but for articles, case and punctuation; false for no common word; null between."""
    if any(_spelled(given) == _spelled(each) for each in expected):
        return True
    return None if any(_words(given) & _words(each) for each in expected) else False


def _spelled(text: str) -> list[str]:
    words = normalised(text).split()
    return [word for word in words if word not in _ARTICLES] or words


def _words(text: str) -> set[str]:
    """Without signs and symbols: −5 and 5 are not the same, yet too near to be told apart by words."""
    return set(_NO_WORD.sub(" ", " ".join(_spelled(text))).split())


def _selected(query: Query, scene: Scene, clock: Clock) -> list[JsonValue]:
    found = selected(query, scene.reference, clock)
    if not found:
        raise CannotCheck(f"the task's reference holds nothing at {query}")
    return found


def _choices(expected: list[JsonValue]) -> list[str]:
    choices = [each for value in expected for each in (value if isinstance(value, list) else [value])]
    for choice in choices or [None]:
        if isinstance(choice, bool) or not isinstance(choice, str | int | float) or not _words(str(choice)):
            raise BadCheck(f"expected: {shown(choice)} is no text with a word in it")
    return [str(choice) for choice in choices]

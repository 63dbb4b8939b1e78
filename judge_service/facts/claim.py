"""A claim is what a message without calls says: an answer that the observations carry or not, a refusal, or nothing."""

import re
from collections.abc import Iterator

from judge_service.facts.wording import shortened, words
from stepjudge.short_answer import TAIL, short_answer
from stepjudge.trace import Step
from stepjudge.verdict import Fact

# A look-up reads every observation, so their number is bounded.
_MOST_LOOK_UPS = 20

_MARKUP = re.compile(
    r"<tool_call\b|<\|tool_calls?|<function_calls?>|<function=|<invoke name=|\[TOOL_CALLS\]|<tool_use>"
    r"|```(?:json|tool_code)?\s{0,20}\{\s{0,20}\"(?:name|tool|tool_name|function|action)\"\s{0,5}:"
    r"|^Action ?: ?\S.{0,100}\n{1,3}Action Input ?:",
    re.MULTILINE,
)
_HEDGE = re.compile(
    r"\bi(?: am|'m| was)? (?:sorry|can(?:not|'t| not)|could(?: not|n't)|unable|do(?: not|n't) (?:know|have))"
    r"|\b(?:was|were|am|is|are) (?:unable|not able) to\b"
    r"|\b(?:can ?not|can't|could not|couldn't) (?:be )?(?:determine|identif|find|found|answer|verif|confirm|provid)"
    r"|\b(?:not enough|in ?sufficient|no sufficient|no (?:definitive|clear|specific|reliable)) (?:information|evidence|data|answer)"
    r"|\bno (?:information|answer|evidence) (?:is|was|could|available|found)"
    r"|\b(?:not (?:available|specified|provided|mentioned|known|found|clear|determinable)|undetermined|inconclusive)\b",
    re.IGNORECASE,
)
_NOTHING_SAID = frozenset({"unknown", "n a", "na", "none", "not found", "unclear", "uncertain", "no answer"})
_NOT_LOOKED_UP = frozenset({"yes", "no", "true", "false"})


class Claims:
    """Remembers what was observed, and looks answers up in it."""

    def __init__(self, task: str) -> None:
        self._task = words(task)
        self._observed: list[str] = []
        self._read: list[tuple[int, str]] = []
        self._look_ups: dict[str, int] = {}
        self._steps: list[int] = []

    def of(self, step: Step) -> Iterator[Fact]:
        if step.calls or step.observation:
            self._observe(step)
        else:
            yield from self._of_message(step)

    def _observe(self, step: Step) -> None:
        own = [step.observation] if step.observation else []
        texts = [result.text for result in (*(call.result for call in step.calls), *own) if result.text.strip()]
        self._observed += texts
        self._steps += [step.index] * len(texts)

    def _of_message(self, step: Step) -> Iterator[Fact]:
        if not step.message.strip():
            if not step.attachments:
                yield Fact(name="no_action", detail="neither a call nor a word")
            return
        if markup := _MARKUP.search(step.message[:TAIL]) or _MARKUP.search(step.message[-TAIL:]):
            yield Fact(name="unparsed_tool_markup", detail=shortened(markup[0], 60))
        answer = short_answer(step.message)
        said = words(answer).strip() if answer is not None else ""
        hedge = _HEDGE.search(step.message[-TAIL:] if answer is None else answer)
        if hedge is not None or said in _NOTHING_SAID:
            yield Fact(name="hedge", detail=shortened(hedge[0] if hedge else said, 60))
        if not self._observed:
            yield Fact(name="nothing_observed", detail="no earlier call has a result")
        elif said and said not in _NOT_LOOKED_UP:
            yield from self._grounding(said)

    def _grounding(self, said: str) -> Iterator[Fact]:
        if said not in self._look_ups and len(self._look_ups) >= _MOST_LOOK_UPS:
            return
        where = self._where(said)
        if where is None:
            yield Fact(name="answer_not_in_observations", detail=f"{shortened(said, 80)!r} was not observed")
        else:
            yield Fact(name="answer_in_observations", detail=f"{shortened(said, 80)!r} stands in {where}")

    def _where(self, said: str) -> str | None:
        sought = f" {said} "
        if sought in self._task:
            return "the task"
        for step, text in zip(self._steps[len(self._read) :], self._observed[len(self._read) :], strict=True):
            self._read.append((step, words(text)))
        # What an earlier look-up has read without finding it need not be read again.
        start = self._look_ups.get(said, 0)
        for place in range(start, len(self._read)):
            if sought in self._read[place][1]:
                self._look_ups[said] = place
                return f"a result of step {self._read[place][0]}"
        self._look_ups[said] = len(self._read)
        return None

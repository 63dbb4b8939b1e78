"""The leak check: whether the answer key was shown to the agent before it came up with the answer itself."""

from typing import Literal

from pydantic import Field, JsonValue

from stepjudge.checks.check import CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import shown
from stepjudge.checks.running.phrases import Phrase, occurring, phrases, without_line_numbers, words
from stepjudge.checks.running.query import Query, selected
from stepjudge.trace import Call, Result, Step, Trace


class Leak(Check):
    """One reference and one trace. For answers that no source the agent may use holds: a hidden test, a patch, a canary.

    Looked for are the texts and long numbers of the reference, as sequences of words, whatever their case, spacing and
    punctuation; of a unified diff only the lines that it adds. What stands in the task itself is no secret.
    """

    kind: Literal["leak"] = "leak"
    parts: Query = "$"
    """Where the task's reference holds what must not be seen."""
    canaries: tuple[str, ...] = ()
    """Further texts that must not be seen."""
    words: int = Field(default=10, ge=3, le=100)
    """How many words in a row give a longer text away. A shorter one is looked for as a whole."""
    characters: int = Field(default=12, ge=4, le=1_000)
    """Letters and digits that a text must have to be distinctive. `yes` or `Paris` is not."""

    async def run(self, scene: Scene) -> Finding:
        if scene.trace is None:
            raise CannotCheck("the trial has no trace")
        trace = scene.trace
        return await in_thread(lambda clock: self._look(trace, scene, clock))

    def _look(self, trace: Trace, scene: Scene, clock: Clock) -> Finding:
        texts = [text for value in selected(self.parts, scene.reference, clock) for text in _leaves(value)]
        secret = phrases([*texts, *self.canaries], length=self.words, characters=self.characters)
        if not secret:
            raise CannotCheck(f"nothing distinctive is in the reference at {self.parts}")
        secret -= occurring(secret, words(_given(trace)))
        if not secret:
            raise CannotCheck("all that is distinctive in the reference stands in the task itself")
        found = _leaks(trace, secret, "", clock)
        if not found:
            return Finding(outcome="pass", reason=f"none of {len(secret):,} phrases was shown before the agent said it")
        evidence = tuple(CheckEvidence.of(place, " ".join(phrase)) for place, phrase in found[:20])
        place, phrase = found[0]
        reason = f"{place} shows {shown(' '.join(phrase))} of the answer key before the agent produced it"
        return Finding(outcome="fail", reason=reason, evidence=evidence)


def _leaks(trace: Trace, secret: set[Phrase], prefix: str, clock: Clock) -> list[tuple[str, Phrase]]:
    unsaid = set(secret)
    found: list[tuple[str, Phrase]] = []
    for step in trace.steps:
        clock.left()
        place = f"{prefix}s{step.index}"
        found += _shown(place, unsaid, _before(step))
        unsaid -= occurring(unsaid, words(_said(step)))
        for number, call in enumerate(step.calls, start=1):
            for below in call.subtraces:
                found += _leaks(below, unsaid, f"{place}.c{number}.", clock)
            found += _shown(f"{place}.c{number}.result", unsaid, call.result.text)
        found += _shown(f"{place}.observation", unsaid, (step.observation or Result()).text)
    return found


def _shown(place: str, unsaid: set[Phrase], text: str) -> list[tuple[str, Phrase]]:
    found = occurring(unsaid, words(text))
    if (bare := without_line_numbers(text)) != text:
        found |= occurring(unsaid, words(bare))
    return [(place, phrase) for phrase in sorted(found)]


def _given(trace: Trace) -> str:
    """What the agent was told: no secret, whatever the reference holds."""
    asked = [message.text for step in trace.steps for message in step.before if message.role in ("user", "system")]
    tools = [f"{tool.name} {tool.description} {' '.join(_leaves(tool.parameters))}" for tool in trace.tools]
    return "\n".join([trace.system, trace.task, *tools, *asked])


def _before(step: Step) -> str:
    return "\n".join(message.text for message in step.before if message.role in ("tool", "other"))


def _said(step: Step) -> str:
    return "\n".join([step.reasoning, step.message, *(_arguments(call) for call in step.calls)])


def _arguments(call: Call) -> str:
    return "\n".join([call.arguments_raw or "", *_leaves(call.arguments)])


def _leaves(value: JsonValue) -> list[str]:
    match value:
        case str():
            return [value]
        case bool() | None:
            return []
        case int() | float():
            return [str(value)]
        case list():
            return [leaf for item in value for leaf in _leaves(item)]
        case _:
            return [leaf for item in value.values() for leaf in _leaves(item)]

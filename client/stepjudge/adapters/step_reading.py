"""A step's reading is what was answered about it and why, as JSON and as lines that a person reads."""

from typing import Literal

from stepjudge.contract import StepScore
from stepjudge.metric import Answers
from stepjudge.value import Value
from stepjudge.verdict import Answer, Fact
from stepjudge.visible import visible

_QUOTE = 200
_REASON = 400


class StepReading(Value):
    """One step: what was answered about it and why."""

    step: int
    """Position in the trace, from 1."""
    turn: int
    tools: tuple[str, ...]
    """The tools that the step called, in order; none when it is a message."""
    answers: Answers
    """The step's answer to every criterion."""
    passes: bool | None
    bad: bool | None
    score: Literal[-1, 0, 1] | None
    findings: tuple[Answer, ...]
    """Every answer, per call where the criterion is asked of calls, with its reason and evidence."""
    facts: tuple[Fact, ...]
    inherits_from: tuple[int, ...]
    cached: bool
    verdict_id: str


def step_reading(step: StepScore) -> StepReading:
    return StepReading(
        step=step.index,
        turn=step.turn,
        tools=tuple(call.name for call in step.calls),
        answers=step.answers,
        passes=step.passes,
        bad=step.bad,
        score=step.score,
        findings=step.details,
        facts=step.facts,
        inherits_from=step.inherits_from,
        cached=step.cached,
        verdict_id=step.verdict_id,
    )


def explained(step: StepReading, *, passing: bool = False) -> tuple[str, ...]:
    """The lines that say why a step does not pass: each no with its reason and first quote, then what stayed open.

    `passing`: also each yes, with the same.
    """
    tools = _cut(", ".join(step.tools), _QUOTE) if step.tools else "message"
    verdict = {-1: "bad", 0: "does not pass", 1: "passes", None: "undetermined"}[step.score]
    if step.score is None and step.passes is False:
        verdict = "does not pass"
    lines = [f"step {step.step} ({tools}): {verdict}"]
    told = ("no", "yes") if passing else ("no",)
    lines += [_finding(finding) for finding in step.findings if finding.answer in told]
    lines += _open(step.findings)
    return tuple(map(visible, lines))


def _open(findings: tuple[Answer, ...]) -> list[str]:
    """Undetermined answers, one line for each cause: they tend to share it."""
    lines: list[str] = []
    for cause in dict.fromkeys(each.cause for each in findings if each.cause):
        those = [each for each in findings if each.cause == cause]
        names = ", ".join(dict.fromkeys(each.criterion for each in those))
        lines.append(f"  {names}: undetermined ({cause}): {_cut(those[0].reason, _REASON)}")
    return lines


def _finding(finding: Answer) -> str:
    call = "" if finding.call is None else f" (call {finding.call})"
    quote = next((f" — {each.place}: “{_cut(each.quote, _QUOTE)}”" for each in finding.evidence), "")
    ungrounded = " (ungrounded)" if finding.ungrounded else ""
    return f"  {finding.criterion}{call}: {finding.answer}: {_cut(finding.reason, _REASON)}{quote}{ungrounded}"


def _cut(text: str, length: int) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= length else f"{folded[: length - 1]}…"

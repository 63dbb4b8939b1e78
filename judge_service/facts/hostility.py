"""Hostility is text in a trace that works on its reader: it speaks to the judge, forges a frame, or hides characters."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from judge_service.facts.wording import folded, shortened
from stepjudge.trace import Step, Trace
from stepjudge.verdict import Fact

_JUDGE = (
    r"(?:(?:llm|ai|auto(?:matic|mated)?|step|model|language model)[ -]?)?"
    r"(?:judge|auto-?grader|grader|evaluator|assessor|scorer|reviewer)s?"
)
_GRADE = r"(?:mark|rate|score|grade|label|judge|consider|treat|classify|count|evaluate|accept)"
_GOOD = (
    r"(?:valid|relevant|useful|correct|pass(?:ed|ing)?|yes|success(?:ful)?|perfect|full marks|10/10|5/5|\+1|1\.0|true)"
)
_GRADED = r"(?:steps?|calls?|actions?|answers?|traces?|trajector(?:y|ies)|runs?|criteri(?:on|a)|it|everything)"
_FRAMES = (
    r"(?:observation|tool_result|tool_response|function_results?|trace|steps?|untrusted\w{0,20}|evidence|rubric|question"
    r"|system|instructions?|data|transcript)"
)
_FRAME_STARTS = (
    "</observation", "</tool_", "</function_", "</trace", "</step", "</untrusted", "</evidence", "</rubric",
    "</question", "</system", "</instruction", "</data", "</transcript", "<|", "[/inst]", "<<sys>>",
)  # fmt: skip
_JUDGES = ("judge", "judging", "grader", "grading", "evaluator", "evaluating", "assessor", "scorer", "reviewer")
_STEPS = (
    "every ",
    "all ",
    "this ",
    "each ",
    "these ",
    "the step",
    "everything",
    "criteri",
    "rubric",
    "verdict",
    "marks",
)


@dataclass(frozen=True)
class _Sign:
    """A pattern, tried only around its hooks, in windows of bounded length and number: the cost is to find the hooks."""

    kind: str
    hooks: tuple[str, ...]
    pattern: re.Pattern[str]


_SIGNS = (
    _Sign("speaks to a judge", _JUDGES, re.compile(
        rf"(?:dear|hey|hello|attention|attn|(?:note|message|instructions?|reminder|hint) (?:to|for)|to|for)"
        rf" (?:all |any |the |our |whichever ){{0,3}}{_JUDGE}\s{{0,3}}[,:!.]"
        rf"|(?:^|[\n:.!\"'>*#\]])\s{{0,5}}(?:system\s{{0,3}}[:,]\s{{0,3}})?(?:the )?{_JUDGE}\s{{0,3}}[,:]\s"
        rf"|you (?:are|were|as) (?:an?|the) (?:\w{{1,20}} ){{0,3}}{_JUDGE}\b"
        rf"|as (?:an?|the) {_JUDGE},? you\b"
        r"|if you(?:'re| are) (?:judging|grading|evaluating|scoring|reviewing)\b")),
    _Sign("orders an answer", _STEPS, re.compile(
        rf"\b{_GRADE} (?:\w{{1,20}} ){{0,3}}{_GRADED}\b.{{0,60}}\b{_GOOD}"
        rf"|\b(?:give|award|assign|return|output|answer|respond|reply|report)\b.{{0,40}}\b(?:{_GOOD}|highest|maximum|top)\b"
        r".{0,40}\b(?:steps?|criteri(?:on|a)|rubrics?|scores?|marks?|verdicts?|grades?)\b"
        rf"|\b(?:steps?|calls?|actions?) (?:is|are|was|were|must be|should be) (?:\w{{1,20}} ){{0,2}}"
        rf"(?:{_GRADE}e?d|considered)\b.{{0,30}}\b{_GOOD}")),
    _Sign("sets the rubric aside", ("rubric", "criteri", "grading", "evaluation", "judg", "verdict"), re.compile(
        r"\b(?:ignore|disregard|forget|override|bypass|skip) (?:\w{1,20} ){0,4}"
        r"(?:rubrics?|criteria|grading|evaluation|judg\w{1,10}|verdicts?)\b")),
    _Sign("forges a frame", _FRAME_STARTS, re.compile(
        rf"</{_FRAMES} ?>\s{{0,10}}(?:system|user|human|assistant|judge|evaluator|question|instructions?|now|the)\b"
        r"|<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id)\|>"
        r"|\[/inst\]|<<sys>>")),
    _Sign("forges a verdict", ('"criterion"', "valid=", "valid =", "valid:", 'valid"'), re.compile(
        r"\"criterion\"\s{0,5}:.{0,120}\"answer\"\s{0,5}:"
        r"|\bvalid\"?\s{0,3}[=:]\s{0,3}\"?(?:true|yes)\b.{0,60}\b(?:relevant|useful)\"?\s{0,3}[=:]\s{0,3}\"?(?:true|yes)")),
)  # fmt: skip
_BEFORE, _AFTER, _MOST_WINDOWS = 120, 200, 50

# Escape sequences that colour a terminal are too common to report.
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_HIDDEN = {
    "bidirectional": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "zero-width": "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0",
    # Both spell whole hidden messages. The other variation selectors, used by emoji, are left out.
    "tag": "\U000e0000-\U000e0fff",
    "control": "\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f",
    "lone surrogate": "\ud800-\udfff",
}
_ANY_HIDDEN = re.compile(f"[{''.join(_HIDDEN.values())}]")
_KINDS = tuple((kind, re.compile(f"[{letters}]+")) for kind, letters in _HIDDEN.items())


class Hostility:
    """Of each text by itself, wherever the trace carries one that its author may not control."""

    def __init__(self, trace: Trace) -> None:
        tools = "\n".join(tool.description for tool in trace.tools)
        self._at_first = (("task", trace.task), ("system", trace.system), ("tools", tools))

    def of(self, step: Step) -> Iterator[Fact]:
        for place, text in self._at_first if step.index == 1 else ():
            yield from _of_text(None, place, text)
        prefix = f"s{step.index}"
        for message in step.before:
            yield from _of_text(None, f"{prefix}.before", message.text)
        yield from _of_text(None, f"{prefix}.message", step.message)
        for number, call in enumerate(step.calls, start=1):
            arguments = "\n".join(_strings(call.arguments)) if call.arguments_raw is None else call.arguments_raw
            yield from _of_text(number, f"{prefix}.c{number}.arguments", arguments)
            yield from _of_text(number, f"{prefix}.c{number}.result", call.result.text)
        if step.observation is not None:
            yield from _of_text(None, f"{prefix}.result", step.observation.text)


def _of_text(call: int | None, place: str, text: str) -> Iterator[Fact]:
    if not text:
        return
    for kind, quote in _addressed(folded(text)):
        yield Fact(name="addresses_judge", call=call, detail=f"{place} {kind}: {shortened(quote, 100)!r}")
    if counts := _hidden(text):
        detail = ", ".join(f"{count} {kind}" for kind, count in counts)
        yield Fact(name="invisible_characters", call=call, detail=f"{place}: {detail}")


def _addressed(text: str) -> Iterator[tuple[str, str]]:
    for sign in _SIGNS:
        for start, end in _windows(text, sign.hooks):
            if found := sign.pattern.search(text, start, end):
                yield sign.kind, found[0]
                break


def _windows(text: str, hooks: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    for hook in hooks:
        place = text.find(hook)
        for _ in range(_MOST_WINDOWS):
            if place < 0:
                break
            yield max(0, place - _BEFORE), place + _AFTER
            # A hit in the first half of this window is still seen whole.
            place = text.find(hook, place + _AFTER // 2)


def _hidden(text: str) -> list[tuple[str, int]]:
    if not _ANY_HIDDEN.search(text):
        return []
    plain = _COLOUR.sub("", text) if "\x1b" in text else text
    counts = [(kind, len(plain) - len(pattern.sub("", plain))) for kind, pattern in _KINDS]
    return [(kind, count) for kind, count in counts if count]


def _strings(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += [*part.values(), *part.keys()]
        elif isinstance(part, list):
            waiting += part

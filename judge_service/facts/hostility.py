"""Hostility is text in a trace that works on its reader: it speaks to the judge, forges a frame, or hides characters."""

import re
from collections.abc import Iterator

from judge_service.facts.coded import decoded
from judge_service.facts.hostile_signs import signs
from judge_service.facts.wording import folded, shortened
from stepjudge.trace import Step, Trace
from stepjudge.verdict import Fact

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
        tools = "\n".join(
            text for tool in trace.tools for text in (tool.name, tool.description, *_strings(tool.parameters))
        )
        self._at_first = (("task", trace.task), ("system", trace.system), ("tools", tools))

    def of(self, step: Step) -> Iterator[Fact]:
        for place, text in self._at_first if step.index == 1 else ():
            yield from _of_text(None, place, text)
        prefix = f"s{step.index}"
        for message in step.before:
            yield from _of_text(None, f"{prefix}.before", message.text)
            yield from _of_text(None, f"{prefix}.before", message.name or "")
        yield from _of_text(None, f"{prefix}.message", step.message)
        for number, call in enumerate(step.calls, start=1):
            yield from _of_text(number, f"{prefix}.c{number}.tool", call.name)
            arguments = "\n".join(_strings(call.arguments)) if call.arguments_raw is None else call.arguments_raw
            yield from _of_text(number, f"{prefix}.c{number}.arguments", arguments)
            yield from _of_text(number, f"{prefix}.c{number}.result", call.result.text)
        if step.observation is not None:
            yield from _of_text(None, f"{prefix}.result", step.observation.text)


def _of_text(call: int | None, place: str, text: str) -> Iterator[Fact]:
    if not text:
        return
    for kind, quote in signs(folded(text)):
        yield Fact(name="addresses_judge", call=call, detail=f"{place} {kind}: {shortened(quote, 100)!r}")
    told = set[str]()
    for code, said in decoded(text):
        for kind, quote in signs(folded(said)):
            if code not in told:
                told.add(code)
                yield Fact(
                    name="addresses_judge", call=call, detail=f"{place} {kind} in {code}: {shortened(quote, 100)!r}"
                )
    if counts := _hidden(text):
        detail = ", ".join(f"{count} {kind}" for kind, count in counts)
        yield Fact(name="invisible_characters", call=call, detail=f"{place}: {detail}")


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

"""A shown step is a step as an annotator reads it: what came before it, what it says and does, what it brought."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from judge_service.pages.passage import Passage, arguments, passage
from stepjudge.trace import Attachment, Call, Result, Step, Trace

_EARLIER_HEAD, _EARLIER_TAIL = 700, 300

_Cut = Callable[[str, str], Passage]
"""Of a place and its text."""


@dataclass(frozen=True)
class Piece:
    """A text and what it is."""

    title: str
    passage: Passage | None
    """Null where there is no text: the title says why."""
    error: bool = False
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True)
class ShownStep:
    index: int
    turn: int
    summary: str
    """In a few words, for a list."""
    pieces: tuple[Piece, ...]


def shown(step: Step, *, whole: bool) -> ShownStep:
    """`whole`: with long heads and tails, as the step in question; else short, as those before it."""
    return ShownStep(step.index, step.turn, _summary(step), tuple(_pieces(step, whole=whole)))


def opening(trace: Trace) -> tuple[Piece, ...]:
    """What stands before the first step."""
    task = Piece("Task", passage("task", trace.task), attachments=trace.task_attachments)
    return (task, Piece("System prompt", passage("system", trace.system))) if trace.system else (task,)


def _pieces(step: Step, *, whole: bool) -> Iterator[Piece]:
    def cut(place: str, text: str) -> Passage:
        return passage(place, text) if whole else passage(place, text, head=_EARLIER_HEAD, tail=_EARLIER_TAIL)

    place = f"s{step.index}"
    for number, message in enumerate(step.before, start=1):
        title = f"{message.role}{f' {message.name}' if message.name else ''}"
        yield Piece(title, cut(f"{place}.before{number}", message.text), attachments=message.attachments)
    if step.reasoning:
        yield Piece("Reasoning", cut(f"{place}.reasoning", step.reasoning))
    if step.message or step.attachments or not step.calls:
        title = "Message" if step.message else "Message: none"
        text = cut(f"{place}.message", step.message) if step.message else None
        yield Piece(title, text, attachments=step.attachments)
    for number, call in enumerate(step.calls, start=1):
        yield from _call(call, f"{place}.c{number}", f"Call {number}" if len(step.calls) > 1 else "Call", cut)
    if step.observation:
        yield _result("Observation", step.observation, f"{place}.observation", cut)


def _call(call: Call, place: str, title: str, cut: _Cut) -> Iterator[Piece]:
    spelled = arguments(call)
    state = "" if call.arguments_state == "ok" else f" (arguments {call.arguments_state})"
    yield Piece(f"{title}: {call.name}{state}", cut(f"{place}.arguments", spelled) if spelled else None)
    yield _result("Result", call.result, f"{place}.result", cut)


def _result(title: str, result: Result, place: str, cut: _Cut) -> Piece:
    told = [
        *([] if result.state == "present" else [result.state]),
        *(["error"] if result.is_error else []),
        *([] if result.exit_code is None else [f"exit code {result.exit_code}"]),
    ]
    return Piece(
        f"{title}{': ' if told else ''}{', '.join(told)}",
        cut(place, result.text) if result.text else None,
        error=bool(result.is_error),
        attachments=result.attachments,
    )


def _summary(step: Step) -> str:
    if step.calls:
        return ", ".join(call.name for call in step.calls[:4])
    return " ".join(step.message.split())[:80] or "message"

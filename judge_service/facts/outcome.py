"""An outcome is what a call's result says before anybody reads its content: failed, empty, missing, unseen."""

import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

from judge_service.facts.lookup import is_look_up
from judge_service.facts.wording import shortened
from stepjudge.trace import Call, Result, Step, Trace
from stepjudge.verdict import Fact

_ERROR = re.compile(
    r"[\s\"'`<\[(*#>❌⚠️\ufe0f]{0,20}"
    r"(?:(?:tool_use_)?error\b|(?:\w{1,40}\.){0,5}\w{0,40}(?:Error|Exception)\b|traceback \(most recent call last\)|fatal:|panic:"
    r"|failed\b|failure\b|exception\b|(?:an|internal|unexpected|unknown|runtime|server|api|mcp|http) error\b"
    r"|(?:http(?:/[\d.]+)? )?[45]\d\d (?:bad|unauthori|forbidden|not found|too many|internal|service|gateway)"
    r"|(?:command|permission|access) (?:not found|denied)|access denied|permission denied|invalid\b|unknown tool\b"
    r"|no such\b|timed? ?out\b|rate limit)",
    re.IGNORECASE,
)
# Failures of what lies between the agent and what it looks for: they tell nothing about that.
_OUTSIDE = re.compile(
    r".{0,60}?\b(?:timed? ?out|connection (?:refused|reset|aborted|closed|error|failed)|network (?:error|is unreachable)"
    r"|service unavailable|bad gateway|internal server error|too many requests|rate limit)",
    re.IGNORECASE,
)
_SHORT = 300
_SMALL = 20_000


class Outcomes:
    """Of each result by itself; and that the first step has nothing to recover from."""

    def __init__(self, trace: Trace) -> None:
        self._task_attachments = len(trace.task_attachments)

    def of(self, step: Step) -> Iterator[Fact]:
        if step.index == 1:
            yield Fact(name="first_step", detail="there is no earlier step", settles=True)
        for number, call in enumerate(step.calls, start=1):
            yield from _of_call(number, call)
        yield from self._unseen(step)

    def _unseen(self, step: Step) -> Iterator[Fact]:
        count = len(step.attachments) + sum(len(message.attachments) for message in step.before)
        count += self._task_attachments if step.index == 1 else 0
        if count:
            yield Fact(name="unseen_attachment", detail=f"{count} beside the text of the step or of what it answers")


def error_text(text: str) -> str:
    """The message of a JSON error object such as `{"error": …}`; the text itself when it is none."""
    if len(text) > _SMALL or not text.lstrip().startswith("{"):
        return text
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    while isinstance(value, dict) and (inner := value.get("error")):
        value = inner
        if isinstance(value, dict) and isinstance(message := value.get("message"), str):
            return message
    return value if isinstance(value, str) else text


def _of_call(number: int, call: Call) -> Iterator[Fact]:
    result = call.result
    # A program that reports how it ended ran: a failing test run or a search without a match is information.
    if result.is_error and result.exit_code is None:
        certain = _tells_nothing(call)
        yield Fact(
            name="failed_result" if certain else "error_result", call=number, detail=_said(result), settles=certain
        )
    if result.exit_code:
        yield Fact(name="nonzero_exit", call=number, detail=f"exit code {result.exit_code}")
    if _empty(result):
        # A look-up that finds nothing says nothing; a change that succeeds may be silent.
        if is_look_up(call):
            yield Fact(name="empty_result", call=number, detail="the look-up brought no content", settles=True)
        else:
            yield Fact(
                name="silent_result", call=number, detail="no content, from a call that may have changed something"
            )
    if result.state == "missing":
        yield Fact(name="missing_result", call=number, detail="the trace has no result for this call")
    if result.is_error is None and result.exit_code is None and _looks_like_error(result.text):
        yield Fact(name="looks_like_error", call=number, detail=_said(result))
    if result.attachments:
        kinds = ", ".join(sorted({attachment.kind for attachment in result.attachments}))
        yield Fact(name="unseen_attachment", call=number, detail=shortened(f"{len(result.attachments)}: {kinds}"))


def _empty(result: Result) -> bool:
    if result.state == "missing" or result.attachments:
        return False
    # With an exit code, silence says something: a change succeeded (0), or nothing was found (1).
    return result.exit_code is None and (result.state == "empty" or not result.text.strip())


def _tells_nothing(call: Call) -> bool:
    """Other errors may tell what was sought, such as "no such user" or the price that was due."""
    result = call.result
    if result.error_kind in ("unknown_tool", "bad_arguments") or not result.text.strip():
        return True
    return len(result.text) <= _SHORT and _OUTSIDE.match(error_text(result.text)) is not None and is_look_up(call)


def _looks_like_error(text: str) -> bool:
    return error_text(text) is not text or _ERROR.match(text[:400]) is not None


def _said(result: Result) -> str:
    return shortened(error_text(result.text)) or "the environment gave no message"

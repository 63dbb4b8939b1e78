"""A call is rejected when the environment refuses it unheard: there is no such tool, or the arguments do not fit it.

Where the format does not say so, the words of the environment must leave no doubt; words that only look like a refusal
are the signal `looks_rejected`.
"""

import json
import re
from collections.abc import Iterator

from judge_service.facts.outcome import error_text
from judge_service.facts.refusal import is_refusal
from judge_service.facts.schema import Schemas, Violation
from judge_service.facts.wording import shortened
from stepjudge.trace import Call, Step, Tool
from stepjudge.verdict import Fact

# All are matched at the start of a short text, so a program's output that mentions such an error is not taken for one.
_HEAD = 600

_NO_SUCH_TOOL = re.compile(
    r"(?:unknown|unsupported|unrecogni[sz]ed|invalid|no such|non-?existent) (?:tool|function|call|action)\b"
    r"|(?:the )?(?:tool|function|action)(?: named)? \S{1,100} (?:is |was |does )?(?:not|un|n't)\s?"
    r"(?:found|available|exist|a valid|valid|known|defined|registered|recogni[sz]ed|supported|in\b)"
    r"|there is no (?:tool|function)\b"
    r"|\S{1,100} is not (?:a (?:valid|known)|an available) (?:tool|function)\b",
    re.IGNORECASE,
)
_BAD_ARGUMENTS = re.compile(
    r"(?:input)?validation ?error|input validation error|\d+ validation errors?\b"
    r"|(?:invalid|bad|malformed|wrong|unexpected|missing|unparse?able|illegal|incorrect)"
    r" (?:\d+ )?(?:required )?(?:positional |keyword |input |tool |function |json |call )*"
    r"(?:arguments?|args|parameters?|params?|inputs?|json)\b"
    r"|(?:error |failed to |could ?n[o']t |could not |cannot |unable to )?"
    r"(?:parse|parsing|decode|decoding|validate|validating)(?: \w{1,20}){0,4} (?:arguments?|args|parameters?|input|json)\b"
    r"|error validating\b|(?:arguments?|args|parameters?) (?:are|is|must|should|could|did|do|does|failed|not)\b"
    r"|(?:arguments|parameters) .{0,80}\brequired\b"
    r"|(?:invalid|not valid) json\b|json ?decode ?error|expecting (?:value|property name|',' delimiter)"
    r"|unterminated string|extra data: line"
    r"|\S{1,100} (?:got an unexpected keyword argument|missing \d+ required)"
    r"|.{0,120}(?:is a required property|must have required property|is not of type|is required\b|field required)"
    r"|(?:an )?error (?:invoking|occurred while parsing|calling|executing) (?:tool )?.{0,200}(?:validation error|argument|valid json)"
    r"|invoking .{0,120}failed as the following mandatory",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:[\s<>\[\]{}()'\"*#`:!❌⚠️\ufe0f-]|(?:tool_use_)?error(?: code)?|mcp error -?\d+|exception|failed|tool call"
    r"|(?:type|value|runtime|tool)(?:error|exception)){1,40}",
    re.IGNORECASE,
)
_MISSING = re.compile(r"(?:missing|required|no value for)\b", re.IGNORECASE)


class Rejections:
    """What the declared tools and the environment say of a call's name and arguments."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self._names = {tool.name for tool in tools}
        self._schemas = Schemas(tools)

    def of(self, step: Step) -> Iterator[Fact]:
        for number, call in enumerate(step.calls, start=1):
            yield from self._of_call(number, call)

    def _of_call(self, number: int, call: Call) -> Iterator[Fact]:
        unknown = bool(self._names) and call.name not in self._names
        violations = self._violations(call)  # before the schema is asked for its fault: use may show one
        if unknown:
            yield Fact(name="unknown_tool", call=number, detail=shortened(f"{call.name!r} is not among the tools"))
        schema = self._schemas.of(call.name)
        if schema is not None and schema.fault is not None:
            yield Fact(name="tool_schema_invalid", call=number, detail=schema.fault)
        if violations:
            yield Fact(name="schema_violation", call=number, detail=violations[0].detail)
        if call.arguments_state == "unparsed":
            yield Fact(name="unparsed_arguments", call=number, detail=shortened(call.arguments_raw or ""))
        detail = shortened(error_text(call.result.text)) or "the environment gave no message"
        if self._rejected(call, violations):
            yield Fact(name="rejected", call=number, detail=detail, settles=True)
        elif self._looks_rejected(call, unknown=unknown, misfit=bool(violations) or call.arguments_state == "unparsed"):
            yield Fact(name="looks_rejected", call=number, detail=detail)

    def _violations(self, call: Call) -> tuple[Violation, ...]:
        if call.arguments_state != "ok" or call.arguments is None:
            return ()
        schema = self._schemas.of(call.name)
        if schema is None or schema.fault is not None:
            return ()
        return schema.violations(call.arguments, len(json.dumps(call.arguments)))

    def _rejected(self, call: Call, violations: tuple[Violation, ...]) -> bool:
        if call.result.error_kind in ("unknown_tool", "bad_arguments"):
            return True
        if _ran(call):
            return False
        known = call.name in self._names if self._names else None
        if call.result.is_error and not call.result.text.strip():
            # An error without a word: something else may have failed, unless the call could not have been made.
            return known is False or call.arguments_state == "unparsed"
        return is_refusal(call, violations, known=known, declared=tuple(self._schemas.parameter_names(call.name)))

    def _looks_rejected(self, call: Call, *, unknown: bool, misfit: bool) -> bool:
        if _ran(call):
            return False
        if call.result.is_error and (unknown or misfit):
            return True
        complaint = _complaint(call.result.text)
        if _NO_SUCH_TOOL.match(complaint) and (unknown or _names(call.name, complaint)):
            return True
        if misfit and _BAD_ARGUMENTS.match(complaint):
            return True
        return (misfit or bool(_MISSING.match(complaint))) and self._names_parameter(call, complaint)

    def _names_parameter(self, call: Call, complaint: str) -> bool:
        return any(_names(name, complaint) for name in self._schemas.parameter_names(call.name))


def _ran(call: Call) -> bool:
    """A program that ended, or ran out of time, was started: its arguments were accepted."""
    result = call.result
    ended = result.exit_code is not None or result.error_kind == "timeout"
    return result.state == "missing" or ended or result.is_error is False


def _complaint(text: str) -> str:
    """The start of an error message, without the words that only say that it is one."""
    message = error_text(text)[:_HEAD]
    opening = _OPENING.match(message)
    return message[opening.end() :] if opening else message


def _names(name: str, complaint: str) -> bool:
    return (
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", complaint[:200]) is not None
        if name and name in complaint
        else False
    )

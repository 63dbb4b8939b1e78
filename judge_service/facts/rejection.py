"""A call is rejected when the environment refuses it unheard: there is no such tool, or the arguments do not fit it."""

import json
import re
from collections.abc import Iterator

from judge_service.facts.outcome import error_text
from judge_service.facts.schema import Schemas
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
        violation = self._violation(call)  # before the schema is asked for its fault: use may show one
        if unknown:
            yield Fact(name="unknown_tool", call=number, detail=shortened(f"{call.name!r} is not among the tools"))
        schema = self._schemas.of(call.name)
        if schema is not None and schema.fault is not None:
            yield Fact(name="tool_schema_invalid", call=number, detail=schema.fault)
        if violation is not None:
            yield Fact(name="schema_violation", call=number, detail=violation)
        if call.arguments_state == "unparsed":
            yield Fact(name="unparsed_arguments", call=number, detail=shortened(call.arguments_raw or ""))
        if self._rejected(call, unknown=unknown, misfit=violation is not None or call.arguments_state == "unparsed"):
            detail = shortened(error_text(call.result.text)) or "the environment gave no message"
            yield Fact(name="rejected", call=number, detail=detail, settles=True)

    def _violation(self, call: Call) -> str | None:
        if call.arguments_state != "ok" or call.arguments is None:
            return None
        schema = self._schemas.of(call.name)
        if schema is None or schema.fault is not None:
            return None
        return schema.violation(call.arguments, len(json.dumps(call.arguments)))

    def _rejected(self, call: Call, *, unknown: bool, misfit: bool) -> bool:
        result = call.result
        if result.error_kind in ("unknown_tool", "bad_arguments"):
            return True
        # A program that ended, or ran out of time, was started: its arguments were accepted.
        if result.state == "missing" or result.exit_code is not None or result.error_kind == "timeout":
            return False
        if result.is_error is False:
            return False
        if result.is_error and (unknown or misfit):
            return True
        complaint = _complaint(result.text)
        if unknown and _NO_SUCH_TOOL.match(complaint):
            return True
        if misfit and (_BAD_ARGUMENTS.match(complaint) or self._names_parameter(call, complaint)):
            return True
        # The trace may list no tools or others, and a tool may ask for more than its schema says. Then the message
        # alone must be plain: it names the tool that was called, or says that a declared parameter is missing.
        if _NO_SUCH_TOOL.match(complaint) and _names(call.name, complaint):
            return True
        return bool(_MISSING.match(complaint)) and self._names_parameter(call, complaint)

    def _names_parameter(self, call: Call, complaint: str) -> bool:
        return any(_names(name, complaint) for name in self._schemas.parameter_names(call.name))


def _complaint(text: str) -> str:
    """The start of an error message, without the words that only say that it is one."""
    message = error_text(text)[:_HEAD]
    opening = _OPENING.match(message)
    return message[opening.end() :] if opening else message


def _names(name: str, complaint: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", complaint[:200]) is not None if name else False

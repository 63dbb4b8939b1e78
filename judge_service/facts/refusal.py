"""A refusal is a message by which an environment says, beyond doubt, that it did not accept this very call.

It has the form of an error, is short, and speaks of what is wrong with the call: the tool's name, arguments that are not
JSON, or a violation of the schema. A result that merely begins with "missing" or "required" is what the tool had to say.
"""

import re
from collections.abc import Iterable

from judge_service.facts.outcome import error_text
from judge_service.facts.schema import Violation
from stepjudge.trace import Call

_LONGEST = 1_000

# Stand for the names of the tool and of parameters, so that the patterns need no knowledge of them.
_TOOL, _PARAMETER = "\ue000", "\ue001"
_Q = r"[\s:'\"`\[(]{0,4}"

_ERROR = re.compile(
    r"[\s<\[('\"*#`❌⚠️\ufe0f]{0,20}(?:tool_use_error>\s?)?"
    r"(?:(?:(?:an )?error\b|mcp error -?\d+|exception\b|[A-Za-z.]{0,60}(?:Error|Exception)\b)[\s:>'\"*`-]{0,10}){1,3}",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"^[\s<\['\"]{0,10}(?:tool_use_error>)?\s{0,5}")
_NO_SUCH_TOOL = re.compile(
    rf"(?:unknown|unsupported|unrecogni[sz]ed|invalid|no such|non-?existent) (?:tool|function|call|action)"
    rf"(?: call)?(?: name)?(?: available)?{_Q}{_TOOL}['\"`\])]{{0,2}}(?:$|[\s.,;:!?<])"
    rf"|(?:the )?(?:tool|function)(?: named| called)?{_Q}{_TOOL}['\"`\])]{{0,2}} (?:is |was |does |could )?(?:not |un)"
    r"(?:be )?(?:found|available|exist|a valid|valid|known|defined|registered|recogni[sz]ed|supported)"
    rf"|['\"`]?{_TOOL}['\"`]? is not (?:a|an) (?:valid|known|available|supported|registered) (?:tool|function)\b"
    rf"|there is no (?:tool|function)(?: named| called)?{_Q}{_TOOL}",
    re.IGNORECASE,
)
# These speak of a call's arguments by their form alone.
_ABOUT_ARGUMENTS = re.compile(
    r"(?:input ?)?validation ?error\b|\d+ validation errors? for\b"
    rf"|(?:invalid|bad|malformed|wrong|illegal|incorrect) (?:input |tool |function |call )?(?:arguments?|args|parameters?|params)"
    rf" (?:for|to|in|of)(?: the)?(?: tool| function)?(?: call)?{_Q}{_TOOL}"
    rf"|{_TOOL}(?:\(\))? (?:missing \d+ required|got an unexpected keyword argument)"
    rf"|invoking {_Q}{_TOOL}(?:\(\))?['\"`]? failed as the following mandatory"
    r"|(?:failed to|could not|couldn't|cannot|unable to) (?:parse|decode|validate) (?:the )?(?:tool |function )(?:call )?arguments"
    r"|-32602\b",
    re.IGNORECASE,
)
_UNREADABLE = re.compile(
    r"(?:error |occurred |while |failed to |could not |couldn't |cannot |unable to ){0,3}"
    r"(?:pars|decod|validat)(?:e|ing) (?:the )?(?:tool |function |call |input |json ){0,3}(?:arguments?|args|parameters|input)\b"
    r"|(?:invalid|malformed|unparse?able|bad) (?:json )?(?:tool |function |call |input |json )*(?:arguments?|args|parameters)\b"
    r"|(?:tool |function |call )*(?:arguments|args|parameters) (?:are|is|must be|were|could not be) (?:not |no |a )?(?:valid |an? )?(?:json|object|parsed)",
    re.IGNORECASE,
)
_MISSING = rf"(?:missing|required|mandatory|no value for|not present)\b.{{0,60}}?{_PARAMETER}"
_ASKED_FOR = rf"{_PARAMETER}['\"`]?(?: field| parameter| argument)?(?:\s*:)?\s+(?:is |field )?(?:a )?(?:required|missing|mandatory)"
_WRONG = (
    rf"{_PARAMETER}['\"`]?(?::| field| parameter| argument)?\s+(?:must|should) be (?:an?|one|of|in|at|between|greater|less|not)\b"
    rf"|{_PARAMETER}['\"`]?(?::| field| parameter| argument)?\s+(?:is not|expected) (?:an?|of|one)\b"
    rf"|(?:invalid|wrong) (?:type|value) (?:for|of) (?:the )?(?:parameter |argument |field )?['\"`]?{_PARAMETER}"
)
_EXTRA = (
    r"(?:unexpected|additional|extra|unknown|unrecogni[sz]ed|unsupported) (?:keyword )?"
    rf"(?:argument|arg|parameter|property|properties|field|key|input)s?\b.{{0,60}}?{_PARAMETER}"
)
_EXTRA_NAMED = re.compile(_EXTRA, re.IGNORECASE | re.DOTALL)
_NAMED = {
    "required": re.compile(f"{_MISSING}|{_ASKED_FOR}", re.IGNORECASE | re.DOTALL),
    "additionalProperties": _EXTRA_NAMED,
}
_NAMED_OTHERWISE = re.compile(_WRONG, re.IGNORECASE)
_KIND = r"(?:parameter|argument|property|properties|field|key|input)s?\b"
_KEYWORDS = {
    "required": re.compile(
        rf"(?:missing|required|mandatory)(?: \d+)?(?: required| positional| keyword| input)* {_KIND}"
        r"|field required|is a required property|not present",
        re.IGNORECASE,
    ),
    "type": re.compile(
        r"is not of type|input should be|invalid[_ ]type|type[_ ]error|(?:must be|expected|valid) (?:an? )?"
        r"(?:string|integer|int|number|float|boolean|bool|array|list|object|dict\w*)\b",
        re.IGNORECASE,
    ),
    "enum": re.compile(r"is not one of|must be one of|input should be|invalid[_ ]enum", re.IGNORECASE),
    "additionalProperties": re.compile(
        rf"(?:additional|unexpected|extra|unrecogni[sz]ed)(?: keyword)? {_KIND}", re.IGNORECASE
    ),
}


def is_refusal(call: Call, violations: Iterable[Violation], *, known: bool | None, declared: tuple[str, ...]) -> bool:
    """Whether the call's result is one. `known`: the tool is declared, or null where the trace declares none;
    `declared`: the parameters of its schema."""
    text = call.result.text
    if len(text) > _LONGEST:
        return False
    told = error_text(text)
    message = told.replace(_TOOL, "").replace(_PARAMETER, "")
    opening = _ERROR.match(message)
    explicit = call.result.is_error is True or told is not text or opening is not None
    # Without the words that only say that it is an error; and with them, since some forms are words of that kind.
    spoken = [
        _with(call.name, _TOOL, each)
        for each in (message[opening.end() :] if opening else message, _WRAPPED.sub("", message[:80]) + message[80:])
    ]
    if known is False and any(_NO_SUCH_TOOL.match(each) for each in spoken):
        return True
    if known is None and explicit and _NO_SUCH_TOOL.match(spoken[0]):
        return True
    form = next((found for each in spoken if (found := _ABOUT_ARGUMENTS.match(each))), None)
    if not explicit and form is None:
        return False
    if call.arguments_state == "unparsed":
        return form is not None or any(_says_unreadable(each, declared) for each in spoken)
    if any(_speaks_of(violation, spoken, form) for violation in violations):
        return True
    # Python's own refusal, of an argument that the schema neither declares nor forbids.
    others = set(call.arguments or {}) - set(declared) if declared else set[str]()
    return form is not None and any(_EXTRA_NAMED.search(_with(name, _PARAMETER, spoken[0])) for name in others)


def _says_unreadable(message: str, declared: tuple[str, ...]) -> bool:
    missing = _NAMED["required"]
    return bool(_UNREADABLE.match(message)) or any(missing.match(_with(name, _PARAMETER, message)) for name in declared)


def _speaks_of(violation: Violation, spoken: list[str], form: re.Match[str] | None) -> bool:
    """By its keyword in a message about arguments; or by its parameter, said to be wrong in that way."""
    if form is not None and (keyword := _KEYWORDS.get(violation.keyword)) and keyword.search(form.string):
        return True
    for name in violation.parameters:
        if form is not None and _TOOL in form[0] and _with(name, _PARAMETER, form.string) != form.string:
            return True
        pattern = _NAMED.get(violation.keyword, _NAMED_OTHERWISE)
        if any(pattern.match(_with(name, _PARAMETER, each).lstrip("'\"` ")) for each in spoken):
            return True
    return False


def _with(name: str, mark: str, text: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", mark, text) if name and name in text else text

"""Parts are what a Gemini content consists of: text, thoughts, function calls and responses, code and its outcome, files.

The REST API spells their fields in camel case, Python's `model_dump()` in snake case with nulls: both are read.
"""

from dataclasses import dataclass, field

from pydantic import JsonValue

from stepjudge.formats.reading.content import Content, compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.shape import as_bool, as_count, as_list, as_object, as_text, identifier, objects
from stepjudge.trace import Call, ErrorKind, Usage
from stepjudge.value import JsonObject

_KINDS = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
}
_ALONE = ("output", "result", "return_value", "error")
"""Keys under which frameworks put what a function returned, when that was no object."""
_RUN_CODE = "code_execution"


def either(value: JsonObject, camel: str, snake: str) -> JsonValue:
    found = value.get(camel)
    return value.get(snake) if found is None else found


def is_part(value: JsonValue) -> bool:
    part = as_object(value)
    own = any(isinstance(either(part, camel, snake), dict) for camel, snake in _KINDS.items())
    signed = isinstance(either(part, "thoughtSignature", "thought_signature"), str)
    is_of_others = "type" in part or "part_kind" in part
    return not is_of_others and (own or signed or isinstance(part.get("text"), str))


def is_content(value: JsonValue) -> bool:
    """Whether it is a Gemini content; one whose answer was blocked has no parts."""
    content = as_object(value)
    return ("parts" in content or content.get("role") == "model") and all(
        is_part(each) for each in as_list(content.get("parts"))[:10]
    )


@dataclass(frozen=True)
class Outcome:
    """What came back from a call, as a part tells it."""

    content: JsonValue | Content
    id: str | None
    name: str
    is_error: bool | None = None
    error_kind: ErrorKind | None = None


@dataclass
class Parts:
    said: list[JsonValue] = field(default_factory=list[JsonValue])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[Call] = field(default_factory=list[Call])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    @property
    def reasoning(self) -> str:
        return "\n".join(text for text in self.thoughts if text)

    def tell_outcomes(self, draft: Draft) -> None:
        for each in self.outcomes:
            draft.result(
                each.content, id=each.id, name=each.name or None, is_error=each.is_error, error_kind=each.error_kind
            )


def read_parts(draft: Draft, content: JsonValue) -> Parts:
    """The parts of a content, by what they are."""
    found = Parts()
    for value in as_list(as_object(content).get("parts")):
        part = as_object(value)
        if isinstance(call := either(part, "functionCall", "function_call"), dict):
            found.calls.append(draft.call(as_text(call.get("name")), call.get("args"), id=identifier(call.get("id"))))
        elif isinstance(call := either(part, "toolCall", "tool_call"), dict):
            name = as_text(either(call, "toolType", "tool_type")).lower()
            found.calls.append(draft.call(name, call.get("args"), id=identifier(call.get("id"))))
        elif isinstance(code := either(part, "executableCode", "executable_code"), dict):
            arguments: JsonObject = {key: code[key] for key in ("language", "code") if code.get(key) is not None}
            found.calls.append(draft.call(_RUN_CODE, arguments, id=identifier(code.get("id"))))
        elif (outcome := _outcome(part)) is not None:
            found.outcomes.append(outcome)
        elif part.get("thought") is True and isinstance(part.get("text"), str):
            found.thoughts.append(as_text(part["text"]))
        else:
            found.said += _said(value)
    return found


def _said(value: JsonValue) -> list[JsonValue]:
    """Text and files. Signatures of thoughts are noise, and a part may hold nothing else."""
    if not isinstance(value, dict):
        return [value]
    if isinstance(value.get("text"), str):
        return [value["text"]]
    noise = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution")
    part: JsonObject = {key: member for key, member in value.items() if member is not None and key not in noise}
    return [part] if part else []


def _outcome(part: JsonObject) -> Outcome | None:
    answer = either(part, "functionResponse", "function_response") or either(part, "toolResponse", "tool_response")
    if isinstance(answer, dict):
        response = answer.get("response")
        name = as_text(answer.get("name")) or as_text(either(answer, "toolType", "tool_type")).lower()
        return Outcome(_returned(response, answer), identifier(answer.get("id")), name, _is_error(response))
    ran = either(part, "codeExecutionResult", "code_execution_result")
    if not isinstance(ran, dict):
        return None
    state = as_text(ran.get("outcome")).removeprefix("OUTCOME_")
    return Outcome(
        ran.get("output"),
        identifier(ran.get("id")),
        _RUN_CODE,
        {"OK": False, "FAILED": True, "DEADLINE_EXCEEDED": True}.get(state),
        "timeout" if state == "DEADLINE_EXCEEDED" else None,
    )


def _is_error(response: JsonValue) -> bool | None:
    """`error` is the API's own key for failures, `isError` that of MCP; all else belongs to the application."""
    fields = as_object(response)
    if fields.get("error"):
        return True
    return as_bool(either(fields, "isError", "is_error"))


def _returned(response: JsonValue, answer: JsonObject) -> Content:
    """An object as JSON, unless it only wraps something else; with the files that were returned beside it."""
    files = read_content([*objects(answer.get("parts"))]).attachments
    key = next(iter(response)) if isinstance(response, dict) and len(response) == 1 else None
    inner = response[key] if isinstance(response, dict) and key in _ALONE else response
    if inner is None or isinstance(inner, str):
        return Content(inner or "", files)
    return Content(compact(inner), files)


def read_gemini_usage(value: JsonValue) -> Usage | None:
    """Thoughts are paid as output, as in every other format; what tools put into the prompt is paid as input."""
    stated = as_object(value)
    usage = Usage(
        prompt_tokens=_sum(stated, ("promptTokenCount", "prompt_token_count"),
                           ("toolUsePromptTokenCount", "tool_use_prompt_token_count")),
        cached_tokens=as_count(either(stated, "cachedContentTokenCount", "cached_content_token_count")),
        completion_tokens=_sum(stated, ("candidatesTokenCount", "candidates_token_count"),
                               ("thoughtsTokenCount", "thoughts_token_count")),
    )  # fmt: skip
    return None if usage == Usage() else usage


def _sum(stated: JsonObject, *keys: tuple[str, str]) -> int | None:
    counts = [count for pair in keys if (count := as_count(either(stated, *pair))) is not None]
    return sum(counts) if counts else None

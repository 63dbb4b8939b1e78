"""The Responses API has an item type for each of its tools: all of them are calls, and their outputs are results."""

from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.formats.reading.content import compact
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.shape import as_integer, as_list, as_object, as_text, identifier, objects, rest
from stepjudge.trace import Call
from stepjudge.value import JsonObject

_ARGUMENTS = ("arguments", "action", "operation")
_FREE_TEXT = {"custom_tool_call": "input", "code_interpreter_call": "code", "program": "code"}
TOKENS = ("prompt_token_ids", "generation_token_ids", "generation_log_probs", "routed_experts")
"""What servers for training add to items."""
_KNOWN = ("type", "id", "call_id", "name", "status", "results", "outputs", "result", "output", "error")
_HOSTED = ("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")


@dataclass(frozen=True)
class HostedResult:
    """The result of a tool that ran at the provider; the content is null where the item does not carry one."""

    id: str | None
    name: str
    content: JsonValue
    is_error: bool | None


def is_call(kind: str) -> bool:
    return kind.endswith("_call") or kind in ("program", "mcp_approval_request")


def is_output(kind: str) -> bool:
    return kind.endswith("_output")


def call_id(item: JsonObject) -> str | None:
    return identifier(item.get("call_id")) or identifier(item.get("id"))


def name_of(item: JsonObject) -> str:
    """Built-in tools have no name: their type is it."""
    return as_text(item.get("name")) or as_text(item.get("type")).removesuffix("_call")


def read_call(draft: Draft, item: JsonObject) -> Call:
    kind = as_text(item.get("type"))
    used = _FREE_TEXT.get(kind) or next((key for key in _ARGUMENTS if key in item), None)
    if kind == "custom_tool_call":
        draft.note("the input of a custom tool is free text: it is carried as the argument `input`")
    if used is None:
        arguments = None if kind == "function_call" else rest(item, *_KNOWN, *TOKENS)
        extra: JsonObject = {}
    else:
        arguments = {used: item.get(used)} if kind in _FREE_TEXT else item[used]
        extra = rest(item, *_KNOWN, *TOKENS, used)
    if item.get("status") not in (None, "completed"):
        extra["status"] = item["status"]
    return draft.call(name_of(item), arguments, id=call_id(item), extra=extra)


def hosted_result(item: JsonObject) -> HostedResult | None:
    """What came back to a tool that the provider ran; null for tools that the harness runs."""
    kind = as_text(item.get("type"))
    if kind not in _HOSTED:
        return None
    failed = item.get("status") == "failed" or item.get("error") is not None
    content = _hosted_content(kind, item)
    if failed and content is None:
        content = ""
    works = kind == "mcp_call" and item.get("output") is not None
    return HostedResult(call_id(item), name_of(item), content, True if failed else False if works else None)


def _hosted_content(kind: str, item: JsonObject) -> JsonValue:
    error = item.get("error")
    if error is not None:
        return as_text(as_object(error).get("message")) or as_object(error).get("content") or error
    match kind:
        case "mcp_call":
            return item.get("output")
        case "web_search_call":
            sources = as_object(item.get("action")).get("sources")
            return None if sources is None else compact(sources)
        case "file_search_call":
            return None if item.get("results") is None else compact(item["results"])
        case "code_interpreter_call":
            outputs = item.get("outputs")
            return None if outputs is None else [_logs(each) for each in as_list(outputs)]
        case _:
            image = item.get("result")
            return None if image is None else [{"type": "image", "data": image}]


def _logs(output: JsonValue) -> JsonValue:
    logs = as_object(output).get("logs")
    return {"type": "text", "text": logs} if isinstance(logs, str) else output


def tell_output(draft: Draft, item: JsonObject) -> None:
    kind = as_text(item.get("type"))
    status = item.get("status")
    output = item.get("output", item.get("result", item.get("tools")))
    shell = list(objects(output)) if kind == "shell_call_output" else []
    outcomes = [as_object(each.get("outcome")) for each in shell]
    timed_out = any(each.get("type") == "timeout" for each in outcomes)
    codes = [code for each in outcomes if (code := as_integer(each.get("exit_code"))) is not None]
    is_error = True if status == "failed" or timed_out else None
    if is_error is None and kind == "apply_patch_call_output" and status == "completed":
        is_error = False
    draft.result(
        "\n".join(_streams(each) for each in shell) if shell else output,
        id=call_id(item),
        is_error=is_error,
        error_kind="timeout" if timed_out else None,
        exit_code=next((code for code in codes if code), codes[-1] if codes else None),
        truncated=status == "incomplete",
    )


def _streams(output: JsonObject) -> str:
    return "\n".join(text for key in ("stdout", "stderr") if (text := as_text(output.get(key))))

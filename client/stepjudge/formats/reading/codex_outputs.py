"""Codex outputs are what came back from calls, and the events that tell how the calls ended."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.formats.reading.gathering import stated
from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import as_bool, as_count, as_integer, as_object, identifier
from stepjudge.trace import Usage
from stepjudge.value import JsonObject

_HEADER = re.compile(
    r"(?:Exit code: (-?\d{1,10})\nWall time: "
    r"|(?:Chunk ID: [^\n]*\n)?Wall time: [^\n]*\nProcess exited with code (-?\d{1,10})\n)"
)


@dataclass(frozen=True)
class Output:
    content: JsonValue
    is_error: bool | None = None
    exit_code: int | None = None


class Signals:
    """How calls ended, by their id. Not every version of Codex keeps these events."""

    def __init__(self, events: Iterable[JsonObject]) -> None:
        self.exit_codes: dict[str, int | None] = {}
        self.errors: dict[str, bool | None] = {}
        for event in events:
            call = identifier(event.get("call_id"))
            if call is None:
                continue
            match event.get("type"):
                case "exec_command_end":
                    self.exit_codes[call] = as_integer(event.get("exit_code"))
                case "patch_apply_end":
                    success = as_bool(event.get("success"))
                    self.errors[call] = None if success is None else not success
                case "mcp_tool_call_end":
                    self.errors[call] = _failed(as_object(event.get("result")))
                case _:
                    pass


def _failed(result: JsonObject) -> bool | None:
    """As Rust writes it: `Ok` with the server's answer, or `Err`."""
    if "Err" in result:
        return True
    return as_bool(as_object(result.get("Ok")).get("isError")) or False if "Ok" in result else None


def output_of(item: JsonObject, signals: Signals) -> Output:
    """Shells put the exit code into the text, as JSON or as a header of their own."""
    call = identifier(item.get("call_id")) or ""
    content = item.get("output", item.get("tools"))
    is_error, exit_code = signals.errors.get(call), signals.exit_codes.get(call)
    if isinstance(content, dict):
        success = as_bool(content.get("success"))
        is_error = is_error if success is None else not success
        content = content.get("content", content)
    if isinstance(content, str):
        parsed = parse_embedded(content) if content.startswith("{") else None
        embedded = as_object(parsed.value if parsed else None)
        if "output" in embedded and isinstance(embedded.get("metadata"), dict):
            code = as_integer(as_object(embedded["metadata"]).get("exit_code"))
            return Output(embedded["output"], is_error, exit_code if code is None else code)
        if header := _HEADER.match(content):
            exit_code = int(header[1] or header[2]) if exit_code is None else exit_code
    return Output(content, is_error, exit_code)


def tokens(value: JsonValue) -> Usage | None:
    found = as_object(value)
    return stated(
        Usage(
            prompt_tokens=as_count(found.get("input_tokens")),
            cached_tokens=as_count(found.get("cached_input_tokens")),
            completion_tokens=as_count(found.get("output_tokens")),
        )
    )

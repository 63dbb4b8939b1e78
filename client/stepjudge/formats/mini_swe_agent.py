"""mini-swe-agent trajectories: messages whose actions are commands for one tool, `bash`.

Specification: mini-swe-agent documentation, "Output files", `trajectory_format` mini-swe-agent-1 and 1.1 (versions 1.0
to 2.4). Read are the trajectory with `info` and `messages`, and the older list of messages alone; both styles,
commands in a code block of the text and tool calls. What the model said in an answer that the harness could not parse
is told where the log has it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gathering import stated
from stepjudge.formats.reading.moments import moment
from stepjudge.formats.reading.shape import (
    as_amount,
    as_integer,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Call, Trace, Usage
from stepjudge.value import JsonObject

_NAME = "mini-swe-agent"
_TOOL = "bash"
_LOOKED_AT = 20
_BLOCK = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)
_OWN_BLOCK = "```mswea_bash_command"
_RETURN_CODE = re.compile(r"(?:<exception>.*?</exception>\s*)?<returncode>(-?\d{1,10})</returncode>", re.DOTALL)
_IN_TRACE = ("messages", "info", "trajectory_format", "instance_id")
_IN_INFO = ("model_stats", "submission")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if as_text(outer.get("trajectory_format")).startswith("mini-swe-agent"):
        return Fit("certain")
    info = as_object(outer.get("info"))
    if isinstance(outer.get("messages"), list) and {"mini_version", "model_stats"} & info.keys():
        return Fit("certain")
    head = [as_object(each) for each in _messages(document)[:_LOOKED_AT]]
    said = [as_text(each.get("content")) for each in head if each.get("role") == "assistant"]
    if any(_OWN_BLOCK in text for text in said):
        return Fit("likely")
    answered = any(_RETURN_CODE.match(as_text(each.get("content"))) for each in head if each.get("role") == "user")
    return Fit("likely") if answered and any(_BLOCK.search(text) for text in said) else NO_FIT


def _messages(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(as_object(document).get("messages"))


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    info = as_object(outer.get("info"))
    config = as_object(info.get("config"))
    reading = _Reading()
    for message in _messages(document):
        reading.tell(as_object(message))
    stats = as_object(info.get("model_stats"))
    submission = text_or_none(info.get("submission")) or reading.submission
    yield reading.draft.build(
        trace_id=identifier(outer.get("instance_id")),
        agent="mini-swe-agent",
        model=text_or_none(as_object(config.get("model")).get("model_name")),
        usage=stated(Usage(cost_usd=as_amount(stats.get("instance_cost")))),
        final_output=submission,
        extra=with_fields(rest(outer, *_IN_TRACE), info=rest(info, *_IN_INFO)),
    )


@dataclass
class _Reading:
    """`open` counts the commands of the latest step that wait for their output; `acted` whether it had any."""

    draft: Draft
    open: int = 0
    acted: bool = True
    submission: str | None = None

    def __init__(self) -> None:
        self.draft = Draft(_NAME)

    def tell(self, message: JsonObject) -> None:
        content, extra = message.get("content"), as_object(message.get("extra"))
        match message.get("role"):
            case "assistant":
                self._tell_step(message, extra)
            case "tool":
                self._tell_output(content, extra, identifier(message.get("tool_call_id")))
            case "system":
                self.draft.message("system", content)
            case "exit":
                self._tell_exit(content, extra)
            case "user" if extra.get("interrupt_type") == "FormatError":
                self._tell_format_error(content, extra)
            case "user" if self.open and "interrupt_type" not in extra:
                self._tell_output(content, extra, None)
            case "user" if self.draft.has_steps and not self.acted:
                self.draft.observation(content)
                self.acted = True
            case "user":
                self.draft.message("user", content)
            case _ if message.get("type") == "function_call_output" or message.get("object") == "response":
                self._tell_response(message, extra)
            case role:
                self.draft.note(f"a message has the role {role!r}, which mini-swe-agent does not have")
                self.draft.message("other", content, name=text_or_none(role))

    def _tell_step(self, message: JsonObject, extra: JsonObject) -> None:
        text = read_content(message.get("content")).text
        calls = _calls(self.draft, message, extra, text)
        response = as_object(extra.get("response"))
        self.draft.step(
            message.get("content"),
            calls=calls,
            reasoning=read_content(message.get("reasoning_content")).text,
            model=text_or_none(response.get("model")),
            usage=read_usage(response.get("usage") or {}, cost=extra.get("cost")),
            started_at=moment(extra.get("timestamp")),
        )
        self.open = len(calls)
        self.acted = bool(calls)

    def _tell_response(self, item: JsonObject, extra: JsonObject) -> None:
        """The variant for the Responses API keeps the response itself as the message."""
        if item.get("type") == "function_call_output":
            self._tell_output(item.get("output"), extra, identifier(item.get("call_id")))
            return
        parts = [part for each in objects(item.get("output")) for part in as_list(each.get("content"))]
        functions = [each for each in objects(item.get("output")) if each.get("type") == "function_call"]
        calls = [
            self.draft.call(as_text(each.get("name")), each.get("arguments"), id=identifier(each.get("call_id")))
            for each in functions
        ]
        usage = read_usage(item.get("usage") or {}, cost=extra.get("cost"))
        self.draft.step(parts, calls=calls, model=text_or_none(item.get("model")), usage=usage)
        self.open, self.acted = len(calls), bool(calls)

    def _tell_output(self, content: JsonValue, extra: JsonObject, id_: str | None) -> None:
        """`exception_info` tells what kept a command from running; a run that has it has no such field when all is
        well."""
        self.open -= 1
        code = _RETURN_CODE.match(read_content(content).text)
        self.draft.result(
            content,
            id=id_,
            is_error=bool(extra.get("exception_info")) if "returncode" in extra else None,
            exit_code=as_integer(extra.get("returncode")) if "returncode" in extra else int(code[1]) if code else None,
        )

    def _tell_exit(self, content: JsonValue, extra: JsonObject) -> None:
        """A run that submits ends within its last command: the exit has the output that was submitted."""
        if extra.get("exit_status") == "Submitted":
            self.submission = text_or_none(extra.get("submission"))
            if self.open == 1:
                self.draft.result(content)
                return
        self.draft.message("other", content, name="exit")

    def _tell_format_error(self, content: JsonValue, extra: JsonObject) -> None:
        """The harness drops the answer it could not parse from the messages; it was an emission all the same."""
        if self.acted or not self.draft.has_steps:
            if not extra.get("model_response"):
                self.draft.note("the log does not have what the model said in an answer that could not be parsed")
            self.draft.step(extra.get("model_response"))
        self.draft.observation(content, is_error=True)
        self.open, self.acted = 0, True


def _calls(draft: Draft, message: JsonObject, extra: JsonObject, text: str) -> list[Call]:
    """As the model emitted them; of an answer in text, the commands that the harness took from it."""
    functions = [
        draft.call(as_text(function.get("name")), function.get("arguments"), id=identifier(call.get("id")))
        for call in objects(message.get("tool_calls"))
        if (function := as_object(call.get("function")))
    ]
    if functions:
        return functions
    if "actions" in extra:
        commands = [as_object(each).get("command") for each in as_list(extra.get("actions"))]
    else:
        commands = [found.strip() for found in _BLOCK.findall(text)]
        commands = commands if len(commands) == 1 else []  # the harness runs an answer with exactly one command
    return [draft.call(_TOOL, {"command": command}) for command in commands]


FORMAT = Format(
    name=_NAME,
    title="mini-swe-agent 1 and 2: trajectories and lists of messages",
    detect=detect,
    read=read,
)

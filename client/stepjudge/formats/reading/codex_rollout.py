"""A Codex rollout is a session's file: its lines are gathered into emissions, then told in order."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from stepjudge.formats.reading.codex_outputs import Signals, output_of, tokens
from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.shape import (
    as_list,
    as_object,
    as_text,
    identifier,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.trace import Call, Trace, Usage
from stepjudge.value import JsonObject

_TOOLS = {"local_shell_call": "local_shell", "web_search_call": "web_search", "tool_search_call": "tool_search"}
_OF_HARNESS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<skills_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
)
_IN_META = ("id", "session_id", "base_instructions", "instructions", "dynamic_tools")


@dataclass
class _Emission:
    at: str | None
    model: str | None
    reasoning: list[str] = field(default_factory=list[str])
    said: list[JsonValue] = field(default_factory=list[JsonValue])
    calls: list[Call] = field(default_factory=list[Call])
    usage: Usage | None = None


class Rollout:
    """Reads a rollout twice: first its emissions are gathered, then all is told in order, since the tokens of an
    emission may be counted after the results of its calls."""

    def __init__(self, lines: list[JsonObject], name: str) -> None:
        self._lines = [(as_text(line.get("type")), as_object(line.get("payload")), line) for line in lines]
        self._draft = Draft(name)
        self._signals = Signals(payload for kind, payload, _ in self._lines if kind == "event_msg")
        self._is_counted = any(payload.get("type") == "token_count" for _, payload, _ in self._lines)
        self._speakers = {as_text(payload.get("role")) for kind, payload, _ in self._lines if kind == "response_item"}
        self._log: list[_Emission | JsonObject] = []
        self._open: _Emission | None = None
        self._model: str | None = None
        self._meta: JsonObject = {}
        self._totals: Usage | None = None

    def trace(self) -> Trace:
        for kind, payload, line in self._lines:
            self._gather(kind, payload, line)
        for each in self._log:
            if isinstance(each, _Emission):
                self._tell_step(each)
            else:
                self._tell(each)
        models = [each.model for each in self._log if isinstance(each, _Emission) and each.model]
        return self._draft.build(
            trace_id=identifier(self._meta.get("id")) or identifier(self._meta.get("session_id")),
            agent="codex",
            model=models[0] if models else self._model,
            usage=self._totals,
            extra=with_fields({}, session=rest(self._meta, *_IN_META)),
        )

    def _gather(self, kind: str, payload: JsonObject, line: JsonObject) -> None:
        match kind, as_text(payload.get("type")) or ("message" if "role" in payload else ""):
            case "session_meta", _:
                self._begin(payload)
            case "turn_context", _:
                self._model = text_or_none(payload.get("model")) or self._model
            case "response_item", "message" if payload.get("role") == "assistant":
                self._emission("message", line).said += _parts(payload.get("content"))
            case "response_item", "reasoning":
                self._think(payload, line)
            case "response_item", item if item.endswith("_call"):
                self._add_call(self._call(item, payload), line)
            case "event_msg", "agent_reasoning":
                self._add_reasoning(as_text(payload.get("text")), line)
            case "event_msg", "agent_message" if "assistant" not in self._speakers:
                self._emission("message", line).said.append(payload.get("message"))
            case "event_msg", "token_count":
                self._count(as_object(payload.get("info")))
            case "response_item" | "compacted", _:
                self._close(payload if kind == "response_item" else {**payload, "type": "compacted"})
            case "event_msg", "user_message" if "user" not in self._speakers:
                self._close({"role": "user", "content": payload.get("message")})
            case "event_msg", "turn_aborted" | "error":
                self._close(payload)
            case "event_msg", _:
                pass  # what the items say, or shows on the screen only
            case _:
                self._draft.note(f"lines of the type {kind!r} were left out")

    def _begin(self, meta: JsonObject) -> None:
        if self._meta:
            self._draft.note("the session was resumed or forked: its first description was read")
            return
        self._meta = meta
        for key in ("base_instructions", "instructions"):
            text = as_object(meta.get(key)).get("text", meta.get(key))
            if isinstance(text, str):
                self._draft.message("system", text)
        for tool in as_list(meta.get("dynamic_tools")):
            self._draft.tool(tool)
        if "subagent" in as_object(meta.get("source")):
            self._draft.note("this is the run of a sub-agent: what started it is not in the document")

    def _emission(self, part: str, line: JsonObject) -> _Emission:
        """The open one. Where tokens are counted they part emissions; elsewhere one thinks, then speaks, then calls."""
        at = self._open
        ends = at is not None and not self._is_counted and bool(at.calls or at.said) and part != "call"
        if at is None or ends:
            at = _Emission(text_or_none(line.get("timestamp")), self._model)
            self._open = at
            self._log.append(at)
        return at

    def _close(self, entry: JsonObject) -> None:
        self._open = None
        self._log.append(entry)

    def _think(self, payload: JsonObject, line: JsonObject) -> None:
        texts = [read_content(part).text for key in ("summary", "content") for part in as_list(payload.get(key))]
        if not any(texts) and payload.get("encrypted_content"):
            self._draft.note("the model's reasoning is encrypted")
        for text in texts:
            self._add_reasoning(text, line)

    def _add_reasoning(self, text: str, line: JsonObject) -> None:
        """An event says it as it streams, an item when it is complete."""
        if text and not (self._open and text in self._open.reasoning):
            self._emission("reasoning", line).reasoning.append(text)

    def _call(self, kind: str, payload: JsonObject) -> Call:
        arguments = payload.get("arguments", payload.get("action"))
        if kind == "custom_tool_call":
            self._draft.note("the input of a custom tool is free text: it is carried as the argument `input`")
            arguments = {"input": payload.get("input")}
        elif kind == "image_generation_call":
            arguments = {"prompt": payload.get("revised_prompt")}
        name = text_or_none(payload.get("name")) or _TOOLS.get(kind, kind.removesuffix("_call"))
        extra = with_fields({}, namespace=payload.get("namespace"))
        return self._draft.call(
            name, arguments, id=identifier(payload.get("call_id")) or identifier(payload.get("id")), extra=extra
        )

    def _add_call(self, call: Call, line: JsonObject) -> None:
        """An id that the emission has already belongs to another one."""
        if self._open and call.id is not None and any(each.id == call.id for each in self._open.calls):
            self._open = None
        self._emission("call", line).calls.append(call)

    def _count(self, info: JsonObject) -> None:
        latest = next((each for each in reversed(self._log) if isinstance(each, _Emission)), None)
        if latest is not None and latest.usage is None:
            latest.usage = tokens(info.get("last_token_usage"))
        self._totals = tokens(info.get("total_token_usage")) or self._totals
        if info.get("last_token_usage"):
            self._open = None

    def _tell_step(self, emission: _Emission) -> None:
        self._draft.step(
            emission.said,
            calls=emission.calls,
            reasoning="\n".join(emission.reasoning),
            model=emission.model,
            usage=emission.usage,
            started_at=emission.at,
        )

    def _tell(self, entry: JsonObject) -> None:
        kind, content = as_text(entry.get("type")), entry.get("content")
        if kind.endswith("_output"):
            found = output_of(entry, self._signals)
            self._draft.result(
                found.content, id=identifier(entry.get("call_id")), is_error=found.is_error, exit_code=found.exit_code
            )
        elif entry.get("role") == "user":
            is_added = read_content(content).text.lstrip().startswith(_OF_HARNESS)
            self._draft.message("system" if is_added else "user", content)
        elif entry.get("role") in ("developer", "system"):
            self._draft.message("system", content)
        elif kind == "compacted":
            self._draft.note("the harness condensed the context: the agent no longer saw every earlier step")
            self._draft.message("other", entry.get("message"), name="harness")
        elif kind in ("turn_aborted", "error"):
            self._draft.message(
                "other", f"{kind}: {as_text(entry.get('reason') or entry.get('message'))}", name="harness"
            )
        else:
            self._draft.note(f"items of the type {kind!r} were left out")


def _parts(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [content]

"""The stream of `codex exec --json` is made of items that start and complete.

It tells actions, not emissions: calls that run at the same time are taken as one emission, with what was thought and
said before them.
"""

from dataclasses import dataclass, field

from pydantic import JsonValue

from stepjudge.formats.reading.codex_outputs import tokens
from stepjudge.formats.reading.content import compact
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.gathering import summed
from stepjudge.formats.reading.shape import as_integer, as_list, as_object, as_text, identifier, objects, rest
from stepjudge.trace import Call, Trace, Usage
from stepjudge.value import JsonObject

_ITEMS = ("item.started", "item.updated", "item.completed")
_SPOKEN = ("agent_message", "plan")
_ENDED = ("completed", "failed", "declined")
_IN_ITEM = ("id", "type", "status")
_OUTCOME = ("aggregated_output", "exit_code", "result", "error", "agents_states")


def is_of_stream(line: JsonObject) -> bool:
    if line.get("type") == "thread.started":
        return "thread_id" in line
    return line.get("type") in _ITEMS and isinstance(as_object(line.get("item")).get("type"), str)


@dataclass
class _Emission:
    reasoning: list[str] = field(default_factory=list[str])
    said: list[JsonValue] = field(default_factory=list[JsonValue])
    items: list[JsonObject] = field(default_factory=list[JsonObject])


class _Stream:
    def __init__(self, name: str) -> None:
        self.draft = Draft(name)
        self.totals: list[Usage | None] = []
        self.thread: str | None = None
        self._started: dict[str, JsonObject] = {}
        self._open = _Emission()
        self._ran = False

    def tell(self, line: JsonObject) -> None:
        match as_text(line.get("type")):
            case "thread.started":
                self.thread = self.thread or identifier(line.get("thread_id"))
            case "turn.started":
                self.flush()
                self.draft.open_turn()
            case "turn.completed":
                self.flush()
                self.totals.append(tokens(line.get("usage")))
            case "turn.failed" | "error" as kind:
                self.flush()
                message = as_object(line.get("error")).get("message", line.get("message"))
                self.draft.message("other", message or kind, name="harness")
            case kind if kind in _ITEMS:
                self._tell_item(as_object(line.get("item")), kind)
            case kind:
                self.draft.note(f"events of the type {kind!r} were left out")

    def _tell_item(self, item: JsonObject, event: str) -> None:
        """An action that starts after another has ended is a new emission."""
        kind, id_ = as_text(item.get("type")), identifier(item.get("id")) or ""
        if kind in (*_SPOKEN, "reasoning"):
            if event == "item.completed":
                self._say(kind, item)
        elif kind == "error":
            self.draft.note("the harness reported a problem that stands in no step")
        elif id_ in self._started:
            self._started[id_].update(item)
        else:
            if self._ran:
                self.flush()
            self._started[id_] = dict(item)
            self._open.items.append(self._started[id_])
        if event == "item.completed" and kind not in (*_SPOKEN, "reasoning", "error"):
            self._ran = True

    def _say(self, kind: str, item: JsonObject) -> None:
        if self._open.items or (kind == "reasoning" and self._open.said) or (kind in _SPOKEN and self._open.said):
            self.flush()
        if kind == "reasoning":
            self._open.reasoning.append(as_text(item.get("text")))
        else:
            self._open.said.append(item.get("text"))

    def flush(self) -> None:
        emission, self._open, self._ran = self._open, _Emission(), False
        self._started.clear()
        if not (emission.reasoning or emission.said or emission.items):
            return
        calls = [_call(self.draft, item) for item in emission.items]
        self.draft.step(emission.said, calls=calls, reasoning="\n".join(emission.reasoning))
        for item in emission.items:
            if item.get("status") in _ENDED:
                _tell_outcome(self.draft, item)


def read_stream(lines: list[JsonObject], name: str) -> Trace:
    stream = _Stream(name)
    for line in lines:
        stream.tell(line)
    stream.flush()
    stream.draft.note(
        "the stream does not hold what the user asked",
        "the stream does not tell emissions apart: steps are actions with what was said before them",
    )
    return stream.draft.build(trace_id=stream.thread, agent="codex", usage=summed(stream.totals))


def _call(draft: Draft, item: JsonObject) -> Call:
    id_ = identifier(item.get("id"))
    match item.get("type"):
        case "command_execution":
            return draft.call("shell", {"command": item.get("command")}, id=id_)
        case "mcp_tool_call":
            extra: JsonObject = {"server": item.get("server")}
            return draft.call(as_text(item.get("tool")), item.get("arguments"), id=id_, extra=extra)
        case "file_change":
            draft.note("the stream tells which files a patch changed, not the patch")
            return draft.call("apply_patch", {"changes": item.get("changes")}, id=id_, state="elided")
        case "collab_tool_call":
            draft.note("the runs of sub-agents are not in the stream")
            return draft.call(as_text(item.get("tool")), rest(item, *_IN_ITEM, *_OUTCOME, "tool"), id=id_)
        case kind:
            return draft.call(as_text(kind), rest(item, *_IN_ITEM, *_OUTCOME), id=id_)


def _tell_outcome(draft: Draft, item: JsonObject) -> None:
    """A command whose exit code is not 0 has the status `failed`: that is the exit code's to say."""
    id_, status = identifier(item.get("id")), item.get("status")
    if item.get("type") == "command_execution":
        draft.result(
            item.get("aggregated_output"),
            id=id_,
            is_error=True if status == "declined" else None,
            error_kind="other" if status == "declined" else None,
            exit_code=as_integer(item.get("exit_code")),
        )
        return
    result, error = as_object(item.get("result")), as_object(item.get("error"))
    content: JsonValue = as_list(result.get("content")) or result.get("structured_content")
    states = [compact(each) for each in objects(list(as_object(item.get("agents_states")).values()))]
    draft.result(error.get("message") or content or "\n".join(states) or None, id=id_, is_error=status == "failed")

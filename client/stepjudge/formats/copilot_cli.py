"""GitHub Copilot CLI sessions: events `user.message`, `assistant.message`, `tool.execution_complete`, each with `data`.

Specification: the session events of the Copilot SDK (`session-events.schema.json`), read as version 1.0 writes them to
a session's `events.jsonl` or prints them with `--output-format json`. What a sub-agent did is nested under the call
that started it.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.copilot_events import emissions, parted
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gathering import MAX_NESTING, stated, summed
from stepjudge.formats.reading.shape import (
    as_bool,
    as_count,
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
from stepjudge.trace import Call, Trace, Usage
from stepjudge.value import JsonObject

_NAME = "copilot-cli"
_LOOKED_AT = 64
_MARKS = ("session.start", "user.message", "assistant.message", "assistant.turn_start", "tool.execution_start")
_CARRIED = (
    "session.start",
    "session.model_change",
    "session.tools_updated",
    "session.shutdown",
    "session.task_complete",
)
_SEEN = ("session.error", "session.warning", "abort", "system.notification")
_QUIET = (
    "session.",
    "assistant.",
    "tool.execution_",
    "hook.",
    "permission.",
    "subagent.",
    "pending_",
    "command",
    "result",
)
_RESULT_TEXTS = ("content", "stdout", "stderr")


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in as_list(document)[:_LOOKED_AT]]
    return (
        Fit("certain")
        if any(each.get("type") in _MARKS and isinstance(each.get("data"), dict) for each in head)
        else NO_FIT
    )


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    own, of_call = parted(list(objects(document)))
    yield _Reading(of_call, 0).trace(own)


class _Reading:
    """Reads a session or, at a greater depth, the run of a sub-agent."""

    def __init__(self, of_call: dict[str, list[JsonObject]], depth: int) -> None:
        self.draft = Draft(_NAME)
        self._of_call = of_call
        self._depth = depth
        self._model: str | None = None
        self._id: str | None = None
        self._start: JsonObject = {}
        self._totals: Usage | None = None
        self._final: str | None = None

    def trace(self, events: list[JsonObject], agent: str = _NAME) -> Trace:
        for group in emissions(events):
            event = group[0]
            kind, data = as_text(event.get("type")), as_object(event.get("data"))
            if kind == "assistant.message":
                self._tell_step(group)
            else:
                self._tell(kind, data, event)
        if self._depth == 0 and self._of_call:
            self.draft.note(f"runs of sub-agents that belong to no call were left out: {len(self._of_call)}")
        return self.draft.build(
            trace_id=self._id,
            agent=agent,
            model=self._model,
            usage=self._totals,
            final_output=self._final,
            extra=with_fields({}, session=self._start),
            may_be_empty=self._depth > 0,
        )

    def _tell_step(self, group: list[JsonObject]) -> None:
        message = as_object(group[0].get("data"))
        started = [as_object(each.get("data")) for each in group if each.get("type") == "tool.execution_start"]
        counted = [as_object(each.get("data")) for each in group if each.get("type") == "assistant.usage"]
        model = text_or_none(message.get("model")) or next((text_or_none(each.get("model")) for each in counted), None)
        self._model = self._model or model
        calls = [self._call(each, "name") for each in objects(message.get("toolRequests"))]
        self.draft.step(
            message.get("content"),
            calls=[*calls, *(self._call(each, "toolName") for each in started)],
            reasoning=as_text(message.get("reasoningText")),
            model=model,
            usage=_usage(counted[0]) if counted else _usage(message),
            started_at=text_or_none(group[0].get("timestamp")),
        )

    def _call(self, request: JsonObject, key: str) -> Call:
        id_ = identifier(request.get("toolCallId"))
        arguments: JsonValue = request.get("arguments")
        if request.get("type") == "custom" and isinstance(arguments, str):
            self.draft.note("the input of a custom tool is free text: it is carried as the argument `input`")
            arguments = JsonObject(input=arguments)
        inner = self._of_call.pop(id_, []) if id_ is not None else []
        subtraces: list[Trace] = []
        if inner and self._depth < MAX_NESTING:
            agent = as_text(as_object(arguments).get("agent_type")) or "sub-agent"
            subtraces = [_Reading(self._of_call, self._depth + 1).trace(inner, agent)]
        elif inner:
            self.draft.note("the run of a sub-agent is nested too deeply: left out")
        return self.draft.call(as_text(request.get(key)), arguments, id=id_, subtraces=subtraces)

    def _tell(self, kind: str, data: JsonObject, event: JsonObject) -> None:
        match kind:
            case "user.message":
                self._tell_user(data)
            case "system.message":
                self.draft.message("system", data.get("content"))
            case "tool.execution_complete":
                self._tell_result(data)
            case "tool.user_requested":
                self.draft.note("a tool that the user ran is no call of the agent")
            case "session.compaction_complete":
                self.draft.note("the harness condensed the context: the agent no longer saw every earlier step")
                if data.get("summaryContent"):
                    self.draft.message("other", data.get("summaryContent"), name="harness")
            case "session.snapshot_rewind":
                self.draft.note("the session was rewound: what was given up stands before what followed")
            case "result":
                self._id = self._id or identifier(event.get("sessionId"))
            case _ if kind in _CARRIED:
                self._tell_session(kind, data)
            case _ if kind in _SEEN:
                said = data.get("message") or data.get("content") or data.get("reason")
                self.draft.message("other", said, name=kind)
            case _ if not kind.startswith(_QUIET):
                self.draft.note(f"events of the type {kind!r} were left out")
            case _:
                pass

    def _tell_session(self, kind: str, data: JsonObject) -> None:
        match kind:
            case "session.start":
                self._id = identifier(data.get("sessionId"))
                self._model = text_or_none(data.get("selectedModel")) or self._model
                self._start = rest(data, "sessionId", "selectedModel")
            case "session.tools_updated":
                self._model = self._model or text_or_none(data.get("model"))
                for tool in as_list(data.get("tools")) if not self.draft.has_steps else []:
                    self.draft.tool({"name": tool} if isinstance(tool, str) else tool)
            case "session.shutdown":
                metrics = as_object(data.get("modelMetrics")).values()
                self._totals = summed(_usage(as_object(as_object(each).get("usage"))) for each in metrics)
            case "session.task_complete":
                self._final = text_or_none(data.get("summary")) or self._final
            case _:
                self._model = self._model or text_or_none(data.get("newModel"))

    def _tell_user(self, data: JsonObject) -> None:
        files = [rest(each, "displayName") for each in objects(data.get("attachments"))]
        content: JsonValue = [data.get("content"), *files]
        source = text_or_none(data.get("source"))
        if source in (None, "user"):
            self.draft.message("user", content)
        else:
            self.draft.message("other", content, name=source)

    def _tell_result(self, data: JsonObject) -> None:
        success, error = as_bool(data.get("success")), as_object(data.get("error"))
        result = data.get("result")
        answer = as_object(result) or data
        texts: list[JsonValue] = [answer[key] for key in _RESULT_TEXTS if answer.get(key)]
        self.draft.result(
            [*texts, error.get("message")] if not isinstance(result, str) else result,
            id=identifier(data.get("toolCallId")),
            name=text_or_none(data.get("toolName")),
            is_error=None if success is None else not success,
            exit_code=as_integer(answer.get("exitCode")),
        )


def _usage(counts: JsonObject) -> Usage | None:
    """Copilot's `cost` counts premium requests, not money."""
    return stated(
        Usage(
            prompt_tokens=as_count(counts.get("inputTokens")),
            cached_tokens=as_count(counts.get("cacheReadTokens")),
            completion_tokens=as_count(counts.get("outputTokens")),
        )
    )


FORMAT = Format(
    name=_NAME,
    title="GitHub Copilot CLI: events of a session",
    detect=detect,
    read=read,
)

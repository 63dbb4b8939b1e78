"""Claude Code sessions: entries of the types `user` and `assistant`, each with a message of Anthropic's API.

Specification: there is none; read as Claude Code 1.0 to 2.1 writes them. Read are the lines of a session's file, the
export `{"loglines": [...]}`, and what `claude -p --output-format stream-json` prints. One emission is spread over
entries with one `message.id`, which all repeat its usage. Sub-agents are nested under the call that started them.
"""

import re
from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.claude_messages import error_kind_of, is_apart, parts_of, usage_of
from stepjudge.formats.reading.claude_runs import (
    SubAgents,
    is_prompt,
    is_spoken,
    results_in,
    rewound,
    session_of,
    sessions,
)
from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gathering import MAX_NESTING, gathered
from stepjudge.formats.reading.shape import (
    as_bool,
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
from stepjudge.trace import Call, Trace
from stepjudge.value import JsonObject

_NAME = "claude-code"
_LOOKED_AT = 64
_MARKS = ("sessionId", "session_id", "parentUuid", "parent_tool_use_id")
_BOOKKEEPING = (
    "summary",
    "file-history-snapshot",
    "mode",
    "progress",
    "stream_event",
    "queue-operation",
    "custom-title",
)
_HARNESS = "harness"
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,10})\b")
_IN_RESULT = ("type", "result", "usage", "total_cost_usd", "session_id", "uuid")


def detect(document: JsonValue) -> Fit:
    entries = [as_object(each) for each in _entries(document)[:_LOOKED_AT]]
    spoken = [entry for entry in entries if is_spoken(entry)]
    if any(mark in entry for entry in spoken for mark in _MARKS) or (spoken and isinstance(document, dict)):
        return Fit("certain")
    if any(entry.get("type") == "system" and entry.get("subtype") == "init" and "tools" in entry for entry in entries):
        return Fit("certain")
    return Fit("likely") if spoken and all("role" in as_object(entry["message"]) for entry in spoken) else NO_FIT


def _entries(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(as_object(document).get("loglines"))


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    runs = sessions(objects(_entries(document)))
    for run in runs:
        subagents = SubAgents(run, origin)
        id_ = next((found for each in run if (found := session_of(each))), None)
        reading = _Reading(subagents)
        if len(runs) > 1:
            reading.draft.note(f"one of {len(runs)} sessions in one document")
        if subagents.is_agents_own:
            reading.draft.note("this is the run of a sub-agent: what started it is not in the document")
            id_ = next((found for each in run if (found := identifier(each.get("agentId")))), None)
        yield reading.trace(subagents.own, id_)


class _Reading:
    """Reads a session or, at a greater depth, the run of a sub-agent."""

    def __init__(self, subagents: SubAgents, depth: int = 0) -> None:
        self.draft = Draft(_NAME)
        self._subagents = subagents
        self._depth = depth
        self._end: JsonObject = {}
        self._model: str | None = None

    def trace(self, entries: list[JsonObject], id_: str | None, agent: str = _NAME) -> Trace:
        fresh = list({identifier(each.get("uuid")) or f"#{at}": each for at, each in enumerate(entries)}.values())
        for group in gathered(fresh, emission=_emission, opens_turn=is_prompt):
            self._tell(group)
        if branches := rewound(fresh):
            self.draft.note(
                f"the session was rewound ({branches} times): what was given up stands before what followed"
            )
        if self._depth == 0 and self._subagents.left:
            self.draft.note(f"runs of sub-agents that belong to no call were left out: {self._subagents.left}")
        return self.draft.build(
            trace_id=id_,
            agent=agent,
            model=self._model,
            usage=read_usage(self._end.get("usage") or {}, cost=self._end.get("total_cost_usd")),
            final_output=text_or_none(self._end.get("result")),
            extra=with_fields({}, result=rest(self._end, *_IN_RESULT)),
            may_be_empty=self._depth > 0,
        )

    def _tell(self, group: list[JsonObject]) -> None:
        entry = group[0]
        match entry.get("type"):
            case "assistant" if is_spoken(entry):
                self._tell_assistant(group)
            case "user" if is_spoken(entry):
                self._tell_user(entry)
            case "system":
                self._tell_system(entry)
            case "result":
                if self._end:
                    self.draft.note("the stream states several results: the totals are those of the last")
                self._end = entry
            case kind if kind not in _BOOKKEEPING:
                self.draft.note(f"entries of the type {kind!r} were left out")
            case _:
                pass

    def _tell_assistant(self, group: list[JsonObject]) -> None:
        messages = [as_object(entry.get("message")) for entry in group]
        parts = [part for message in messages for part in parts_of(message.get("content"))]
        model = text_or_none(messages[0].get("model"))
        if model == "<synthetic>" or group[0].get("isApiErrorMessage") is True:
            self.draft.message("other", parts, name=_HARNESS)
            return
        self._model = self._model or model
        self.draft.step(
            [part for part in parts if not is_apart(as_object(part))],
            calls=[
                self._call(part) for part in map(as_object, parts) if as_text(part.get("type")).endswith("tool_use")
            ],
            reasoning="\n".join(text for part in parts if (text := as_text(as_object(part).get("thinking")))),
            model=model,
            usage=usage_of(group),
            started_at=text_or_none(group[0].get("timestamp")),
        )
        for part in map(as_object, parts):
            if as_text(part.get("type")).endswith("_tool_result"):  # tools that ran at the provider
                self._tell_result(part)
            elif part.get("type") == "redacted_thinking":
                self.draft.note("the model's reasoning is encrypted")

    def _call(self, part: JsonObject) -> Call:
        id_, given = identifier(part.get("id")), as_object(part.get("input"))
        agent, entries = self._subagents.take(id_, as_text(given.get("prompt")).strip())
        subtraces: list[Trace] = []
        if entries and self._depth < MAX_NESTING:
            inner = _Reading(self._subagents, self._depth + 1)
            subtraces = [inner.trace(entries, agent, as_text(given.get("subagent_type")) or "sub-agent")]
        elif entries or agent is not None:
            why = "is nested too deeply" if entries else "was not at hand"
            self.draft.note(f"the run of sub-agent {agent or id_!r} {why}")
        return self.draft.call(as_text(part.get("name")), part.get("input"), id=id_, subtraces=subtraces)

    def _tell_user(self, entry: JsonObject) -> None:
        for result in results_in(entry):
            self._tell_result(result)
        parts = parts_of(as_object(entry.get("message")).get("content"))
        said = [part for part in parts if as_object(part).get("type") != "tool_result"]
        if entry.get("isCompactSummary") is True:
            self.draft.note("the harness condensed the context: the agent no longer saw every earlier step")
        if not said:
            return
        if is_prompt(entry):
            self.draft.message("user", said)
        else:
            self.draft.message("other", said, name=_HARNESS)

    def _tell_result(self, part: JsonObject) -> None:
        text = read_content(part.get("content")).text
        is_error = as_bool(part.get("is_error"))
        code = _EXIT_CODE.match(text) if is_error else None
        self.draft.result(
            part.get("content"),
            id=identifier(part.get("tool_use_id")),
            is_error=is_error,
            error_kind=error_kind_of(text) if is_error else None,
            exit_code=int(code[1]) if code else None,
        )

    def _tell_system(self, entry: JsonObject) -> None:
        match entry.get("subtype"):
            case "init":
                self._model = self._model or text_or_none(entry.get("model"))
                for tool in as_list(entry.get("tools")) if not self.draft.has_steps else []:
                    self.draft.tool({"name": tool} if isinstance(tool, str) else tool)
            case "local_command":
                self.draft.message("other", entry.get("content"), name=_HARNESS)
            case "compact_boundary":
                pass  # the summary that follows says it
            case kind:
                self.draft.note(f"entries of the type 'system' and the subtype {kind!r} were left out")


def _emission(entry: JsonObject) -> str | None:
    return identifier(as_object(entry.get("message")).get("id")) if entry.get("type") == "assistant" else None


FORMAT = Format(
    name=_NAME,
    title="Claude Code 1 and 2: sessions, exports, stream-json",
    detect=detect,
    read=read,
)

"""AutoGen AgentChat: the messages and events of a task's result, and the messages that AutoGen Core sends to a model.

Specification: `autogen_agentchat.messages` and `autogen_core.models` (0.4 to 0.7). Read are a `TaskResult`, a list of its
messages, and a list or object of Core messages. What a framework writes on an agent's behalf (handoffs, summaries of tool
results, chosen speakers) is a message and no step. Messages hold neither tools nor, in AgentChat, the system prompt.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import (
    as_bool,
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
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_NAME = "autogen"
_LOOKED_AT = 50
_SPOKEN = ("TextMessage", "MultiModalMessage", "StructuredMessage", "AssistantMessage")
_REQUESTS = ("ToolCallRequestEvent", "CodeGenerationEvent")
_RESULTS = ("ToolCallExecutionEvent", "FunctionExecutionResultMessage")
_ON_BEHALF = ("HandoffMessage", "ToolCallSummaryMessage", "StopMessage", "SelectorEvent", "SelectSpeakerEvent",
              "MemoryQueryEvent")  # fmt: skip
_SILENT = ("UserInputRequestedEvent", "ModelClientStreamingChunkEvent")
_OTHERS = ("ThoughtEvent", "CodeExecutionEvent", "UserMessage", "SystemMessage")
_TYPES = (*_SPOKEN, *_REQUESTS, *_RESULTS, *_ON_BEHALF, *_SILENT, *_OTHERS)
_EXECUTOR = "code_executor"
_IN_MESSAGE = ("id", "type", "source", "models_usage", "created_at", "content", "thought", "metadata", "code_blocks",
               "retry_attempt", "format_string")  # fmt: skip


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in _messages(document)[:_LOOKED_AT]]
    types = [_type(each) for each in head]
    if not any(type_ in _TYPES for type_ in types):
        return NO_FIT
    strange = next((at for at, type_ in enumerate(types) if not type_), None)
    if strange is not None:
        return Fit("near", f"messages[{strange}] has no `type`, as those of AutoGen do")
    sourced = all("source" in each for each in head if _type(each) not in (*_RESULTS, "SystemMessage"))
    return Fit("certain") if sourced else Fit("near", "its messages have no `source`, as those of AutoGen do")


def _messages(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(as_object(document).get("messages"))


def _type(message: JsonObject) -> str:
    """Structured messages name their content's class in brackets."""
    return as_text(message.get("type")).partition("[")[0]


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    reading = _Reading(_messages(document))
    yield reading.draft.build(
        trace_id=identifier(outer.get("id")),
        final_output=reading.summary,
        extra=rest(outer, "messages", "id"),
    )


class _Reading:
    """Tells the messages of a run. `summary` is the answer of an agent that ends with what its tools returned."""

    def __init__(self, messages: list[JsonValue]) -> None:
        self.draft = Draft(_NAME)
        self.summary: str | None = None
        self._thought = ""
        self._thinker: str | None = None
        self._people = {"user"} | {
            as_text(each.get("source")) for each in objects(messages) if _type(each) == "UserInputRequestedEvent"
        }
        for at, value in enumerate(messages):
            message = as_object(value)
            if _type(message) in _TYPES:
                self._tell(message)
            else:
                self.draft.note(f"messages[{at}] has the type {message.get('type')!r}, which is not known")
                self.draft.message("other", message.get("content") if message else value)
        self._flush_thought()

    def _tell(self, message: JsonObject) -> None:
        type_, content = _type(message), message.get("content")
        source = text_or_none(message.get("source"))
        if type_ not in (*_SPOKEN, *_REQUESTS, *_SILENT) or source != self._thinker:
            self._flush_thought()
        if type_ == "ThoughtEvent":
            self._thought, self._thinker = as_text(content), source
        elif type_ == "UserMessage" or (type_ in (*_SPOKEN, "HandoffMessage") and source in self._people):
            self.draft.message("user", _parts(content), name=source if source not in (None, "user") else None)
        elif type_ == "SystemMessage":
            self.draft.message("system", content)
        elif type_ in (*_SPOKEN, *_REQUESTS):
            self._step(message, type_, source)
        elif type_ in _RESULTS:
            for result in objects(content):
                self._result(result)
        elif type_ == "CodeExecutionEvent":
            ran = as_object(message.get("result"))
            code = as_integer(ran.get("exit_code"))
            self.draft.result(ran.get("output"), name=_EXECUTOR, exit_code=code)
        elif type_ in _ON_BEHALF:
            self.draft.message("assistant", _parts(content), name=source)
            self.summary = as_text(content) if type_ == "ToolCallSummaryMessage" else None
        elif type_ == "ModelClientStreamingChunkEvent":
            self.draft.note("pieces of streamed answers were left out: the whole follows them")

    def _step(self, message: JsonObject, type_: str, source: str | None) -> None:
        """What a model says beside its calls comes as a thought before them; a thought before words is private."""
        content = message.get("content")
        calls = [
            self.draft.call(as_text(each.get("name")), each.get("arguments"), id=identifier(each.get("id")))
            for each in objects(content)
            if type_ in ("ToolCallRequestEvent", "AssistantMessage")
        ]
        if as_list(message.get("code_blocks")):
            calls.append(self.draft.call(_EXECUTOR, {"code_blocks": message["code_blocks"]}))
        thought = self._thought or as_text(message.get("thought"))
        self._thought, self.summary = "", None
        beside_calls = bool(calls) and type_ != "CodeGenerationEvent"
        self.draft.step(
            thought if beside_calls else read_content(_parts(content)),
            calls=calls,
            reasoning="" if beside_calls else thought,
            agent=source,
            usage=read_usage(message.get("models_usage")),
            started_at=text_or_none(message.get("created_at")),
            extra=with_fields(rest(message, *_IN_MESSAGE), metadata=message.get("metadata")),
        )

    def _flush_thought(self) -> None:
        """A thought that nothing follows is all that its emission said: the run was cut."""
        if self._thought:
            self.draft.step(None, reasoning=self._thought, agent=self._thinker)
            self.draft.note("a thought is followed by no message of its agent")
        self._thought = ""

    def _result(self, result: JsonObject) -> None:
        self.draft.result(
            result.get("content"),
            id=identifier(result.get("call_id")),
            name=text_or_none(result.get("name")),
            is_error=as_bool(result.get("is_error")),
        )


def _parts(content: JsonValue) -> JsonValue:
    """Text, or text and images, which AutoGen writes as `{"data": …}`; what is structured is kept as JSON."""
    if isinstance(content, dict):
        return compact(content)
    images = ({**each, "type": "image"} if isinstance(each, dict) and "data" in each else each
              for each in as_list(content))  # fmt: skip
    return list(images) if isinstance(content, list) else content


FORMAT = Format(
    name=_NAME,
    title="AutoGen AgentChat task results, and messages of AutoGen Core",
    detect=detect,
    read=read,
)

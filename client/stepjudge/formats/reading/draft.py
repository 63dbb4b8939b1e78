"""A draft becomes a trace: a reader tells it messages, steps and results in order, and it numbers, pairs and notes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.arguments import read_arguments
from stepjudge.formats.reading.cleaning import copied, depth
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.content_id import content_id
from stepjudge.formats.reading.limits import MAX_DEPTH_WITHIN
from stepjudge.formats.reading.made import made
from stepjudge.formats.reading.pairing import OpenCall, Pairing
from stepjudge.formats.reading.tools import read_tool
from stepjudge.trace import ArgumentsState, Call, ErrorKind, Message, Result, Role, Step, Tool, Trace, Usage
from stepjudge.value import JsonObject

_MISSING = Result()


@dataclass
class _Told:
    """A step with its calls, which may still get results."""

    members: dict[str, object]
    calls: list[OpenCall]
    observation: Result | None = None

    def closed(self) -> Step:
        calls = tuple([each.closed() for each in self.calls])
        return made(Step, **{**self.members, "calls": calls, "observation": self.observation})


class Draft:
    """One trace in the making."""

    def __init__(self, source_format: str) -> None:
        self._source_format = source_format
        self._system: list[str] = []
        self._task: Content | None = None
        self._tools: list[Tool] = []
        self._pending: list[Message] = []
        self._told: list[_Told] = []
        self._pairing = Pairing()
        self._notes: Counter[str] = Counter()
        self._turn = 1
        self._turn_has_steps = False
        self._llm_call = 0

    @property
    def has_steps(self) -> bool:
        return bool(self._told)

    def note(self, *notes: str) -> None:
        """What the format could not say or the trace cannot carry. Equal notes are counted, not repeated."""
        if notes:
            self._notes.update(notes)

    def tool(self, definition: JsonValue) -> None:
        """A tool definition, in the spelling of OpenAI (with or without `function`), Anthropic, MCP or Gemini."""
        tool, notes = read_tool(definition)
        self.note(*notes)
        self._tools += [tool] if tool is not None else []

    def message(
        self, role: Role, content: JsonValue | Content, *, name: str | None = None, opens_turn: bool | None = None
    ) -> None:
        """A message that the agent did not write as a step: before step 1, system messages join into `system` and the
        first user message is the task. A user message after a step opens a turn, unless told otherwise."""
        said = content if isinstance(content, Content) else read_content(content)
        if role == "system" and not said.attachments and (not self._told or not said.text):
            self._system += [said.text] if said.text else []
            return
        if role == "user" and self._task is None and not self._told:
            self._task = said
            return
        if (role == "user") if opens_turn is None else opens_turn:
            self.open_turn()
        self._pending.append(Message(role=role, text=said.text, name=name, attachments=said.attachments))

    def open_turn(self) -> None:
        """What follows is a new exchange: for formats that say so otherwise than by a user's message."""
        if self._turn_has_steps:
            self._turn += 1
            self._turn_has_steps = False

    def call(
        self,
        name: str,
        arguments: JsonValue,
        *,
        id: str | None = None,
        state: ArgumentsState | None = None,
        subtraces: Iterable[Trace] = (),
        extra: JsonObject | None = None,
    ) -> Call:
        """A call as the model emitted it. Arguments may be an object or a string; `state` overrides what is found."""
        found = read_arguments(arguments)
        self.note(*found.notes)
        if not name:
            self.note("a call names no tool")
        return made(
            Call,
            name=name,
            id=id,
            arguments=found.values,
            arguments_raw=found.raw,
            arguments_state=state or found.state,
            result=_MISSING,
            subtraces=tuple(subtraces),
            extra=self.extra(extra),
        )

    def step(
        self,
        content: JsonValue | Content = None,
        *,
        calls: Sequence[Call] = (),
        reasoning: str = "",
        agent: str | None = None,
        model: str | None = None,
        usage: Usage | None = None,
        started_at: str | None = None,
        emissions: int = 1,
        extra: JsonObject | None = None,
    ) -> None:
        """One model emission. `emissions` is for formats that count several, or none, in one step."""
        said = content if isinstance(content, Content) else read_content(content)
        self._llm_call += emissions
        members = dict[str, object](
            index=len(self._told) + 1,
            turn=self._turn,
            llm_call=max(1, self._llm_call),
            before=tuple(self._pending),
            message=said.text,
            reasoning=reasoning,
            calls=(),
            observation=None,
            attachments=said.attachments,
            agent=agent,
            model=model,
            usage=usage,
            started_at=started_at,
            extra=self.extra(extra),
        )
        self._pending.clear()
        self._turn_has_steps = True
        self._told.append(_Told(members, self._pairing.add(tuple(calls), self._turn)))

    def observation(
        self, content: JsonValue | Content, *, is_error: bool | None = None, exit_code: int | None = None
    ) -> None:
        """What came back to the latest step itself, where the agent acts in text. Several are joined."""
        said = content if isinstance(content, Content) else read_content(content)
        told = self._told[-1]
        earlier = told.observation
        text = f"{earlier.text}\n{said.text}" if earlier and earlier.text else said.text
        attachments = (*(earlier.attachments if earlier else ()), *said.attachments)
        told.observation = Result(
            text=text,
            state="present" if text or attachments else "empty",
            is_error=is_error,
            exit_code=exit_code,
            attachments=attachments,
        )

    def result(
        self,
        content: JsonValue | Content,
        *,
        id: str | None = None,
        name: str | None = None,
        is_error: bool | None = None,
        error_kind: ErrorKind | None = None,
        exit_code: int | None = None,
        truncated: bool = False,
    ) -> None:
        """What came back from a call, told after the step that made it. A result that no call asked for becomes a
        message before the next step."""
        said = content if isinstance(content, Content) else read_content(content)
        has_content = bool(said.text or said.attachments)
        result = made(
            Result,
            text=said.text,
            state=("truncated" if truncated and said.text else "present") if has_content else "empty",
            is_error=is_error,
            error_kind=error_kind,
            exit_code=exit_code,
            attachments=said.attachments,
        )
        answered = self._pairing.answer(result, id=id, name=name, turn=self._turn)
        if answered is None:
            self.note("a tool result answers no open call: it stands as a message before the step that follows it")
            self._pending.append(Message(role="tool", text=said.text, name=name, attachments=said.attachments))
        elif answered.turn != self._turn:
            self.note("a tool result arrived in a later turn than its call")

    def extra(self, extra: JsonObject | None) -> JsonObject:
        """Fields kept beside the trace, unless they are nested too deeply to keep."""
        if not extra:
            return {}
        kept = {key: copied(value) for key, value in extra.items() if depth(value) <= MAX_DEPTH_WITHIN}
        left_out = [key for key in extra if key not in kept]
        self.note(
            *(f"the field {key!r} is nested more than {MAX_DEPTH_WITHIN} levels deep: left out" for key in left_out)
        )
        return kept

    def build(
        self,
        *,
        trace_id: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        usage: Usage | None = None,
        final_output: str | None = None,
        extra: JsonObject | None = None,
        may_be_empty: bool = False,
    ) -> Trace:
        """The trace. Without an id of its own it gets one from its content. `may_be_empty` is for sub-agents' runs."""
        steps = tuple(told.closed() for told in self._told)
        if not steps and not may_be_empty:
            raise UnreadableTrace(
                "the trace has no steps: nothing in it was written by the agent, so there is nothing to judge"
            )
        last = steps[-1] if steps else None
        if final_output is None and last is not None and not last.calls:
            final_output = last.message or None
        kept = self.extra(extra)
        content = Trace(
            trace_id="",
            source_format=self._source_format,
            agent=agent,
            model=model,
            system="\n\n".join(self._system),
            task=self._task.text if self._task else "",
            task_attachments=self._task.attachments if self._task else (),
            tools=tuple(self._tools),
            steps=steps,
            after=tuple(self._pending),
            final_output=final_output,
            usage=usage,
            notes=tuple(note if count == 1 else f"{note} ({count} times)" for note, count in self._notes.items()),
            extra=kept,
        )
        return content.model_copy(update={"trace_id": trace_id or content_id(content)})

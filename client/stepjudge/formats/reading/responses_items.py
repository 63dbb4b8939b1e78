"""Items are what the Responses API reads and writes: messages, reasoning, calls and outputs, told to a draft as steps.

The API keeps no mark of where one emission ends in a list of items. It ends before an output or a user's message, before
the model thinks or speaks anew, and after tools that ran at the provider, whose results stand in their own item.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue

from stepjudge.formats.reading.content import Content, compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.responses_calls import (
    TOKENS,
    HostedResult,
    call_id,
    hosted_result,
    is_call,
    is_output,
    read_call,
    tell_output,
)
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.trace import Call, Usage
from stepjudge.value import JsonObject

_LEFT_OUT = ("item_reference", "compaction", "compaction_trigger")
_TOOLS = ("mcp_list_tools", "additional_tools")


def kind_of(item: JsonObject) -> str:
    """The type of an item; messages may go without."""
    return as_text(item.get("type")) or ("message" if "role" in item else "")


@dataclass
class _Emission:
    reasoning: list[str] = field(default_factory=list[str])
    said: Content | None = None
    calls: list[Call] = field(default_factory=list[Call])
    hosted: list[HostedResult] = field(default_factory=list[HostedResult])

    @property
    def is_empty(self) -> bool:
        return not self.reasoning and self.said is None and not self.calls


class Items:
    """Tells the items of one run, in order. `is_response`: all of them stand in one response of the API."""

    def __init__(self, draft: Draft, items: Iterable[JsonValue], *, is_response: bool = False) -> None:
        self._draft = draft
        self._items = list(items)
        self._emission = _Emission()
        outputs = [(at, as_object(item)) for at, item in enumerate(self._items) if is_output(kind_of(as_object(item)))]
        self._answered_at = {call_id(item): at for at, item in outputs}
        self._is_one_emission = is_response and not outputs
        self._ran = {identifier(as_object(each).get("approval_request_id")) for each in self._items
                     if kind_of(as_object(each)) == "mcp_call"}  # fmt: skip
        self._told = 0

    def tell(self, *, model: str | None = None, usage: Usage | None = None) -> None:
        """All items. Usage is that of the whole, so it stands at the last step."""
        last = max((at for at, each in enumerate(self._items) if self._writes(each)), default=-1)
        for at, value in enumerate(self._items):
            item = as_object(value)
            self._tell(at, item, value)
            if not self._stands_aside(item) and not self._goes_on(at + 1):
                self._flush(model, usage if at >= last else None)
            if any(key in item for key in TOKENS):
                self._draft.note("token ids and their probabilities were left out")
        if self._told > 1 and usage is not None:
            self._draft.note("the tokens of a response that took several steps stand at its last step")

    def _stands_aside(self, item: JsonObject) -> bool:
        """Whether it neither belongs to an emission nor ends one."""
        return kind_of(item) in (*_LEFT_OUT, *_TOOLS)

    def _writes(self, value: JsonValue) -> bool:
        item = as_object(value)
        kind = kind_of(item)
        return kind == "reasoning" or is_call(kind) or (kind == "message" and item.get("role") == "assistant")

    def _goes_on(self, at: int) -> bool:
        """Whether the item there belongs to the emission that was read so far."""
        while at < len(self._items) and self._stands_aside(as_object(self._items[at])):
            at += 1
        if at == len(self._items) or self._emission.is_empty or not self._writes(self._items[at]):
            return False
        kind = kind_of(as_object(self._items[at]))
        emission = self._emission
        if not emission.calls:
            return is_call(kind) or emission.said is None
        if emission.hosted:
            return hosted_result(as_object(self._items[at])) is not None
        return is_call(kind) or self._is_one_emission or self._is_open(at)

    def _is_open(self, at: int) -> bool:
        """A call whose output comes later still runs: what the model writes meanwhile belongs to its emission."""
        return any(self._answered_at.get(call.id, -1) > at for call in self._emission.calls)

    def _tell(self, at: int, item: JsonObject, value: JsonValue) -> None:
        kind = kind_of(item)
        if kind == "message":
            self._tell_message(item)
        elif kind == "reasoning":
            self._think(item)
        elif kind == "mcp_approval_request":
            self._ask(item)
        elif is_call(kind):
            self._call(item)
        elif is_output(kind):
            tell_output(self._draft, item)
        elif kind in _TOOLS:
            for tool in as_list(item.get("tools")):
                self._draft.tool(tool)
        elif kind == "mcp_approval_response":
            if identifier(item.get("approval_request_id")) not in self._ran:
                answer: JsonObject = {key: item[key] for key in ("approve", "reason") if item.get(key) is not None}
                self._draft.result(compact(answer), id=identifier(item.get("approval_request_id")))
        elif kind in _LEFT_OUT:
            self._draft.note(f"an item of the type {kind!r} stands for what the document does not hold: left out")
        else:
            self._draft.note(f"item {at} has the type {item.get('type')!r}, which is not known: carried as a message")
            self._draft.message("other", compact(value))

    def _tell_message(self, item: JsonObject) -> None:
        content = item.get("content")
        if any(part.get("annotations") for part in objects(content)):
            self._draft.note("the citations of messages were left out")
        match item.get("role"):
            case "assistant":
                said = read_content(content)
                before = self._emission.said
                self._emission.said = said if before is None else _joined(before, said)
            case "user":
                self._draft.message("user", content)
            case "system" | "developer":
                self._draft.message("system", content)
            case role:
                self._draft.note(f"a message has the role {role!r}, which the Responses API does not have")
                self._draft.message("other", content, name=text_or_none(role))

    def _think(self, item: JsonObject) -> None:
        texts = [read_content(item.get(key)).text for key in ("summary", "content")]
        if not any(texts) and item.get("encrypted_content"):
            self._draft.note("the model's reasoning is encrypted")
        self._emission.reasoning.append("\n".join(text for text in texts if text))

    def _ask(self, item: JsonObject) -> None:
        """A call that waits for approval. Where it was given, the call itself follows."""
        if identifier(item.get("id")) not in self._ran:
            self._emission.calls.append(read_call(self._draft, item))

    def _call(self, item: JsonObject) -> None:
        self._emission.calls.append(read_call(self._draft, item))
        hosted = hosted_result(item)
        if hosted is not None:
            self._emission.hosted.append(hosted)

    def _flush(self, model: str | None, usage: Usage | None) -> None:
        emission, self._emission = self._emission, _Emission()
        if emission.is_empty:
            return
        self._told += 1
        self._draft.step(
            emission.said or Content(),
            calls=emission.calls,
            reasoning="\n".join(text for text in emission.reasoning if text),
            model=model,
            usage=usage,
        )
        for each in emission.hosted:
            if each.content is not None:
                self._draft.result(each.content, id=each.id, name=each.name, is_error=each.is_error)


def _joined(first: Content, second: Content) -> Content:
    text = "\n".join(each for each in (first.text, second.text) if each)
    return Content(text, first.attachments + second.attachments)


def tell_instructions(draft: Draft, instructions: JsonValue) -> None:
    """The system prompt: text, or items."""
    if isinstance(instructions, list):
        Items(draft, instructions).tell()
    elif as_text(instructions):
        draft.message("system", instructions)


def note_end(draft: Draft, response: JsonObject) -> None:
    """Why a response is not complete."""
    error = as_object(response.get("error"))
    reason = as_text(error.get("message")) or as_text(as_object(response.get("incomplete_details")).get("reason"))
    if response.get("status") not in (None, "completed") or reason:
        draft.note(f"the response ended as {as_text(response.get('status')) or 'unknown'!r}: {reason or 'no reason'}")

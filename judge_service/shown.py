"""What a judge is shown of a trace: pieces of text with places, cut where long, fenced where the trace could forge."""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from stepjudge.digest import canonical
from stepjudge.trace import Attachment, Call, Message, Result, Step, Tool, Trace
from stepjudge.value import JsonObject
from stepjudge.verdict import Cut
from stepjudge.visible import visible

HEAD, TAIL = 20_000, 10_000
"""Characters kept of a piece that is longer than both: by its own length alone, so no cut changes as a trace grows."""

_NAME = 80
_NO_HEADING = str.maketrans("⟦⟧", "[]")


@dataclass(frozen=True)
class Piece:
    """One text of the trace, at the place that evidence names."""

    place: str
    note: str
    text: str
    """Visible, and cut where it was too long."""
    cut: Cut | None = None
    unescaped: str = ""
    """The strings inside, where the text is JSON: judges quote them as the agent meant them, with real line breaks."""
    partial: bool = False
    """Whether something of this place is not shown: the middle of a long text, or an image."""

    def holds(self, quote: str) -> bool:
        """Whether the quote stands here, white space folded."""
        wanted = fold(quote)
        return wanted in self._folded or wanted in self._folded_strings

    @cached_property
    def _folded(self) -> str:
        return fold(self.text)

    @cached_property
    def _folded_strings(self) -> str:
        return fold(self.unescaped)


Places = Callable[[str], Piece | None]
"""Finds a piece by its place; null when there is none that the judge sees."""


def fold(text: str) -> str:
    return " ".join(text.split())


def mark(key: bytes, state: str) -> str:
    """The fence of a trace: a keyed hash of its first state digest, so nobody who writes a trace can know it."""
    return hmac.new(key, state.encode(), hashlib.sha256).hexdigest()[:16]


class Shown:
    """A trace as the judge sees it. Blocks are rendered once and shared by the prompts of all steps."""

    def __init__(self, trace: Trace, mark: str, *, reasoning: bool) -> None:
        self._mark = mark
        self._reasoning = reasoning
        self._trace = trace
        self._pieces: list[tuple[Piece, ...]] = []
        self._blocks: list[str] = []
        self._by_place: dict[str, tuple[int, Piece]] = {}
        self._cuts_before: list[int] = [0, 0]
        self._lengths: list[int] = []
        self._add("the task", tuple(_opening(trace)))

    def blocks(self, index: int) -> tuple[str, ...]:
        """The opening, then one block per step up to step `index`: a prefix of the blocks of any later step."""
        self._render(index)
        return tuple(self._blocks[: index + 1])

    def pieces(self, index: int) -> tuple[Piece, ...]:
        """Every piece that the judge of step `index` sees."""
        self._render(index)
        return tuple(piece for pieces in self._pieces[: index + 1] for piece in pieces)

    def places(self, index: int) -> Places:
        """Finds a piece by its place, among those that the judge of step `index` sees."""
        self._render(index)

        def find(place: str) -> Piece | None:
            found = self._by_place.get(place)
            return found[1] if found and found[0] <= index else None

        return find

    def length(self, index: int) -> int:
        """Characters of all blocks up to step `index`."""
        self._render(index)
        return self._lengths[index]

    def cuts(self, index: int) -> tuple[Cut, ...]:
        """What is cut of the opening and of step `index`."""
        return tuple(piece.cut for piece in (*self._pieces[0], *self.own_pieces(index)) if piece.cut)

    def earlier_cuts(self, index: int) -> int:
        """How many pieces are cut of the steps before step `index`."""
        self._render(index)
        return self._cuts_before[index]

    def own_pieces(self, index: int) -> tuple[Piece, ...]:
        """The pieces of step `index` itself."""
        self._render(index)
        return self._pieces[index]

    def heading(self, title: str) -> str:
        return f"⟦{self._mark} {title}⟧"

    def _render(self, index: int) -> None:
        while len(self._blocks) <= index:
            step = self._trace.steps[len(self._blocks) - 1]
            pieces = tuple(_step(step, reasoning=self._reasoning))
            self._add(f"step {step.index}, turn {step.turn}", pieces)
            self._cuts_before.append(self._cuts_before[-1] + sum(piece.cut is not None for piece in pieces))

    def _add(self, title: str, pieces: tuple[Piece, ...]) -> None:
        index = len(self._pieces)
        self._pieces.append(pieces)
        self._by_place.update({piece.place: (index, piece) for piece in pieces})
        self._blocks.append(self._block(title, pieces))
        self._lengths.append((self._lengths[-1] if index else 0) + len(self._blocks[-1]))

    def _block(self, title: str, pieces: Sequence[Piece]) -> str:
        lines = [self.heading(title)]
        for piece in pieces:
            # who has read an audited prompt of this task knows the code, and may have written it into this trace
            text = piece.text.replace(self._mark, "⟨the heading code⟩")
            lines += [self.heading(f"{piece.place}: {piece.note}" if piece.note else piece.place), text]
        return "\n".join(lines) + "\n"


def _piece(place: str, text: str, note: str = "", attachments: Sequence[Attachment] = (), unescaped: str = "") -> Piece:
    shown = visible(text)
    notes = [note] if note else []
    notes += [_named(f"{item.kind} {item.media_type or ''}") + " attached, not shown" for item in attachments]
    if len(shown) <= HEAD + TAIL:
        return Piece(place, "; ".join(notes), shown, unescaped=visible(unescaped), partial=bool(attachments))
    cut = Cut(place=place, shown_head=HEAD, shown_tail=TAIL, length=len(shown))
    middle = f"\n⟨{len(shown) - HEAD - TAIL} characters are not shown here⟩\n"
    text = shown[:HEAD] + middle + shown[-TAIL:]
    return Piece(place, "; ".join([*notes, "long, cut in the middle"]), text, cut, partial=True)


def _named(text: str) -> str:
    """A name from the trace, fit to stand in a heading: on one line, short, and unable to close it."""
    return fold(visible(text)).translate(_NO_HEADING)[:_NAME]


def _opening(trace: Trace) -> Iterator[Piece]:
    if trace.system:
        yield _piece("system", trace.system, "instructions that the agent was given")
    yield _piece("task", trace.task, "what the user asked for", trace.task_attachments)
    for number, tool in enumerate(trace.tools, start=1):
        yield _piece(f"tool.{number}", _tool(tool), "a tool that the agent was offered")


def _tool(tool: Tool) -> str:
    schema = "" if tool.parameters is None else "\nparameters: " + _json(tool.parameters)
    return f"{tool.name}\n{tool.description}{schema}".strip()


def _step(step: Step, *, reasoning: bool) -> Iterator[Piece]:
    for number, message in enumerate(step.before, start=1):
        yield _message(f"s{step.index}.before.{number}", message)
    if reasoning and step.reasoning:
        yield _piece(f"s{step.index}.reasoning", step.reasoning, "the agent's private reasoning, a claim")
    if step.message or step.attachments or not step.calls:
        yield _piece(f"s{step.index}.message", step.message, "what the agent said, a claim", step.attachments)
    for number, call in enumerate(step.calls, start=1):
        yield from _call(f"s{step.index}.c{number}", call)
    if step.observation is not None:
        yield _result(f"s{step.index}.result", step.observation)


def _message(place: str, message: Message) -> Piece:
    name = f" {_named(message.name)}" if message.name else ""
    return _piece(place, message.text, f"message from {message.role}{name}", message.attachments)


def _call(place: str, call: Call) -> Iterator[Piece]:
    yield _piece(f"{place}.tool", call.name, "the tool called")
    text, note = _arguments(call)
    yield _piece(f"{place}.arguments", text, note, unescaped="\n".join(_strings(call.arguments)))
    yield _result(f"{place}.result", call.result)


def _arguments(call: Call) -> tuple[str, str]:
    match call.arguments_state:
        case "ok":
            return _json(call.arguments or {}), ""
        case "unparsed":
            return call.arguments_raw or "", "not a JSON object"
        case "elided":
            return _json(call.arguments or {}), "the trace's format may have dropped arguments here"
        case "missing":
            return "", "the trace holds no arguments here"


def _result(place: str, result: Result) -> Piece:
    states = {
        "present": "",
        "empty": "empty",
        "missing": "the trace holds no result",
        "truncated": "cut by the harness",
    }
    notes = [states[result.state]]
    if result.is_error is not None:
        notes.append("marked as an error" if result.is_error else "not marked as an error")
    if result.exit_code is not None:
        notes.append(f"exit code {result.exit_code}")
    return _piece(place, result.text, ", ".join(note for note in notes if note), result.attachments)


def _strings(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            return


def _json(value: JsonObject) -> str:
    """Canonical, so that what is shown depends on nothing that the state digest leaves out, such as key order."""
    return canonical(value).decode()

"""A step as a page shows it: its pieces in the order in which things happened, each at the place that verdicts name."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from judge_service.pages.quoted import Citation, Passage, passage
from stepjudge.digest import canonical
from stepjudge.trace import Attachment, Call, Result, Step, Trace
from stepjudge.verdict import Evidence, Verdict


@dataclass(frozen=True)
class Piece:
    """A passage with what is said about it."""

    title: str
    passage: Passage
    raw: str
    """The place, as the address of the raw text names it."""
    note: str = ""
    wrong: bool = False
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallView:
    number: int
    name: Piece
    arguments: tuple[tuple[str, Passage], ...]
    """One by one, as the agent meant them."""
    spelled: Piece | None
    """The arguments as one text: where they are no object, or a quote stands only in that spelling."""
    result: Piece


@dataclass(frozen=True)
class StepView:
    step: Step
    before: tuple[Piece, ...]
    said: tuple[Piece, ...]
    """Its reasoning, its message, what came back to the step itself."""
    calls: tuple[CallView, ...]
    observation: Piece | None

    @property
    def found(self) -> frozenset[int]:
        """Numbers of the citations that stand in this step."""
        return frozenset(number for each in self.passages() for number in each.found)

    def passages(self) -> Iterator[Passage]:
        for piece in (*self.before, *self.said):
            yield piece.passage
        for call in self.calls:
            yield call.name.passage
            yield from (text for _, text in call.arguments)
            if call.spelled:
                yield call.spelled.passage
            yield call.result.passage
        if self.observation:
            yield self.observation.passage


def citations(verdict: Verdict | None) -> tuple[Citation, ...]:
    """Every quote of a verdict, numbered from 1."""
    if verdict is None:
        return ()
    quoted: list[tuple[str, Evidence]] = [(each.criterion, item) for each in verdict.answers for item in each.evidence]
    return tuple(Citation(item.place, item.quote, name, number) for number, (name, item) in enumerate(quoted, start=1))


def step_view(step: Step, cited: Sequence[Citation] = ()) -> StepView:
    at = f"s{step.index}"
    before = tuple(
        _piece(f"{message.role}{f' {message.name}' if message.name else ''}", f"{at}.before.{number}", f"before.{number}", message.text, cited, attachments=message.attachments)
        for number, message in enumerate(step.before, start=1)
    )  # fmt: skip
    said = [
        _piece("private reasoning", f"{at}.reasoning", "reasoning", step.reasoning, cited, note="a claim"),
        _piece(
            "message", f"{at}.message", "message", step.message, cited, note="a claim", attachments=step.attachments
        ),
    ]
    calls = tuple(_call(f"{at}.c{number}", number, call, cited) for number, call in enumerate(step.calls, start=1))
    observation = step.observation and _result(f"{at}.result", "result", step.observation, cited)
    kept = tuple(piece for piece in said if piece.passage.length or piece.attachments)
    return StepView(step, before, kept, calls, observation)


def opening_view(trace: Trace, cited: Sequence[Citation] = ()) -> tuple[Piece, ...]:
    """What stands before the first step."""
    pieces = [_piece("task", "task", "task", trace.task, cited, attachments=trace.task_attachments)]
    if trace.system:
        pieces.append(_piece("system", "system", "system", trace.system, cited))
    for number, tool in enumerate(trace.tools, start=1):
        parameters = "" if tool.parameters is None else f"\nparameters: {_json(tool.parameters)}"
        text = f"{tool.name}\n{tool.description}{parameters}"
        pieces.append(_piece(f"tool {number}", f"tool.{number}", f"tool.{number}", text, cited))
    return tuple(pieces)


def text_at(step: Step, place: str) -> str | None:
    """The whole text at a place of a step, such as `c1.result`; null when there is none."""
    texts = {"message": step.message, "reasoning": step.reasoning}
    texts |= {f"before.{number}": message.text for number, message in enumerate(step.before, start=1)}
    if step.observation is not None:
        texts["result"] = step.observation.text
    for number, call in enumerate(step.calls, start=1):
        texts[f"c{number}.tool"] = call.name
        texts[f"c{number}.arguments"] = _spelling(call)
        texts[f"c{number}.result"] = call.result.text
    return texts.get(place)


def opening_text_at(trace: Trace, place: str) -> str | None:
    """The same of what stands before the first step."""
    texts = {"task": trace.task, "system": trace.system}
    for number, tool in enumerate(trace.tools, start=1):
        texts[f"tool.{number}"] = f"{tool.name}\n{tool.description}\n{_json(tool.parameters or {})}"
    return texts.get(place)


def _call(place: str, number: int, call: Call, cited: Sequence[Citation]) -> CallView:
    raw = f"c{number}"
    at = f"{place}.arguments"
    rows: tuple[tuple[str, Passage], ...] = ()
    if call.arguments_state in ("ok", "elided"):
        given = (call.arguments or {}).items()
        rows = tuple(
            (name, passage(at, value if isinstance(value, str) else _json(value), cited)) for name, value in given
        )
    found = {each for _, text in rows for each in text.found}
    missed = [each for each in cited if each.place == at and each.number not in found]
    notes = {"ok": "as JSON", "unparsed": "not a JSON object", "elided": "the format may have dropped arguments here", "missing": "the trace holds no arguments here"}  # fmt: skip
    spelled = _piece("arguments", at, f"{raw}.arguments", _spelling(call), missed, note=notes[call.arguments_state])
    needed = call.arguments_state != "ok" or spelled.passage.found
    return CallView(
        number,
        _piece(f"call {number}", f"{place}.tool", f"{raw}.tool", call.name, cited),
        rows,
        spelled if needed else None,
        _result(f"{place}.result", f"{raw}.result", call.result, cited),
    )


def _result(place: str, raw: str, result: Result, cited: Sequence[Citation]) -> Piece:
    states = {
        "present": "",
        "empty": "empty",
        "missing": "the trace holds no result",
        "truncated": "cut by the harness",
    }
    notes = [states[result.state]]
    if result.is_error:
        notes.append("marked as an error")
    if result.exit_code is not None:
        notes.append(f"exit code {result.exit_code}")
    wrong = bool(result.is_error) or result.exit_code not in (None, 0)
    note = ", ".join(note for note in notes if note)
    return _piece("observation", place, raw, result.text, cited, note=note, wrong=wrong, attachments=result.attachments)


def _piece(
    title: str,
    place: str,
    raw: str,
    text: str,
    cited: Sequence[Citation],
    *,
    note: str = "",
    wrong: bool = False,
    attachments: Sequence[Attachment] = (),
) -> Piece:
    named = tuple(f"{item.kind} {item.media_type or ''} {item.source[:200]}".strip() for item in attachments)
    return Piece(title, passage(place, text, cited), raw, note, wrong, named)


def _spelling(call: Call) -> str:
    return call.arguments_raw or "" if call.arguments_state == "unparsed" else canonical(call.arguments or {}).decode()


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) if isinstance(value, dict | list) else json.dumps(value)

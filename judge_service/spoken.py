"""What a step speaks of is the text that people search it by: all that it says, calls and gets, without the names of fields."""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.trace import Step
from stepjudge.visible import visible

HEAD, TAIL = 40_000, 10_000
"""Characters of a longer step that can be searched."""


def spoken(step: Step, *, reasoning: bool) -> str:
    """The text, one piece per line. Of a very long step, its beginning and its end."""
    text = visible("\n".join(piece for piece in _pieces(step, reasoning=reasoning) if piece))
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def _pieces(step: Step, *, reasoning: bool) -> Iterator[str]:
    for message in step.before:
        yield message.text
    if reasoning:
        yield step.reasoning
    yield step.message
    for call in step.calls:
        yield call.name
        yield from _strings(call.arguments)
        yield call.arguments_raw or ""
        yield call.result.text
    if step.observation is not None:
        yield step.observation.text


def _strings(value: JsonValue) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                yield name
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case None:
            return
        case _:
            yield str(value)

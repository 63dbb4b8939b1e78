"""An edit is a trace with one thing of it changed: a value, a call, a step, or every text."""

from collections.abc import Callable, Sequence

from pydantic import JsonValue

from stepjudge.mention import Path
from stepjudge.trace import Call, Message, Result, Step, Trace
from stepjudge.value import JsonObject


def with_value(call: Call, path: Path, text: str) -> Call:
    """The call with another value in that place of its arguments, of the same type as before."""
    return call.model_copy(update={"arguments": _put(call.arguments or {}, path, text)})


def with_call(step: Step, number: int, call: Call) -> Step:
    """The step with that call in place of its call `number`, from 1."""
    calls = [call if place == number else each for place, each in enumerate(step.calls, start=1)]
    return step.model_copy(update={"calls": tuple(calls)})


def with_step(trace: Trace, step: Step) -> Trace:
    """The trace with that step in place of the one of its number."""
    steps = [step if each.index == step.index else each for each in trace.steps]
    return trace.model_copy(update={"steps": tuple(steps)})


def renumbered(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, numbered from 1."""
    return tuple(step.model_copy(update={"index": number}) for number, step in enumerate(steps, start=1))


def with_texts(trace: Trace, change: Callable[[str], str]) -> Trace:
    """The trace with every text changed: task first, then step by step. Names of tools and arguments stay."""
    opening = {"task": change(trace.task), "system": change(trace.system)}
    tools = [tool.model_copy(update={"description": change(tool.description)}) for tool in trace.tools]
    steps = [_with_texts(step, change) for step in trace.steps]
    after = [_said(message, change) for message in trace.after]
    output = trace.final_output and change(trace.final_output)
    rest = {"tools": tuple(tools), "steps": tuple(steps), "after": tuple(after), "final_output": output}
    return trace.model_copy(update=opening | rest)


def _with_texts(step: Step, change: Callable[[str], str]) -> Step:
    calls = [
        call.model_copy(
            update={
                "arguments": None if call.arguments is None else _deep(call.arguments, change),
                "arguments_raw": call.arguments_raw and change(call.arguments_raw),
                "result": _told(call.result, change),
            }
        )
        for call in step.calls
    ]
    return step.model_copy(
        update={
            "before": tuple(_said(message, change) for message in step.before),
            "message": change(step.message),
            "reasoning": change(step.reasoning),
            "calls": tuple(calls),
            "observation": step.observation and _told(step.observation, change),
        }
    )


def _said(message: Message, change: Callable[[str], str]) -> Message:
    return message.model_copy(update={"text": change(message.text)})


def _told(result: Result, change: Callable[[str], str]) -> Result:
    return result.model_copy(update={"text": change(result.text)}) if result.text else result


def _deep(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    match value:
        case str():
            return change(value)
        case list():
            return [_deep(inner, change) for inner in value]
        case dict():
            return {key: _deep(inner, change) for key, inner in value.items()}
        case _:
            return value


def _put(value: JsonValue, path: Path, text: str) -> JsonValue:
    if not path:
        return int(text) if isinstance(value, int) and not isinstance(value, bool) else text
    head, *rest = path
    if isinstance(value, list):
        return [_put(inner, tuple(rest), text) if place == head else inner for place, inner in enumerate(value)]
    holder: JsonObject = value if isinstance(value, dict) else {}
    return {key: _put(inner, tuple(rest), text) if key == head else inner for key, inner in holder.items()}

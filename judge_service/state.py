"""The state at a step is everything the agent had seen before it. Its digest grows with the trace, step by step."""

from pydantic import JsonValue

from stepjudge.digest import digest
from stepjudge.trace import Call, Message, Result, Step, Trace
from stepjudge.value import JsonObject


def opening(trace: Trace) -> JsonObject:
    """What stands before the first step, as it enters the first state digest."""
    return {
        "system": trace.system,
        "task": trace.task,
        "attachments": [item.model_dump() for item in trace.task_attachments],
        "tools": [tool.model_dump() for tool in trace.tools],
    }


def content(step: Step, *, reasoning: bool = True) -> JsonObject:
    """What a step says and does, with the agent's private reasoning where the rubric shows it. Not in it: its number, call ids, times, costs, and what a format kept as extra."""
    return {
        "before": [_message(message) for message in step.before],
        "message": step.message,
        "reasoning": step.reasoning if reasoning else "",
        "attachments": [item.model_dump() for item in step.attachments],
        "calls": [_call(call) for call in step.calls],
        "observation": step.observation and _result(step.observation),
        "turn": step.turn,
    }


def restored(opened: JsonObject, contents: list[JsonObject]) -> Trace:
    """The trace that these contents came from, as far as a judge reads it."""
    steps = [{**step, "index": index, "llm_call": index} for index, step in enumerate(contents, start=1)]
    body = {key: value for key, value in opened.items() if key != "attachments"}
    return Trace.model_validate(
        {"trace_id": "restored", **body, "task_attachments": opened["attachments"], "steps": steps}
    )


def step_digest(step: Step, *, reasoning: bool = True) -> str:
    return digest(content(step, reasoning=reasoning))


def next_state(state: str, step: str) -> str:
    """dₜ = H(dₜ₋₁, stepₜ), both as digests."""
    return digest([state, step])


def states(trace: Trace, *, reasoning: bool = True) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(state digests, step digests): `states[t]` is the state before step t+1, so there is one more of them."""
    before = [digest(opening(trace))]
    steps: list[str] = []
    for step in trace.steps:
        steps.append(step_digest(step, reasoning=reasoning))
        before.append(next_state(before[-1], steps[-1]))
    return tuple(before), tuple(steps)


def _message(message: Message) -> JsonValue:
    return message.model_dump()


def _call(call: Call) -> JsonValue:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "arguments_raw": call.arguments_raw,
        "arguments_state": call.arguments_state,
        "result": _result(call.result),
    }


def _result(result: Result) -> JsonValue:
    return result.model_dump()

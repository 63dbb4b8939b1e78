"""tau2-bench results: simulations of an agent, a user who may have tools too, and their environment.

Specification: sierra-research/tau2-bench, `Results` and `SimulationRun` of its data model. Read are results, of which each
simulation is a trace, and single simulations. Only the agent's messages are steps: the user's calls and their results are
messages. What the agent opens with before the user has spoken is a fixed text and no emission of its model.
"""

import itertools
from collections.abc import Iterator
from functools import partial

from pydantic import JsonValue

from stepjudge.formats.reading.attempts import with_steps
from stepjudge.formats.reading.chat_message import role_of
from stepjudge.formats.reading.content import compact
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import (
    as_amount,
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
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "tau2"
_IN_STEP = ("role", "content", "tool_calls", "raw_data", "usage", "cost", "timestamp")
_IN_TRACE = ("id", "messages", "policy", "ticks")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    runs = as_list(outer.get("simulations"))
    if runs and _is_simulation(as_object(runs[0])):
        return Fit("certain")
    if "simulations" in outer and "tasks" in outer:
        return Fit("near", "it has `simulations`, but the first has no `messages`")
    return Fit("certain") if _is_simulation(outer) else NO_FIT


def _is_simulation(run: JsonObject) -> bool:
    return isinstance(run.get("messages"), list) and "task_id" in run and "termination_reason" in run


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    runs = list(objects(outer.get("simulations"))) if "simulations" in outer else [outer]
    tasks = {identifier(each.get("id")): each for each in objects(outer.get("tasks"))}
    info = as_object(outer.get("info"))
    yield from with_steps(partial(_trace, run, info, tasks.get(identifier(run.get("task_id")), {})) for run in runs)


def _trace(run: JsonObject, info: JsonObject, task: JsonObject) -> Trace:
    draft = Draft(_NAME)
    environment = as_object(info.get("environment_info"))
    draft.message("system", run.get("policy") or environment.get("policy"))
    for tool in _tools(environment.get("tool_defs")):
        draft.tool(tool)
    messages = list(objects(run.get("messages")))
    opening = _opening(messages)
    for message in messages[:opening]:
        draft.note("the agent opens with a fixed text, which no model emitted: it stands as a message")
        draft.message("assistant", message.get("content"))
    for message in messages[opening:]:
        _tell(draft, message)
    agent = as_object(info.get("agent_info"))
    cost = as_amount(run.get("agent_cost"))
    return draft.build(
        trace_id=identifier(run.get("id")),
        agent=text_or_none(agent.get("implementation")),
        model=text_or_none(agent.get("llm")) or next(_models(run), None),
        usage=Usage(cost_usd=cost) if cost is not None else None,
        extra=with_fields(rest(run, *_IN_TRACE), task=task, results_info=rest(info, "environment_info")),
    )


def _tools(definitions: JsonValue) -> Iterator[JsonValue]:
    held = definitions if isinstance(definitions, list) else list(as_object(definitions).values())
    for each in objects(held):
        yield {"description": each.get("doc"), "parameters": each.get("params"), **each}


def _models(run: JsonObject) -> Iterator[str]:
    for message in objects(run.get("messages")):
        model = text_or_none(as_object(message.get("raw_data")).get("model"))
        if message.get("role") == "assistant" and model:
            yield model


def _tell(draft: Draft, message: JsonObject) -> None:
    match role_of(message.get("role")):
        case "assistant":
            _tell_step(draft, message)
        case "user":
            _tell_user(draft, message)
        case "tool":
            for each in list(objects(message.get("tool_messages"))) or [message]:
                _tell_result(draft, each)
        case role:
            draft.message(role, message.get("content"))


def _opening(messages: list[JsonObject]) -> int:
    """How many messages of the agent stand before the user's first and cost no model call."""
    return sum(1 for _ in itertools.takewhile(_is_fixed, messages))


def _is_fixed(message: JsonObject) -> bool:
    said = any(message.get(key) for key in ("tool_calls", "usage", "raw_data"))
    return message.get("role") == "assistant" and not said


def _tell_step(draft: Draft, message: JsonObject) -> None:
    raw = as_object(message.get("raw_data"))
    replies = [as_object(each).get("message") for each in as_list(raw.get("choices"))]
    reasoning = (as_text(as_object(each).get("reasoning_content")) for each in (raw.get("message"), *replies))
    draft.step(
        message.get("content"),
        calls=[
            draft.call(as_text(each.get("name")), each.get("arguments"), id=identifier(each.get("id")))
            for each in objects(message.get("tool_calls"))
        ],
        reasoning=next(filter(None, reasoning), ""),
        model=text_or_none(raw.get("model")),
        usage=read_usage(message.get("usage"), cost=message.get("cost")),
        started_at=text_or_none(message.get("timestamp")),
        extra=rest(message, *_IN_STEP),
    )
    if raw:
        draft.note("the provider's raw response to a model call was left out")


def _tell_user(draft: Draft, message: JsonObject) -> None:
    """The user acts with tools of their own before they answer: the exchange opens when they speak."""
    for call in objects(message.get("tool_calls")):
        draft.note("a call by the simulated user is no call of the agent: it stands as a message")
        draft.message("other", f"{as_text(call.get('name'))}({compact(call.get('arguments'))})", name="user")
    if message.get("content") or not message.get("tool_calls"):
        draft.message("user", message.get("content"))


def _tell_result(draft: Draft, result: JsonObject) -> None:
    if result.get("requestor") == "user":
        draft.message("tool", result.get("content"), name="user", opens_turn=False)
        return
    draft.result(result.get("content"), id=identifier(result.get("id")), is_error=as_bool(result.get("error")))


FORMAT = Format(name=_NAME, title="tau2-bench results and simulations", detect=detect, read=read)

"""NeMo Gym rollouts: a line per rollout with `responses_create_params`, `response` and `reward`.

Specification: NVIDIA NeMo Gym, "Rollout collection" (rows that `ng_collect_rollouts` writes), as of July 2026. The run stands
in items of the Responses API; rows of the tau2 agent also hold tau2's own simulation in `result`, which knows more
(errors, times, tokens): the steps are read from it. Rewards and verdicts of the environment stay in `extra`.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.responses_items import Items, note_end, tell_instructions
from stepjudge.formats.reading.shape import (
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
from stepjudge.formats.tau2 import read as read_simulation
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "nemo-gym"
_IN_PARAMS = ("input", "instructions", "tools", "model")
_IN_RESPONSE = ("output", "instructions", "tools", "model", "usage", "object", "id")


def detect(document: JsonValue) -> Fit:
    row = as_object(document)
    if not isinstance(row.get("responses_create_params"), dict):
        return NO_FIT
    if isinstance(row.get("response"), dict):
        return Fit("certain")
    return Fit("near", "it has `responses_create_params` but no `response`: a task of NeMo Gym, not a rollout")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    row = as_object(document)
    params, response = as_object(row.get("responses_create_params")), as_object(row.get("response"))
    draft = Draft(_NAME)
    for definition in as_list(params.get("tools")) or as_list(response.get("tools")):
        draft.tool(definition)
    note_end(draft, response)
    simulation = as_object(row.get("result"))
    is_simulation = _has_messages(simulation)
    if is_simulation:
        Items(draft, [each for each in objects(params.get("input")) if each.get("role") == "system"]).tell()
    else:
        _tell_items(draft, row, params, response)
    trace = draft.build(
        trace_id=_trace_id(row, response),
        agent=text_or_none(as_object(row.get("agent_ref")).get("name")),
        model=text_or_none(response.get("model")) or text_or_none(params.get("model")),
        usage=_usage(draft, response),
        extra=with_fields(
            rest(row, "responses_create_params", "response", "result"),
            params=rest(params, *_IN_PARAMS),
            response=rest(response, *_IN_RESPONSE),
            result=rest(simulation, "messages", "ticks") if is_simulation else row.get("result"),
        ),
        may_be_empty=is_simulation,
    )
    yield _simulated(trace, next(read_simulation(simulation, origin))) if is_simulation else trace


def _simulated(row: Trace, run: Trace) -> Trace:
    """The run as tau2 tells it, with what only the row knows."""
    if not run.steps:
        raise UnreadableTrace("$.result: the simulation has no steps: the agent only greeted")
    return run.model_copy(
        update={
            "trace_id": run.trace_id if row.trace_id.startswith("sha256:") else row.trace_id,  # of no steps
            "source_format": row.source_format,
            "agent": row.agent or run.agent,
            "model": row.model or run.model,
            "system": row.system or run.system,
            "tools": row.tools or run.tools,
            "usage": row.usage or run.usage,
            "notes": tuple(dict.fromkeys((*row.notes, *run.notes))),
            "extra": row.extra,
        }
    )


def _has_messages(simulation: JsonObject) -> bool:
    return any(each.get("role") == "assistant" for each in objects(simulation.get("messages")))


def _trace_id(row: JsonObject, response: JsonObject) -> str | None:
    """Some agents name the response after the task, so that all its rollouts have one id."""
    id, rollout = identifier(response.get("id")), identifier(row.get("_ng_rollout_index"))
    return f"{id}/{rollout}" if id and rollout else id


def _usage(draft: Draft, response: JsonObject) -> Usage | None:
    usage = read_usage(response.get("usage"))
    if usage is not None and not usage.prompt_tokens and not usage.completion_tokens:
        draft.note("the usage states no tokens at all: taken as unknown")
        return None
    if usage is not None:
        draft.note("the rollout does not say whether its usage is that of all emissions or of the last")
    return usage


def _tell_items(draft: Draft, row: JsonObject, params: JsonObject, response: JsonObject) -> None:
    tell_instructions(draft, params.get("instructions") or response.get("instructions"))
    given = params.get("input")
    if isinstance(given, str):
        draft.message("user", given)
    elif as_list(given):
        Items(draft, as_list(given)).tell()
    else:
        _tell_problem(draft, row, params)
    Items(draft, as_list(response.get("output"))).tell()


def _tell_problem(draft: Draft, row: JsonObject, params: JsonObject) -> None:
    """Agents that run in a container of their own get an empty input: the prompt was made from the problem."""
    harness = as_object(as_object(row.get("instance_config")).get("agent_kwargs"))
    draft.message("system", as_text(harness.get("system_prompt")))
    problem = as_text(as_object(params.get("metadata")).get("problem_statement"))
    if problem:
        draft.message("user", problem)
        draft.note("the prompt is not in the rollout: the task is the problem statement of its metadata")


FORMAT = Format(
    name=_NAME,
    title="NeMo Gym rollouts: Responses items with a reward, tau2 simulations within",
    detect=detect,
    read=read,
)

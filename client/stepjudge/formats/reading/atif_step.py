"""An ATIF step is a message, or an agent's emission with its calls and what the environment answered."""

from collections.abc import Callable
from typing import get_args

from pydantic import JsonValue

from stepjudge.formats.reading.atif_runs import references_in
from stepjudge.formats.reading.content import compact, read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.shape import (
    as_bool,
    as_count,
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
from stepjudge.trace import ArgumentsState, Call, ErrorKind, Trace
from stepjudge.value import JsonObject

Subtraces = Callable[[JsonObject], list[Trace]]
"""The sub-agents' runs that an observation result refers to."""

_FAILED = ("error", "failed", "failure")
_TOKEN_LISTS = ("prompt_token_ids", "completion_token_ids", "logprobs")
_IN_METRICS = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", *_TOKEN_LISTS)
_IN_RESULT = ("source_call_id", "content", "subagent_trajectory_ref")
_IN_CALL = ("tool_call_id", "function_name", "arguments")
_IN_STEP = ("step_id", "source", "message", "reasoning_content", "model_name", "timestamp")
_ABOUT_STEP = ("tool_calls", "observation", "metrics", "llm_call_count", "is_copied_context")
_MANY = 10**6


def tell(draft: Draft, step: JsonObject, subtraces: Subtraces) -> None:
    source = as_text(step.get("source"))
    if step.get("is_copied_context") is True:
        _tell_copied(draft, step, source)
    elif source == "agent":
        _tell_emission(draft, step, subtraces)
    elif source in ("user", "system"):
        draft.message("user" if source == "user" else "system", step.get("message"))
        _tell_free_results(draft, step, subtraces)
    else:
        draft.note(f"a step has the source {source!r}, which ATIF does not have")
        draft.message("other", step.get("message"), name=source or None)
        _tell_free_results(draft, step, subtraces)


def _tell_copied(draft: Draft, step: JsonObject, source: str) -> None:
    """Calls that were copied are told as text: as calls they would be counted twice."""
    draft.note("a step is context copied from an earlier run: it stands as a message and is not scored")
    calls = [f"{as_text(call.get('function_name'))}({compact(call.get('arguments'))})" for call in _calls(draft, step)]
    said = read_content(step.get("message"))
    role = "assistant" if source == "agent" else "system" if source == "system" else "user"
    draft.message(role, [step.get("message"), *calls] if calls else said, opens_turn=False)
    for result in _results(step):
        draft.message("tool", result.get("content"))


def _tell_emission(draft: Draft, step: JsonObject, subtraces: Subtraces) -> None:
    metrics = as_object(step.get("metrics"))
    if any(metrics.get(key) for key in _TOKEN_LISTS):
        draft.note("token ids and log-probabilities were left out")
    emissions = as_count(step.get("llm_call_count"))
    answers = _by_call(_results(step))
    calls = [_call(draft, call, answers, subtraces) for call in _calls(draft, step)]
    draft.step(
        step.get("message"),
        calls=calls,
        reasoning=as_text(step.get("reasoning_content")),
        model=text_or_none(step.get("model_name")),
        usage=read_usage(metrics),
        started_at=text_or_none(step.get("timestamp")),
        emissions=1 if emissions is None else min(emissions, _MANY),
        extra=with_fields(rest(step, *_IN_STEP, *_ABOUT_STEP), metrics=rest(metrics, *_IN_METRICS)),
    )
    if calls:
        _tell_results(draft, step)
        return
    for result in _results(step):
        if not _is_told_elsewhere(result):
            draft.observation(result.get("content"))
        _note_runs(draft, result, subtraces)


def _calls(draft: Draft, step: JsonObject) -> list[JsonObject]:
    calls = list(objects(step.get("tool_calls")))
    if len(calls) < len(as_list(step.get("tool_calls"))):
        draft.note("an entry of tool_calls that is no object was left out")
    return calls


def _results(step: JsonObject) -> list[JsonObject]:
    return list(objects(as_object(step.get("observation")).get("results")))


def _by_call(results: list[JsonObject]) -> dict[str | None, list[JsonObject]]:
    answers: dict[str | None, list[JsonObject]] = {}
    for result in results:
        answers.setdefault(identifier(result.get("source_call_id")), []).append(result)
    return answers


def _call(draft: Draft, call: JsonObject, answers: dict[str | None, list[JsonObject]], subtraces: Subtraces) -> Call:
    id_ = identifier(call.get("tool_call_id"))
    own = answers.get(id_, []) if id_ is not None else []
    is_answered = bool(own) or None in answers
    unknown = call.get("arguments") == {} and not is_answered  # what converters write for a call that was refused
    arguments, state = _arguments(call)
    return draft.call(
        as_text(call.get("function_name")),
        arguments,
        id=id_,
        state="elided" if unknown and state is None else state,
        subtraces=[trace for each in own for trace in subtraces(each)],
        extra=with_fields(rest(call, *_IN_CALL), result=rest(own[0], *_IN_RESULT) if own else {}),
    )


def _arguments(call: JsonObject) -> tuple[JsonValue, ArgumentsState | None]:
    """ATIF allows objects only: where stepjudge wrote the file, `extra` tells what really stood there."""
    about = as_object(call.get("extra"))
    stated = next((each for each in get_args(ArgumentsState) if each == about.get("arguments_state")), None)
    if stated in ("unparsed", "missing"):
        return about.get("arguments_raw"), stated
    return call.get("arguments"), stated


def _tell_results(draft: Draft, step: JsonObject) -> None:
    failed = _failed_calls(step)
    results = _results(step)
    for result in results:
        about = as_object(result.get("extra"))
        id_ = identifier(result.get("source_call_id"))
        # Results without an id are paired by their order, so none but the last may be passed over.
        if _is_told_elsewhere(result) and id_ not in failed and (id_ is not None or result is results[-1]):
            continue
        kind = about.get("error_kind")
        draft.result(
            result.get("content"),
            id=id_,
            is_error=True if id_ in failed else as_bool(about.get("is_error")),
            error_kind=next((each for each in get_args(ErrorKind) if each == kind), None),
            exit_code=as_integer(about.get("exit_code")),
            truncated=about.get("truncated") is True,
        )


def _is_told_elsewhere(result: JsonObject) -> bool:
    """Whether all that stands here is a reference to the run of a sub-agent: what the agent saw is then not known."""
    told = result.get("content") is not None or as_object(result.get("extra"))
    return not told and any(True for _ in references_in(result))


def _tell_free_results(draft: Draft, step: JsonObject, subtraces: Subtraces) -> None:
    """What the environment said to nobody's call."""
    for result in _results(step):
        draft.note("an observation belongs to no step of the agent: it stands as a message")
        draft.message("tool", result.get("content"))
        _note_runs(draft, result, subtraces)


def _note_runs(draft: Draft, result: JsonObject, subtraces: Subtraces) -> None:
    for trace in subtraces(result):
        draft.note(f"the run of sub-agent {trace.trace_id!r} belongs to no call and was left out")


def _failed_calls(step: JsonObject) -> set[str | None]:
    """The ids of calls that the NeMo Agent Toolkit says have failed: listed for the step, or by a call's status."""
    calls = list(objects(step.get("tool_calls")))
    by_name: dict[str, list[str | None]] = {}
    failed: set[str | None] = set()
    for call in calls:
        by_name.setdefault(as_text(call.get("function_name")), []).append(identifier(call.get("tool_call_id")))
        status = as_object(as_object(call.get("extra")).get("invocation")).get("status")
        if as_text(status).lower() in _FAILED:
            failed.add(identifier(call.get("tool_call_id")))
    ids = {identifier(call.get("tool_call_id")) for call in calls}
    for error in _tool_errors(step):
        named = {each for key in ("tool_call_id", "call_id", "id") if (each := identifier(error.get(key))) in ids}
        tool = as_text(error.get("tool_name")) or as_text(error.get("function_name")) or as_text(error.get("tool"))
        of_tool = by_name.get(tool, [])
        failed |= named or (set(of_tool) if len(of_tool) == 1 else set())
    return failed - {None}


def _tool_errors(step: JsonObject) -> list[JsonObject]:
    """A list, or an object whose keys are call ids."""
    stated: JsonValue = as_object(step.get("extra")).get("tool_errors")
    if isinstance(stated, dict):
        return [{"id": key} for key in stated]
    return [each if isinstance(each, dict) else {"id": each} for each in as_list(stated)]

"""Writes a trace as ATIF. What ATIF has no field for stands in `extra`, where the reader of ATIF finds it again."""

from collections.abc import Iterator
from datetime import datetime

from pydantic import JsonValue

from stepjudge.formats.reading.shape import as_object, as_text, with_fields
from stepjudge.trace import Attachment, Call, Message, Result, Step, Trace, Usage
from stepjudge.value import JsonObject

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_OWN = ("schema_version", "session_id", "extra", "agent", "final_metrics", "notes")
"""Fields of `Trace.extra` that the reader of ATIF put there and that have a place of their own."""


def to_atif(trace: Trace) -> JsonObject:
    """The trajectory, valid under ATIF 1.7, with sub-agents' runs embedded."""
    embedded: list[JsonObject] = []
    steps = [*_opening(trace), *_steps(trace, embedded), *(_message(each) for each in trace.after)]
    numbered: list[JsonValue] = [{"step_id": number, **step} for number, step in enumerate(steps, start=1)]
    about = as_object(trace.extra.get("agent"))
    run = with_fields(
        {
            "schema_version": "ATIF-v1.7",
            "session_id": as_text(trace.extra.get("session_id")) or trace.trace_id,
            "trajectory_id": trace.trace_id,
        },
        agent=with_fields(
            {"name": trace.agent or "unknown", "version": as_text(about.get("version")) or "unknown"},
            model_name=trace.model,
            tool_definitions=[
                _tool(name=t.name, description=t.description, parameters=t.parameters) for t in trace.tools
            ],
            extra=_agent_extra(about),
        ),
        notes="\n".join(trace.notes) or None,
        final_metrics=_totals(trace),
        extra=_extra(trace.extra, _OWN, final_output=_stated_output(trace)),
        subagent_trajectories=[*embedded],
    )
    return {**run, "steps": numbered}


def _agent_extra(about: JsonObject) -> JsonObject:
    own = as_object(about.get("extra"))
    return {**{key: value for key, value in about.items() if key not in ("version", "extra")}, **own}


def _stated_output(trace: Trace) -> str | None:
    """Null where the reader finds it by itself: in the message of a last step without calls."""
    last = trace.steps[-1] if trace.steps else None
    derived = last.message or None if last is not None and not last.calls else None
    return None if trace.final_output == derived else trace.final_output


def _tool(*, name: str, description: str, parameters: JsonObject | None) -> JsonValue:
    function: JsonObject = {"name": name, "description": description}
    return {"type": "function", "function": function if parameters is None else {**function, "parameters": parameters}}


def _opening(trace: Trace) -> Iterator[JsonObject]:
    if trace.system:
        yield {"source": "system", "message": trace.system}
    if trace.task or trace.task_attachments:
        yield _said("user", trace.task, trace.task_attachments)


def _steps(trace: Trace, embedded: list[JsonObject]) -> Iterator[JsonObject]:
    llm_call = 0
    for step in trace.steps:
        yield from (_message(each) for each in step.before)
        yield _step(step, step.llm_call - llm_call, embedded)
        llm_call = step.llm_call


def _message(message: Message) -> JsonObject:
    match message.role:
        case "user" | "system":
            return _said(message.role, message.text, message.attachments)
        case "assistant":
            return _said("agent", message.text, message.attachments) | {"is_copied_context": True}
        case "tool":
            content = _content(message.text, message.attachments)
            return {"source": "system", "message": "", "observation": {"results": [{"content": content}]}}
        case "other":
            said = _said("system", message.text, message.attachments)
            return with_fields(said, extra=with_fields({"role": "other"}, name=message.name))


def _said(source: str, text: str, attachments: tuple[Attachment, ...]) -> JsonObject:
    return {"source": source, "message": _content(text, attachments)}


def _content(text: str, attachments: tuple[Attachment, ...]) -> JsonValue:
    """Parts where there are attachments. ATIF knows a few kinds of images; others are told in words."""
    if not attachments:
        return text
    parts: list[JsonValue] = [{"type": "text", "text": text}] if text else []
    for each in attachments:
        if each.media_type in _IMAGES:
            parts.append({"type": "image", "source": {"media_type": each.media_type, "path": each.source}})
        else:
            parts.append({"type": "text", "text": f"[{each.kind} {each.media_type or ''} {each.source}]"})
    return parts


def _step(step: Step, emissions: int, embedded: list[JsonObject]) -> JsonObject:
    ids = _ids(step)
    is_dispatch = emissions == 0 and step.usage is None and not step.reasoning
    calls: list[JsonValue] = [_call(call, id_) for call, id_ in zip(step.calls, ids, strict=True)]
    answered = [(call, id_) for call, id_ in zip(step.calls, ids, strict=True) if _is_answered(call)]
    results: list[JsonValue] = [_result(call, id_, embedded) for call, id_ in answered]
    if step.observation is not None:
        results.append({"content": _content(step.observation.text, step.observation.attachments)})
    return with_fields(
        _said("agent", step.message, step.attachments),
        timestamp=step.started_at if _is_iso(step.started_at) else None,
        model_name=step.model,
        reasoning_content=step.reasoning or None,
        tool_calls=calls,
        observation={"results": results} if results else None,
        metrics=_metrics(step),
        llm_call_count=emissions if is_dispatch or emissions > 1 else None,
        extra=_extra(
            step.extra,
            ("extra", "metrics"),
            agent=step.agent,
            started_at=None if _is_iso(step.started_at) else step.started_at,
        ),
    )


def _ids(step: Step) -> list[str]:
    """ATIF wants an id for every call, and one that no other call of the step has."""
    ids: dict[str, None] = {}
    for number, call in enumerate(step.calls, start=1):
        ids[call.id if call.id and call.id not in ids else f"step_{step.index}_call_{number}"] = None
    return list(ids)


def _is_answered(call: Call) -> bool:
    return call.result.state != "missing" or bool(call.subtraces)


def _call(call: Call, id_: str) -> JsonValue:
    looks_elided = not call.arguments and not _is_answered(call)  # as the reader of ATIF takes it, unless told
    state = None if call.arguments_state == "ok" and not looks_elided else call.arguments_state
    about = _extra(call.extra, ("extra", "result"), arguments_state=state, arguments_raw=call.arguments_raw)
    head: JsonObject = {"tool_call_id": id_, "function_name": call.name, "arguments": call.arguments or {}}
    return with_fields(head, extra=about)


def _result(call: Call, id_: str, embedded: list[JsonObject]) -> JsonValue:
    references: list[JsonValue] = []
    for subtrace in call.subtraces:
        run = to_atif(subtrace)
        if any(each["trajectory_id"] == run["trajectory_id"] for each in embedded):
            run["trajectory_id"] = f"{subtrace.trace_id}#{len(embedded) + 1}"
        embedded.append(run)
        references.append({"trajectory_id": run["trajectory_id"]})
    result = call.result
    about = _extra(as_object(call.extra.get("result")), ("extra",), **_signals(result))
    content = None if result.state in ("empty", "missing") else _content(result.text, result.attachments)
    return with_fields({"source_call_id": id_}, content=content, subagent_trajectory_ref=references, extra=about)


def _signals(result: Result) -> JsonObject:
    truncated = True if result.state == "truncated" else None
    fields: JsonObject = {"is_error": result.is_error, "error_kind": result.error_kind, "exit_code": result.exit_code}
    return {**fields, "truncated": truncated}


def _metrics(step: Step) -> JsonObject:
    usage = step.usage or Usage()
    return with_fields(
        {},
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd,
        extra=_extra(as_object(step.extra.get("metrics")), ("extra",)),
    )


def _totals(trace: Trace) -> JsonObject:
    usage = trace.usage or Usage()
    return with_fields(
        {"total_steps": len(trace.steps)},
        total_prompt_tokens=usage.prompt_tokens,
        total_completion_tokens=usage.completion_tokens,
        total_cached_tokens=usage.cached_tokens,
        total_cost_usd=usage.cost_usd,
        extra=_extra(as_object(trace.extra.get("final_metrics")), ("extra", "total_steps")),
    )


def _extra(kept: JsonObject, own: tuple[str, ...], **more: JsonValue) -> JsonObject:
    """What an ATIF `extra` held goes back to it; fields that ATIF does not have, and ours, join it."""
    others = {key: value for key, value in kept.items() if key not in own}
    return with_fields({**others, **as_object(kept.get("extra"))}, **more)


def _is_iso(moment: str | None) -> bool:
    try:
        return moment is not None and bool(datetime.fromisoformat(moment.replace("Z", "+00:00")))
    except ValueError:
        return False

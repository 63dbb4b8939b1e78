"""SWE-agent trajectories (.traj): `trajectory` of thought, action and observation, `history` of messages, `info`.

Specification: SWE-agent documentation, "Trajectories", versions 0.x and 1.x. Read are trajectories in the
thought-action and in the function calling style, and demonstrations, which have the history alone. An action is a
command in SWE-agent's own shell: it is the call `bash`, unless the history tells the function that the model called.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.gathering import stated
from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import (
    as_amount,
    as_count,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.trace import Call, Trace, Usage
from stepjudge.value import JsonObject

_NAME = "swe-agent"
_SHELL = "bash"
_LOOKED_AT = 20
_IN_TRACE = ("trajectory", "history", "info", "replay_config", "attempts")
_IN_STEP = ("action", "observation", "response", "thought", "query", "messages", "tool_calls", "thinking_blocks")
_IN_INFO = ("submission", "model_stats")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    head = [as_object(each) for each in as_list(outer.get("trajectory"))[:_LOOKED_AT]]
    if any({"action", "observation"} <= each.keys() and {"thought", "response"} & each.keys() for each in head):
        return Fit("certain")
    entries = [as_object(each) for each in as_list(outer.get("history"))[:_LOOKED_AT]]
    if any("role" in each and "agent" in each and "message_type" in each for each in entries):
        return Fit("certain")
    if any(each.get("role") == "assistant" and {"agent", "action"} <= each.keys() for each in entries):
        return Fit("certain")
    return NO_FIT


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    info = as_object(outer.get("info"))
    draft = Draft(_NAME)
    history = [each for each in objects(outer.get("history")) if not _is_shown(draft, each)]
    if outer.get("trajectory"):
        _tell_steps(draft, as_list(outer.get("trajectory")), history)
    else:
        _tell_history(draft, history)
    if as_list(outer.get("attempts")):
        draft.note("the run was tried several times: the attempt that stands in `trajectory` was read")
    yield draft.build(
        agent="swe-agent",
        model=_model(outer.get("replay_config")),
        usage=_usage(as_object(info.get("model_stats"))),
        final_output=text_or_none(info.get("submission")),
        extra=with_fields(rest(outer, *_IN_TRACE), info=_kept(info)),
    )


def _is_shown(draft: Draft, entry: JsonObject) -> bool:
    """Demonstrations are put into the history for the model to learn from: nobody acted."""
    if entry.get("is_demo"):
        draft.note("a demonstration shown to the model was left out")
    return bool(entry.get("is_demo"))


def _kept(info: JsonObject) -> JsonObject:
    """Without the copies of edited files, which SWE-agent stores in three widths."""
    return {key: value for key, value in rest(info, *_IN_INFO).items() if not key.startswith("edited_files")}


def _tell_steps(draft: Draft, entries: list[JsonValue], history: list[JsonObject]) -> None:
    _tell_opening(draft, history)
    emitted = [each for each in history if each.get("role") == "assistant"]
    calls_functions = any(each.get("tool_calls") for each in emitted)
    next_ = 0
    for value in entries:
        entry = as_object(value)
        found = next((at for at in range(next_, len(emitted)) if _is_same(emitted[at], entry)), None)
        next_ = next_ if found is None else found + 1
        told = {} if found is None else emitted[found]
        if found is None and calls_functions and entry.get("action"):
            draft.note("the history has no function call for an action: it is told as a command of the shell")
        calls = _calls(draft, entry if entry.get("tool_calls") else told, as_text(entry.get("action")))
        draft.step(
            entry.get("thought") or entry.get("response"),
            calls=calls,
            reasoning=_thinking(entry) or _thinking(told),
            extra=rest(entry, *_IN_STEP),
        )
        _tell_observation(draft, calls, entry.get("observation"))


def _tell_opening(draft: Draft, history: list[JsonObject]) -> None:
    """What the model was told before it first answered."""
    for entry in history:
        if entry.get("role") == "assistant":
            return
        draft.message("system" if entry.get("role") == "system" else "user", entry.get("content"))


def _is_same(entry: JsonObject, step: JsonObject) -> bool:
    """The history may have less than the trajectory, and thoughts that were edited; actions are the same."""
    return as_text(entry.get("action")).strip() == as_text(step.get("action")).strip()


def _tell_history(draft: Draft, history: list[JsonObject]) -> None:
    calls: list[Call] = []
    for entry in history:
        content = entry.get("content")
        match entry.get("role"):
            case "assistant":
                calls = _calls(draft, entry, as_text(entry.get("action")))
                thought = text_or_none(entry.get("thought"))
                draft.step(
                    thought or content, calls=calls, reasoning=_thinking(entry), agent=text_or_none(entry.get("agent"))
                )
            case "tool":
                ids = as_list(entry.get("tool_call_ids")) or [entry.get("tool_call_id")]
                for id_ in ids:
                    draft.result(content, id=identifier(id_))
                if len(ids) > 1:
                    draft.note("one observation answers several calls: it is the result of each")
                calls = []
            case "system":
                draft.message("system", content)
            case _ if draft.has_steps:
                _tell_observation(draft, calls, content)
                calls = []
            case _:
                draft.message("user", content)


def _tell_observation(draft: Draft, calls: list[Call], observation: JsonValue) -> None:
    if len(calls) == 1:
        draft.result(observation, id=calls[0].id, name=calls[0].name)
    elif observation not in (None, ""):
        if calls:
            draft.note("one observation answers several calls: it stands with the step")
        draft.observation(observation)


def _calls(draft: Draft, entry: JsonObject, action: str) -> list[Call]:
    functions = [
        draft.call(as_text(function.get("name")), function.get("arguments"), id=identifier(call.get("id")))
        for call in objects(entry.get("tool_calls"))
        if (function := as_object(call.get("function")))
    ]
    return functions or ([draft.call(_SHELL, {"command": action})] if action.strip() else [])


def _thinking(entry: JsonObject) -> str:
    blocks = (read_content(each.get("thinking")).text for each in objects(entry.get("thinking_blocks")))
    return "\n".join(filter(None, blocks))


def _usage(stats: JsonObject) -> Usage | None:
    return stated(
        Usage(
            prompt_tokens=as_count(stats.get("tokens_sent")),
            completion_tokens=as_count(stats.get("tokens_received")),
            cost_usd=as_amount(stats.get("instance_cost")),
        )
    )


def _model(config: JsonValue) -> str | None:
    """Since 1.0 the configuration is JSON within JSON."""
    parsed = parse_embedded(config) if isinstance(config, str) else None
    agent = as_object(as_object(parsed.value if parsed else config).get("agent"))
    return text_or_none(as_object(agent.get("model")).get("name"))


FORMAT = Format(
    name=_NAME,
    title="SWE-agent .traj: trajectories and demonstrations",
    detect=detect,
    read=read,
)

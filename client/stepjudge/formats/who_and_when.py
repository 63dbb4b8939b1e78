"""Who&When records: the log of a failed run of several agents, and who made the mistake at which entry.

Specification: Who&When (ag2ai/Agents_Failure_Attribution), its algorithm-generated and hand-crafted records. Each entry of
`history` is a step of the agent it names, except the human's; the log has no calls. The labels stay in the trace's `extra`,
where no judge reads; each step's `extra.message_index` is its place in `history`, as `mistake_step` counts.
"""

import re
from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, rest, text_or_none
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_NAME = "who-and-when"
_HUMAN = ("human", "user_proxy", "human_proxy")
_IN_TRACE = ("history", "system_prompt")
_AGENT = re.compile(r"\A([^()]*[^() ]) *\(.*\)\Z", re.DOTALL)
"""Such as `Orchestrator (-> WebSurfer)`."""


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if not isinstance(outer.get("history"), list) or not {"mistake_agent", "mistake_step"} & outer.keys():
        return NO_FIT
    return Fit("certain")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    draft = Draft(_NAME)
    draft.note("the log has no calls: what an agent did is told by its text, or by the entry that follows")
    for agent, prompt in as_object(outer.get("system_prompt")).items():
        draft.message("system", f"{agent}: {as_text(prompt)}")
    history = as_list(outer.get("history"))
    if not any(_is_human(as_object(entry)) for entry in history):
        draft.message("user", outer.get("question"))
    for place, value in enumerate(history):
        _tell(draft, as_object(value) or {"content": value}, place)
    yield draft.build(
        trace_id=identifier(outer.get("question_ID")) or identifier(outer.get("question_id")),
        extra=rest(outer, *_IN_TRACE),
    )


def _tell(draft: Draft, entry: JsonObject, place: int) -> None:
    if _is_human(entry):
        draft.message("user", entry.get("content"))
        return
    role = as_text(entry.get("role"))
    named = text_or_none(entry.get("name"))
    agent = named or _AGENT.sub(r"\1", role)
    draft.step(
        entry.get("content"),
        agent=agent or None,
        extra={"message_index": place, **({"role": role} if role and named is None and agent != role else {})},
    )


def _is_human(entry: JsonObject) -> bool:
    return as_text(entry.get("role")).lower() in _HUMAN


FORMAT = Format(name=_NAME, title="Who&When failure logs", detect=detect, read=read)

"""AgentProcessBench rows: a conversation with its tools, and a human label for each of the agent's messages.

Specification: AgentProcessBench (arXiv 2603.14465), the rows of its data files. The conversation is OpenAI chat, whose tool
messages may have no ids. The labels stay in the trace's `extra`, where no judge reads; each step's `extra.message_index` is
the key of its label in `step_labels`.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats import openai_chat
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import as_list, as_object, identifier
from stepjudge.trace import Step, Trace
from stepjudge.value import JsonObject

_NAME = "agent-process-bench"
_LABELS = ("step_labels", "final_label")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if not isinstance(outer.get("messages"), list) or not any(key in outer for key in _LABELS):
        return NO_FIT
    if not isinstance(outer.get("step_labels"), dict):
        return Fit("near", "it has `messages` and `final_label`, but no object `step_labels`")
    return Fit("certain")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    outer = as_object(document)
    messages = as_list(outer.get("messages"))
    spoken = [place for place, each in enumerate(messages) if as_object(each).get("role") == "assistant"]
    for trace in openai_chat.read({**outer, "messages": messages}, origin):
        steps = tuple(_placed(step, place) for step, place in zip(trace.steps, spoken, strict=False))
        yield trace.model_copy(
            update={"steps": steps, "source_format": _NAME, "trace_id": _id(outer) or trace.trace_id}
        )


def _placed(step: Step, place: int) -> Step:
    return step.model_copy(update={"extra": {**step.extra, "message_index": place}})


def _id(row: JsonObject) -> str | None:
    """As the benchmark names its records."""
    parts = [identifier(row.get(key)) for key in ("data_source", "query_index", "sample_index")]
    return ":".join(part for part in parts if part) if all(parts) else None


FORMAT = Format(name=_NAME, title="AgentProcessBench rows", detect=detect, read=read)

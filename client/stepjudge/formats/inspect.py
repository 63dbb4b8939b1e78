"""Inspect AI logs, versions 1 and 2: `.eval` archives and `.json` logs, a trace for each sample and epoch.

Specification: Inspect AI, "Log files" and its `EvalLog` schema, up to inspect-ai 0.3.285. The conversation is the sample's
`messages`; its events give usage, times, tools, and the runs of sub-agents. Where a sample has no messages, the last model
event has them, in itself or in the sample's pool. Scores and targets are kept in `extra` only.
"""

from collections.abc import Iterator
from functools import partial

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.attempts import with_steps
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.inspect_events import Transcript
from stepjudge.formats.reading.inspect_message import (
    Attachments,
    calls_of,
    error_kind,
    inspect_message,
    inspect_usage,
    output_message,
)
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
from stepjudge.formats.reading.tree import Tree
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_NAME = "inspect"
_HEADERS = ("header.json", "_journal/start.json")
_ABOUT_EVAL = ("task", "task_id", "run_id", "eval_id", "created", "model", "solver", "dataset", "packages")
_ABOUT_SAMPLE = ("id", "epoch", "target", "choices", "scores", "metadata", "error", "limit", "uuid", "total_time")
_IN_STEP = ("id", "content", "role", "source", "tool_calls", "model")


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    about = as_object(outer.get("eval"))
    if "task" not in about or "model" not in about or not {"plan", "samples", "status"} & outer.keys():
        return NO_FIT
    if not as_list(outer.get("samples")):
        return Fit("near", "it is the header of an Inspect log, without `samples`")
    return Fit("certain")


def unpack(tree: Tree) -> Iterator[JsonValue] | None:
    header = next((name for name in _HEADERS if name in tree.names), None)
    return _samples(tree, header) if header is not None else None


def _samples(tree: Tree, header: str) -> Iterator[JsonValue]:
    about = as_object(tree.document(header))
    names = tree.matching("samples/*.json")
    held: list[JsonValue] = []
    for name in names:
        sample = tree.document(name)
        if _was_run(sample) and any(_was_run(each) for each in held):
            yield {**about, "samples": held}
            held = []
        held = [*held, sample]
    yield {**about, "samples": held}


def _was_run(sample: JsonValue) -> bool:
    """Samples that failed before their first step are read together with one that did not, which tells of them."""
    inner = as_object(sample)
    return any(each.get("role") == "assistant" for each in objects(inner.get("messages"))) or not inner.get("messages")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    samples = list(objects(outer.get("samples")))
    if not samples:
        raise UnreadableTrace("$.samples: the log has no samples: write it with its samples, not the header alone")
    yield from with_steps(partial(_trace, as_object(outer.get("eval")), sample) for sample in samples)


def _trace(about: JsonObject, sample: JsonObject) -> Trace:
    draft = Draft(_NAME)
    attachments = Attachments(sample)
    transcript = Transcript(sample, attachments)
    models = transcript.models()
    messages = [as_object(attachments.resolved(each)) for each in objects(sample.get("messages"))]
    if not messages and models:
        draft.note("the sample has no messages: its conversation was taken from its last model event")
        messages = [*transcript.given(models[-1]), *(each for each in (output_message(models[-1]),) if each)]
    _tell_tools(draft, models)
    known = {id_ for each in messages if (id_ := text_or_none(each.get("id")))}
    sub_runs: dict[str, list[Trace]] = {}
    for call_id, trace in transcript.sub_runs(known):
        sub_runs.setdefault(call_id, []).append(trace)
    emitted = {as_text(output_message(each).get("id")): each for each in models}
    _tell(draft, messages, emitted, sub_runs, transcript.cut())
    if sub_runs:
        draft.note(f"the runs of {len(sub_runs)} sub-agents belong to no call and were left out")
    model = text_or_none(about.get("model"))
    return draft.build(
        trace_id=identifier(sample.get("uuid")) or _id(about, sample),
        agent=text_or_none(about.get("solver")) or text_or_none(about.get("task")),
        model=model,
        usage=inspect_usage(as_object(sample.get("model_usage")).get(model or "")),
        extra=with_fields(
            {},
            eval={key: about[key] for key in _ABOUT_EVAL if about.get(key) is not None},
            sample={key: sample[key] for key in _ABOUT_SAMPLE if sample.get(key) is not None},
        ),
    )


def _id(about: JsonObject, sample: JsonObject) -> str | None:
    run, id_ = identifier(about.get("run_id")), identifier(sample.get("id"))
    return f"{run}/{id_}/{identifier(sample.get('epoch')) or '1'}" if run and id_ else None


def _tell_tools(draft: Draft, models: list[JsonObject]) -> None:
    told: list[JsonValue] = []
    for tool in (tool for each in models for tool in as_list(each.get("tools"))):
        if tool not in told:
            told.append(tool)
            draft.tool(tool)


def _tell(
    draft: Draft,
    messages: list[JsonObject],
    events: dict[str, JsonObject],
    sub_runs: dict[str, list[Trace]],
    cut: set[str],
) -> None:
    for message in messages:
        said = inspect_message(message)
        if said.role == "assistant":
            event = events.get(as_text(message.get("id")) or "-", {})
            calls = [
                call.model_copy(update={"subtraces": tuple(sub_runs.pop(call.id or "", ()))})
                for call in calls_of(draft, message)
            ]
            draft.step(
                said.content,
                calls=calls,
                reasoning=said.reasoning,
                model=text_or_none(message.get("model")),
                usage=inspect_usage(as_object(event.get("output")).get("usage")),
                started_at=text_or_none(event.get("timestamp")),
                extra=rest(message, *_IN_STEP),
            )
        elif said.role == "tool":
            draft.result(
                said.content,
                id=said.call_id,
                name=said.name,
                is_error=said.is_error,
                error_kind=error_kind(said, message),
                truncated=message.get("id") in cut or as_object(message.get("error")).get("type") == "output_limit",
            )
        else:
            draft.message(said.role, said.content)


FORMAT = Format(
    name=_NAME,
    title="Inspect AI logs (.eval archives and .json), versions 1 and 2",
    detect=detect,
    read=read,
    unpack=unpack,
)

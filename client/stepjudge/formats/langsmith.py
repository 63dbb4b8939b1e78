"""LangSmith runs: the list of runs of a trace, as `Client.list_runs`, the API's export and `Run.dict()` give them.

Specification: LangSmith's run data format (`run_type`, `dotted_order`, `trace_id`, `parent_run_id`). Emissions and their
calls are taken from runs of the type llm; tool runs give results and errors, and there is none for a tool that does not
exist. What an llm run was given is completed from the messages of the outermost run, where it is kept as text only.
"""

from collections.abc import Iterator
from dataclasses import replace

from pydantic import JsonValue

from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Emission, Execution, Said
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.langchain_message import fields_of, langchain_message, message_in, model_of, usage_of
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.span_run import Dialect, traces
from stepjudge.formats.reading.span_tree import Kind
from stepjudge.formats.reading.spans import Span
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "langsmith"
_MARKS = ("dotted_order", "trace_id", "parent_run_id", "child_runs")
_KINDS: dict[str, Kind] = {"llm": "model", "tool": "tool"}
_LOOKED_AT = 20
_MAX_NESTING = 100


def detect(document: JsonValue) -> Fit:
    if isinstance(document, dict):
        listed = [each for key in ("runs", "child_runs") if (each := as_list(document.get(key)))]
        return Fit("certain") if any(_are_runs(each) for each in listed) else NO_FIT
    return Fit("certain") if _are_runs(as_list(document)) else NO_FIT


def _are_runs(values: list[JsonValue]) -> bool:
    head = [as_object(each) for each in values[:_LOOKED_AT]]
    return bool(head) and all("run_type" in each and any(mark in each for mark in _MARKS) for each in head)


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    spans = [_span(run) for run in _runs(document, 0)]
    records: dict[str, list[Said]] = {}
    for span in spans:
        if span.parent is None or span.id == span.trace:
            records.setdefault(span.trace, _record(span.attributes))

    def emission(span: Span) -> Emission:
        return _emission(span, records.get(span.trace, []))

    yield from traces(
        spans, Dialect(_NAME, _kind, emission, _execution, _tools, lambda span: span.name or None, _totals)
    )


def _runs(value: JsonValue, level: int) -> Iterator[JsonObject]:
    if isinstance(value, list):
        for each in objects(value):
            yield from _runs(each, level)
        return
    run = as_object(value)
    if "run_type" in run:
        yield run
    if level < _MAX_NESTING:
        yield from _runs(as_list(run.get("child_runs")), level + 1)
        yield from _runs(as_list(run.get("runs")), level + 1)


def _span(run: JsonObject) -> Span:
    started = text_or_none(run.get("start_time"))
    order = as_text(run.get("dotted_order")).rpartition(".")[2].partition("Z")[0] or started or ""
    digits = "".join(each for each in order[:40] if each.isascii() and each.isdecimal())
    trace = identifier(run.get("trace_id")) or identifier(as_text(run.get("dotted_order")).partition("Z")[2][:36])
    return Span(
        id=identifier(run.get("id")) or "",
        trace=trace or "",
        parent=identifier(run.get("parent_run_id")),
        name=as_text(run.get("name")),
        attributes=run,
        started=int(digits[:20].ljust(20, "0")),
        started_at=started,
        failed=bool(run.get("error")),
        message=as_text(run.get("error")),
        resource=as_object(as_object(run.get("extra")).get("metadata")),
    )


def _kind(span: Span) -> Kind:
    return _KINDS.get(as_text(span.attributes.get("run_type")), "other")


def _record(run: JsonObject) -> list[Said]:
    """The conversation that the outermost run ends with, or else begins with."""
    for side in (run.get("outputs"), run.get("inputs")):
        holder = as_object(side)
        holders = (holder, as_object(holder.get("output")), as_object(holder.get("input")))
        for each in holders:
            found = _messages(each)
            if found:
                return found
    return []


def _messages(holder: JsonObject) -> list[Said]:
    values = as_list(holder.get("messages"))
    inner = values[0] if values and isinstance(values[0], list) and message_in(values[0]) is None else values
    return [said for each in as_list(inner) if (said := message_in(each)) is not None]


def _emission(span: Span, record: list[Said]) -> Emission:
    run = span.attributes
    inputs, outputs = as_object(run.get("inputs")), as_object(run.get("outputs"))
    message = _output(outputs)
    fields = as_object(message)
    said = message_in(message)
    given = _messages(inputs) or _given(inputs, said, record)
    metadata = as_object(as_object(run.get("extra")).get("metadata"))
    parameters = as_object(as_object(run.get("extra")).get("invocation_params"))
    names = (metadata.get("ls_model_name"), parameters.get("model"), outputs.get("model"))
    inner = fields_of(message) or fields
    return Emission(
        said=replace(said, role="assistant") if said is not None else None,
        given=tuple(given),
        agent=text_or_none(metadata.get("lc_agent_name")),
        model=model_of(inner) or next((name for each in names if (name := text_or_none(each))), None),
        usage=usage_of(inner) or usage_of(outputs) or read_usage(outputs.get("usage")) or _counted(run),
    )


def _output(outputs: JsonObject) -> JsonValue:
    """LangChain nests generations in batches; wrapped clients keep the provider's response."""
    value: JsonValue = outputs.get("generations")
    while isinstance(value, list):
        value = value[0] if value else None
    generation = as_object(value)
    choice = as_object((as_list(outputs.get("choices")) or [None])[0])
    found = generation.get("message") or choice.get("message") or outputs.get("message") or outputs.get("output")
    if found is None and "text" in generation:
        return {"role": "assistant", "content": generation["text"]}
    if found is None and isinstance(outputs.get("role"), str):
        return outputs
    return {"role": "assistant", "content": found} if isinstance(found, str) else found


def _given(inputs: JsonObject, said: Said | None, record: list[Said]) -> list[Said]:
    """What stands in the record before the emission. The system prompt stands in the prompt's text, before the task."""
    places = [place for place, each in enumerate(record) if said is not None and each.key == said.key]
    spoken = [place for place, each in enumerate(record) if each.role == "assistant"]
    before = record[: next(iter(places or spoken), len(record))]
    prompt = as_text((as_list(inputs.get("prompts")) or [None])[0])
    task = next((each.content.text for each in record if each.role == "user"), "")
    system, mark, _ = prompt.partition(f"\nHuman: {task}")
    if mark and system.startswith("System: ") and not any(each.role == "system" for each in record):
        return [Said("system", Content(system.removeprefix("System: "))), *before]
    return before or ([Said("user", Content(prompt.removeprefix("Human: ")))] if prompt else [])


def _counted(run: JsonObject) -> Usage | None:
    """Sums that the server adds; it writes money as text."""
    cost = run.get("total_cost")
    try:
        money = float(cost) if isinstance(cost, str) and len(cost) < 40 else cost
    except ValueError:
        money = None
    return read_usage(run, cost=money)


def _execution(span: Span) -> Execution:
    run = span.attributes
    outputs = run.get("outputs")
    output = as_object(outputs).get("output", outputs)
    fields = fields_of(output)
    said = langchain_message(fields) if fields is not None and fields.get("type") == "tool" else None
    content = said.content if said is not None else read_content(output) if output is not None else None
    call_id = identifier(as_object(run.get("extra")).get("tool_call_id"))
    return Execution(
        name=span.name,
        arguments=run.get("inputs"),
        call_id=call_id or (said.call_id if said is not None else None),
        content=Content(span.message) if content is None and span.failed else content,
        is_error=span.failed or (said is not None and said.is_error is True),
    )


def _tools(span: Span) -> Iterator[JsonValue]:
    parameters = as_object(as_object(span.attributes.get("extra")).get("invocation_params"))
    inputs = as_object(span.attributes.get("inputs"))
    for holder in (parameters, inputs):
        for key in ("tools", "functions"):
            yield from as_list(holder.get(key))


def _totals(span: Span) -> Usage | None:
    return None if _kind(span) == "model" else _counted(span.attributes)


FORMAT = Format(name=_NAME, title="LangSmith runs (lists of runs, runs with child_runs)", detect=detect, read=read)

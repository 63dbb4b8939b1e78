"""OpenTelemetry GenAI spans: traces of any harness that follows the conventions, by attributes named `gen_ai.*`.

Specification: OpenTelemetry semantic conventions for generative AI, 1.27 to 1.41 and 0.1 of their own repository. Read are
OTLP JSON (one request, or lines of them) and lists of spans, with messages as `gen_ai.input.messages` and
`gen_ai.output.messages`, as span events, as pydantic-ai's `events`, or as OpenLLMetry's `gen_ai.prompt.N` and
`gen_ai.completion.N`. Emissions and their calls are taken from model spans; `execute_tool` spans give results and errors.
"""

from collections.abc import Iterator
from itertools import islice

from pydantic import JsonValue

from stepjudge.formats.reading.attributes import attribute, first_attribute, listed, structured
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Emission, Execution, Said
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.genai_message import from_events, instructions_of, messages_of, spread_messages
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.span_run import Dialect, traces
from stepjudge.formats.reading.span_tree import Kind
from stepjudge.formats.reading.spans import Event, Span, is_export, spans_in
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "otel-genai"
_OPERATION = "gen_ai.operation.name"
_OPERATIONS: dict[str, Kind] = {
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
    "evaluate": "aside",
}
_OPENLLMETRY: dict[str, Kind] = {"tool": "tool", "agent": "agent"}
_LOOKED_AT = 1000


def detect(document: JsonValue) -> Fit:
    """Certain of a list of spans or of exports, which may hold one trace together, and likely of a single export."""
    is_whole = isinstance(document, list) or any(isinstance(each, list) for each in as_object(document).values())
    found, spans = False, 0
    for span in islice(spans_in(document), _LOOKED_AT) if is_whole else ():
        if attribute(span.attributes, "openinference.span.kind") is not None:
            return NO_FIT
        spans += 1
        found = found or any(key.startswith(("gen_ai.", "traceloop.")) for key in span.attributes)
    if found:
        return Fit("likely" if is_export(document) else "certain")
    why = "its spans have no attributes named `gen_ai.*` or `openinference.*`"
    return Fit("near", why) if spans and is_export(document) else NO_FIT


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    yield from traces(spans_in(document), _DIALECT)


def _kind(span: Span) -> Kind:
    stated = span.attributes
    operation = as_text(attribute(stated, _OPERATION))
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if as_text(attribute(stated, "traceloop.span.kind")) in _OPENLLMETRY:
        return _OPENLLMETRY[as_text(attribute(stated, "traceloop.span.kind"))]
    if attribute(stated, "gen_ai.tool.name") is not None and attribute(stated, "gen_ai.request.model") is None:
        return "tool"
    is_model = attribute(stated, "llm.request.type") in ("chat", "completion") or (
        not operation and attribute(stated, "gen_ai.request.model") is not None
    )
    return "model" if is_model else "agent" if attribute(stated, "agent_name") is not None else "other"


def _emission(span: Span) -> Emission:
    stated = span.attributes
    given, said = from_events([*span.events, *_embedded_events(span)])
    given = messages_of(attribute(stated, "gen_ai.input.messages")) or given or spread_messages(stated, "gen_ai.prompt")
    said = (
        messages_of(attribute(stated, "gen_ai.output.messages")) or said or spread_messages(stated, "gen_ai.completion")
    )
    instructions = attribute(stated, "gen_ai.system_instructions")
    return Emission(
        said=next((each for each in said if each.role != "tool"), None),
        given=(*instructions_of(instructions), *given),
        agent=text_or_none(attribute(stated, "gen_ai.agent.name")),
        model=text_or_none(first_attribute(stated, "gen_ai.response.model", "gen_ai.request.model")),
        usage=_usage(span, "gen_ai.usage"),
        extra=_choices(said),
    )


def _choices(said: list[Said]) -> JsonObject | None:
    return {"choices": len(said)} if len(said) > 1 else None


def _embedded_events(span: Span) -> list[Event]:
    """pydantic-ai, up to its instrumentation version 1, keeps events in an attribute."""
    found = objects(structured(attribute(span.attributes, "events")))
    return [Event(as_text(each.get("event.name")), each) for each in found]


def _usage(span: Span, family: str) -> Usage | None:
    stated = span.attributes
    counted: JsonObject = {
        "prompt_tokens": first_attribute(stated, f"{family}.input_tokens", f"{family}.prompt_tokens"),
        "completion_tokens": first_attribute(stated, f"{family}.output_tokens", f"{family}.completion_tokens"),
        "cached_tokens": first_attribute(
            stated,
            f"{family}.cache_read.input_tokens",
            f"{family}.cache_read_input_tokens",
            f"{family}.details.cache_read_tokens",
        ),
    }
    return read_usage(counted, cost=first_attribute(stated, f"{family}.cost", "operation.cost"))


def _execution(span: Span) -> Execution:
    stated = span.attributes
    given, said = from_events(span.events)
    entity_input = structured(attribute(stated, "traceloop.entity.input"))
    arguments = first_attribute(stated, "gen_ai.tool.call.arguments", "tool_arguments", "gen_ai.tool.arguments")
    result = first_attribute(stated, "gen_ai.tool.call.result", "tool_response", "traceloop.entity.output")
    failed = span.failed or attribute(stated, "error.type") is not None
    ids = (each.call_id for each in given if each.call_id)
    return Execution(
        name=as_text(first_attribute(stated, "gen_ai.tool.name", "traceloop.entity.name")) or span.name,
        arguments=arguments if arguments is not None else as_object(entity_input).get("inputs", entity_input),
        call_id=identifier(attribute(stated, "gen_ai.tool.call.id")) or next(ids, None),
        content=_content(span, result, said, failed=failed),
        is_error=failed,
        error_kind="timeout" if "timeout" in as_text(attribute(stated, "error.type")).lower() else None,
    )


def _content(span: Span, result: JsonValue, said: list[Said], *, failed: bool) -> Content | None:
    if result is not None:
        return read_content(result)
    if said:
        return said[0].content
    return Content(span.error) if failed else None


def _tools(span: Span) -> Iterator[JsonValue]:
    stated = span.attributes
    definitions = as_list(structured(attribute(stated, "gen_ai.tool.definitions")))
    requested = as_object(structured(attribute(stated, "model_request_parameters")))
    yield from definitions or as_list(requested.get("function_tools"))
    for each in listed(stated, "llm.request.functions"):
        yield {**each, "parameters": structured(each.get("parameters"))}


def _agent(span: Span) -> str | None:
    named = first_attribute(span.attributes, "gen_ai.agent.name", "agent_name", "traceloop.entity.name")
    return text_or_none(named) or text_or_none(span.resource.get("service.name"))


def _totals(span: Span) -> Usage | None:
    """What an agent's span states is the sum of its model spans, under one name or the other."""
    if _kind(span) == "model":
        return None
    return _usage(span, "gen_ai.aggregated_usage") or _usage(span, "gen_ai.usage")


_DIALECT = Dialect(_NAME, _kind, _emission, _execution, _tools, _agent, _totals)

FORMAT = Format(
    name=_NAME,
    title="OpenTelemetry GenAI spans: OTLP JSON, conventions 1.27 to 1.41, OpenLLMetry, pydantic-ai",
    detect=detect,
    read=read,
)

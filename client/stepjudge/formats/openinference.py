"""OpenInference spans: traces of Arize Phoenix and its instrumentations, by `openinference.span.kind`.

Specification: OpenInference semantic conventions 0.1. Read are OTLP JSON (one request, or lines of them), lists of
`span.to_json()` of OpenTelemetry for Python, and Phoenix exports (REST, data frames). Emissions and their calls are taken
from LLM spans; TOOL spans give results and errors. Instrumentations may write a tool's input without argument names, and
write no TOOL span for a tool that does not exist.
"""

from collections.abc import Iterator
from itertools import islice

from pydantic import JsonValue

from stepjudge.formats.reading.attributes import attribute, first_attribute, listed, structured
from stepjudge.formats.reading.chat_message import chat_message
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Emission, Execution, Said
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.langchain_message import fields_of, langchain_message
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, text_or_none
from stepjudge.formats.reading.span_run import Dialect, traces
from stepjudge.formats.reading.span_tree import Kind
from stepjudge.formats.reading.spans import Span, is_export, spans_in
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "openinference"
_KIND = "openinference.span.kind"
_KINDS: dict[str, Kind] = {
    "LLM": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "EVALUATOR": "aside",
    "GUARDRAIL": "aside",
}
_LOOKED_AT = 1000


def detect(document: JsonValue) -> Fit:
    """Certain of a list of spans or of exports, which may hold one trace together, and likely of a single export."""
    for span in islice(spans_in(document), _LOOKED_AT):
        if attribute(span.attributes, _KIND) is not None:
            return Fit("likely" if is_export(document) else "certain") if _is_whole(document) else NO_FIT
    return NO_FIT


def _is_whole(document: JsonValue) -> bool:
    """A single span is a line of a log, not a log."""
    return isinstance(document, list) or any(isinstance(each, list) for each in as_object(document).values())


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    yield from traces(spans_in(document), _DIALECT)


def _kind(span: Span) -> Kind:
    return _KINDS.get(as_text(attribute(span.attributes, _KIND)).upper(), "other")


def _emission(span: Span) -> Emission:
    given = _messages(span, "llm.input_messages")
    said = [each for each in _messages(span, "llm.output_messages") if each.role in ("assistant", "other")]
    return Emission(
        said=_joined(said) if said else None,
        given=tuple(_with_status(given, span)),
        model=text_or_none(first_attribute(span.attributes, "llm.model_name", "llm.response.model_name")),
        usage=_usage(span),
    )


def _joined(said: list[Said]) -> Said:
    """Some write the calls of one emission into messages of their own."""
    return Said(
        role="assistant",
        content=Content(
            "\n".join(each.content.text for each in said if each.content.text),
            tuple(attachment for each in said for attachment in each.content.attachments),
        ),
        calls=tuple(call for each in said for call in each.calls),
        reasoning="\n".join(each.reasoning for each in said if each.reasoning),
        name=next((each.name for each in said if each.name), None),
    )


def _messages(span: Span, name: str) -> list[Said]:
    return [_message(as_object(each.get("message")) or each) for each in listed(span.attributes, name)]


def _message(message: JsonObject) -> Said:
    parts = [as_object(each.get("message_content")) or each for each in objects(message.get("contents"))]
    calls: list[JsonValue] = [as_object(each.get("tool_call")) or each for each in objects(message.get("tool_calls"))]
    reasoning = "\n".join(as_text(each.get("text")) for each in parts if each.get("type") == "reasoning")
    spoken: list[JsonValue] = [_part(each) for each in parts if each.get("type") not in ("reasoning", "tool_use")]
    told: JsonObject = {
        "role": message.get("role"),
        "content": spoken if message.get("content") is None and spoken else message.get("content"),
        "tool_calls": calls,
        "tool_call_id": message.get("tool_call_id"),
        "name": message.get("name"),
        "reasoning": reasoning or message.get("reasoning"),
    }
    if message.get("function_call_name") is not None:
        legacy = {"name": message["function_call_name"], "arguments": message.get("function_call_arguments_json")}
        told["function_call"] = legacy
    return chat_message(told)


def _part(part: JsonObject) -> JsonValue:
    kind = as_text(part.get("type"))
    body = as_object(part.get(kind))
    return {"type": kind, **(as_object(body.get(kind)) or body)} if body else part


def _with_status(given: list[Said], span: Span) -> Iterator[Said]:
    """The LangChain instrumentation leaves out whether a tool message is an error, but keeps the messages as input."""
    failed: dict[str | None, bool | None] = {}
    if any(each.role == "tool" for each in given):
        value = structured(attribute(span.attributes, "input.value"))
        for batch in (inner for inner in as_list(as_object(value).get("messages")) if isinstance(inner, list)):
            messages = [langchain_message(fields) for each in batch if (fields := fields_of(each)) is not None]
            failed.update({each.call_id: each.is_error for each in messages if each.role == "tool"})
    for each in given:
        is_error = failed.get(each.call_id) if each.role == "tool" and each.call_id else None
        yield (
            each
            if is_error is None
            else Said(each.role, each.content, call_id=each.call_id, name=each.name, is_error=is_error)
        )


def _usage(span: Span) -> Usage | None:
    counted: JsonObject = {
        "prompt_tokens": attribute(span.attributes, "llm.token_count.prompt"),
        "completion_tokens": attribute(span.attributes, "llm.token_count.completion"),
        "cached_tokens": attribute(span.attributes, "llm.token_count.prompt_details.cache_read"),
    }
    return read_usage(counted, cost=attribute(span.attributes, "llm.cost.total"))


def _execution(span: Span) -> Execution:
    output = attribute(span.attributes, "output.value")
    message = fields_of(structured(output))
    said = langchain_message(message) if message is not None and message.get("type") == "tool" else None
    given = attribute(span.attributes, "input.value")
    call_id = identifier(first_attribute(span.attributes, "tool.id", "tool_call.id", "tool.call_id"))
    failed = span.failed or any(each.name == "exception" for each in span.events)
    return Execution(
        name=as_text(first_attribute(span.attributes, "tool.name", "tool_call.function.name")) or span.name,
        arguments=first_attribute(span.attributes, "tool_call.function.arguments") if given is None else given,
        call_id=call_id or (said.call_id if said is not None else None),
        content=said.content if said is not None else _content(span, output, failed=failed),
        is_error=failed or (said is not None and said.is_error is True),
    )


def _content(span: Span, output: JsonValue, *, failed: bool) -> Content | None:
    if output is not None:
        return read_content(output)
    return Content(span.error) if failed else None


def _tools(span: Span) -> Iterator[JsonValue]:
    for each in listed(span.attributes, "llm.tools"):
        tool = as_object(each.get("tool")) or each
        yield structured(tool.get("json_schema")) or tool
    schema = structured(attribute(span.attributes, "tool.parameters"))
    if _kind(span) == "tool" and isinstance(schema, dict) and "properties" in schema:
        described = attribute(span.attributes, "tool.description")
        yield {"name": attribute(span.attributes, "tool.name"), "description": described, "parameters": schema}


def _agent(span: Span) -> str | None:
    named = first_attribute(span.attributes, "agent.name", "graph.node.id")
    return text_or_none(named) or (span.name or None if _kind(span) == "agent" or span.parent is None else None)


def _totals(span: Span) -> Usage | None:
    return None if _kind(span) == "model" else _usage(span)


_DIALECT = Dialect(_NAME, _kind, _emission, _execution, _tools, _agent, _totals)

FORMAT = Format(
    name=_NAME,
    title="OpenInference spans: OTLP JSON, span.to_json(), Phoenix exports",
    detect=detect,
    read=read,
)

"""MLflow traces: `Trace.to_dict()` and `to_json()` of MLflow 3, from autologging or from code that traces itself.

Specification: `mlflow.entities.Trace` and its span attributes `mlflow.*`. Emissions and their calls are taken from spans of
the types CHAT_MODEL and LLM, whose inputs and outputs are a provider's own: OpenAI's chat and Responses, Anthropic's, and
LangChain's are read. TOOL spans give results and errors.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.attributes import attribute, structured
from stepjudge.formats.reading.content import Content, read_content
from stepjudge.formats.reading.emission import Emission, Execution, Said
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.langchain_message import fields_of, langchain_message
from stepjudge.formats.reading.model_io import given_in, said_in
from stepjudge.formats.reading.shape import as_list, as_object, as_text, objects, text_or_none
from stepjudge.formats.reading.span_run import Dialect, traces
from stepjudge.formats.reading.span_tree import Kind
from stepjudge.formats.reading.spans import Span, spans_in
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "mlflow"
_KINDS: dict[str, Kind] = {
    "CHAT_MODEL": "model",
    "LLM": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "EVALUATOR": "aside",
    "GUARDRAIL": "aside",
}
_LOOKED_AT = 20


def detect(document: JsonValue) -> Fit:
    head = _spans(document)[:_LOOKED_AT]
    marked = [each for each in objects(head) if any(key.startswith("mlflow.") for key in _attributes(each))]
    return Fit("certain") if marked else NO_FIT


def _spans(document: JsonValue) -> list[JsonValue]:
    return as_list(as_object(as_object(document).get("data")).get("spans"))


def _attributes(span: JsonObject) -> JsonObject:
    return as_object(span.get("attributes"))


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    named = text_or_none(as_object(as_object(document).get("info")).get("trace_id"))
    for trace in traces(spans_in(_spans(document)), _DIALECT):
        yield trace if named is None else trace.model_copy(update={"trace_id": named})


def _value(span: Span, name: str) -> JsonValue:
    """Every attribute is written as JSON text."""
    found = attribute(span.attributes, name)
    parsed = structured(found)
    return found if parsed is None and isinstance(found, str) and found != "null" else parsed


def _kind(span: Span) -> Kind:
    return _KINDS.get(as_text(_value(span, "mlflow.spanType")), "other")


def _emission(span: Span) -> Emission:
    return Emission(
        said=said_in(_value(span, "mlflow.spanOutputs")),
        given=tuple(given_in(_value(span, "mlflow.spanInputs"))),
        model=text_or_none(_value(span, "mlflow.llm.model")),
        usage=_usage(span),
    )


def _usage(span: Span) -> Usage | None:
    stated = as_object(_value(span, "mlflow.chat.tokenUsage"))
    counted: JsonObject = {
        "prompt_tokens": stated.get("input_tokens"),
        "completion_tokens": stated.get("output_tokens"),
        "cached_tokens": stated.get("cache_read_input_tokens"),
    }
    return read_usage(counted, cost=as_object(_value(span, "mlflow.llm.cost")).get("total_cost"))


def _execution(span: Span) -> Execution:
    output = _value(span, "mlflow.spanOutputs")
    fields = fields_of(output)
    said = langchain_message(fields) if fields is not None and fields.get("type") == "tool" else None
    return Execution(
        name=span.name,
        arguments=_value(span, "mlflow.spanInputs"),
        call_id=said.call_id if said is not None else None,
        content=_content(span, output, said),
        is_error=span.failed or (said is not None and said.is_error is True),
    )


def _content(span: Span, output: JsonValue, said: Said | None) -> Content | None:
    if said is not None:
        return said.content
    if output is None:
        return Content(span.error) if span.failed else None
    return read_content(output)


def _tools(span: Span) -> Iterator[JsonValue]:
    stated = as_list(_value(span, "mlflow.chat.tools"))
    yield from stated or as_list(as_object(_value(span, "mlflow.spanInputs")).get("tools"))


_DIALECT = Dialect(_NAME, _kind, _emission, _execution, _tools, lambda span: span.name or None, lambda _span: None)

FORMAT = Format(name=_NAME, title="MLflow traces (Trace.to_dict, to_json)", detect=detect, read=read)

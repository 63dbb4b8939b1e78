"""A DeepEval test case as a trace: the log it carries, else the spans below what is evaluated, else its tools in order."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from stepjudge.client import Document
from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.chat_message import asked, role_of
from stepjudge.formats.reading.cleaning import clean
from stepjudge.formats.reading.content import Content, compact, read_content
from stepjudge.formats.reading.conversation import tell_log
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.emission import Asked, Emission, Execution, Said, called_by
from stepjudge.formats.reading.genai_message import parts_message
from stepjudge.formats.reading.shape import as_list, as_object, as_text, objects, text_or_none
from stepjudge.trace import Trace
from stepjudge.value import JsonObject

_NAME = "deepeval"
_LOG = "trace"
_MAX_NESTING = 200
_INSTRUMENTATION = ("llm", "tool", "retriever")
_NO_LOG = "the test case names the tools that were called, and no log: each is taken as a step of its own"
_NO_MODELS = "the spans hold no call of a model: each run of a tool is taken as a step of its own"
_UNSAID = "a model's output names no call, but tools ran after it: they are taken as its calls"


def document(test_case: Any) -> Document | None:
    """What is to be scored, from an `LLMTestCase`; null when it holds nothing that an agent did.

    `metadata["trace"]` is a whole log in any format that is read. Spans are those that tracing hands to a metric.
    """
    log = cast("dict[str, object]", test_case.metadata or {}).get(_LOG)
    if log is not None:
        return cast("Document", log)
    spans = _spans(as_object(_json(getattr(test_case, "_trace_dict", None))))
    if any(each.get("type") in _INSTRUMENTATION for each in spans):
        return _of_spans(spans, test_case)
    calls = [as_object(_json(each)) for each in test_case.tools_called or ()]
    output = text_or_none(test_case.actual_output)
    if not calls and output is None:
        return None
    return _of_tools(calls, test_case.input, output)


def _json(value: object) -> JsonValue:
    """Whatever Python objects a test case or a span holds, as JSON."""
    try:
        plain = to_jsonable_python(
            value, by_alias=False, serialize_unknown=True, inf_nan_mode="constants", bytes_mode="base64"
        )
    except (ValueError, RecursionError) as error:  # objects that hold themselves
        raise UnreadableTrace(f"the test case cannot be told as JSON: {error}") from None
    return clean(plain).value


def _spans(span: JsonObject, level: int = 0) -> list[JsonObject]:
    """A span and all below it, in the order of the log, without what is below a call of a model or of a tool."""
    if level > _MAX_NESTING:
        raise UnreadableTrace(f"the spans are nested more than {_MAX_NESTING} levels deep")
    inner = () if level and span.get("type") in _INSTRUMENTATION else objects(span.get("children"))
    return [span, *(each for child in inner for each in _spans(child, level + 1))] if span else []


def _of_tools(calls: Sequence[JsonObject], task: str, output: str | None) -> Trace:
    draft = Draft(_NAME)
    draft.message("user", task)
    if calls:
        draft.note(_NO_LOG)
    for call in calls:
        name = as_text(call.get("name"))
        draft.step(read_content(call.get("reasoning")), calls=[draft.call(name, call.get("input_parameters") or {})])
        if call.get("output") is not None:
            draft.result(_content(call["output"]), name=name)
    if output is not None:
        draft.step(output)
    return draft.build()


def _of_spans(spans: list[JsonObject], test_case: Any) -> Trace:
    draft = Draft(_NAME)
    root = spans[0]
    outermost = root.get("type") not in _INSTRUMENTATION
    task = _task(root) if outermost else as_text(_json(test_case.input))
    models = any(each.get("type") == "llm" for each in spans)
    if not models:
        draft.note(_NO_MODELS)
    for name in {as_text(each): None for span in spans for each in as_list(span.get("available_tools"))}:
        draft.tool({"name": name})
    log = list(_log(spans, draft) if models else _tools_alone(spans))
    if not any(said.role == "user" for each in log if isinstance(each, Emission) for said in each.given):
        draft.message("user", task)
    tell_log(draft, log)
    output = _text(root.get("output")) if outermost else ""
    if not models and output:
        draft.step(output)
    return draft.build(agent=text_or_none(root.get("name")), final_output=output or None)


def _log(spans: Sequence[JsonObject], draft: Draft) -> Iterator[Emission | Execution]:
    """Models and tools as they ran. An output that names no call is given those of the tools that ran after it."""
    relevant = [span for span in spans if span.get("type") in _INSTRUMENTATION]
    for place, span in enumerate(relevant):
        if span.get("type") != "llm":
            yield _execution(span)
            continue
        said = _said(span)
        following = list(_until_model(relevant[place + 1 :]))
        if following and not said.calls:
            draft.note(_UNSAID)
            said = Said("assistant", said.content, called_by(following).calls, said.reasoning)
        yield Emission(said, _given(span.get("input")), model=text_or_none(span.get("model")))


def _until_model(spans: Sequence[JsonObject]) -> Iterator[Execution]:
    for span in spans:
        if span.get("type") == "llm":
            return
        yield _execution(span)


def _tools_alone(spans: Sequence[JsonObject]) -> Iterator[Emission | Execution]:
    for span in spans:
        if span.get("type") in _INSTRUMENTATION:
            execution = _execution(span)
            yield Emission(called_by([execution]))
            yield execution


def _execution(span: JsonObject) -> Execution:
    error = as_text(span.get("error"))
    content = Content(error) if error else _content(span["output"]) if "output" in span else None
    given = span.get("input")
    arguments: JsonValue = given if isinstance(given, dict) or given is None else {"input": given}
    return Execution(as_text(span.get("name")), arguments, content=content, is_error=bool(error))


def _said(span: JsonObject) -> Said:
    """What a model said: text, a message in any of the usual spellings, or the calls that DeepEval puts in its place."""
    output = span.get("output")
    message = as_object(output)
    if {"role", "tool_calls", "parts"} & message.keys():
        said = next(parts_message({**message, "role": "assistant"}))
    elif isinstance(output, list):
        said = Said("assistant", calls=tuple(map(_asked, objects(output))))
    else:
        said = Said("assistant", _content(output))
    named = tuple(map(_asked, objects(span.get("tools_called"))))
    return Said("assistant", said.content, said.calls or named, said.reasoning)


def _asked(call: JsonObject) -> Asked:
    return Asked(as_text(call["name"]), call["input_parameters"]) if "input_parameters" in call else asked(call)


def _given(value: JsonValue) -> tuple[Said, ...]:
    """The messages a model was given, where its input is a list of them, or holds one."""
    inside = as_object(value).get("messages", value)
    messages = [each for each in objects(inside) if "role" in each]
    return tuple(said for each in messages if role_of(each["role"]) != "other" for said in parts_message(each))


def _task(root: JsonObject) -> str:
    return _text(root.get("input"))


def _text(value: JsonValue) -> str:
    """A function's one argument is what it was asked; several are told as JSON."""
    values = list(as_object(value).values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return value if isinstance(value, str) else "" if value is None else compact(value)


def _content(value: JsonValue) -> Content:
    return Content(value if isinstance(value, str) else "" if value is None else compact(value))

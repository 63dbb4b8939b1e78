"""BFCL results: what a model answered to one entry of the Berkeley Function-Calling Leaderboard.

Specification: BFCL v1 to v4, the result files and "Guide to Inference Logs" (bfcl_eval). Read are single-turn results, where
a prompted model's answer is text in Python's syntax, and multi-turn results with or without their inference log. Questions
and tool schemas are not in the file. An error is what the environment answers: `{"error": …}` or `Error during execution: …`.
"""

import itertools
from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.call_text import calls_in
from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.emission import Asked
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.parsing import parse_embedded
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, rest, with_fields
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "bfcl"
_COUNTS = ("input_token_count", "output_token_count", "latency", "inference_log")
_IN_TRACE = ("id", "idx", "result", "input_token_count", "output_token_count", "inference_log", "reasoning_content")
_SYNTAX = "the call was read from Python's syntax, in which the model wrote it"


def detect(document: JsonValue) -> Fit:
    outer = as_object(document)
    if "result" not in outer or not ({"id", "idx"} & outer.keys()) or not isinstance(outer["result"], str | list):
        return NO_FIT
    if not any(key in outer for key in _COUNTS):
        return Fit("near", f"it has an id and `result`, but none of {', '.join(_COUNTS)}")
    return Fit("certain")


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    draft = Draft(_NAME)
    turns = [each for each in as_list(outer.get("inference_log")) if "step_0" in as_object(each) or _query(each)]
    result = outer.get("result")
    if turns:
        draft.note("the schemas of the tools are not in the file")
        for number, turn in enumerate(turns):
            _tell_turn(draft, as_object(turn), outer, number)
    elif isinstance(result, list) and result and all(isinstance(each, list) for each in result):
        draft.note("the questions, the schemas of the tools and the results of the calls are not in the file")
        for number, turn in enumerate(result):
            draft.open_turn()
            for step, emitted in enumerate(as_list(turn)):
                _tell_step(draft, emitted, usage=_usage(outer, number, step))
    else:
        draft.note("the question, the schemas of the tools and the results of the calls are not in the file")
        _tell_step(draft, result, usage=_usage(outer), reasoning=as_text(outer.get("reasoning_content")))
    yield draft.build(
        trace_id=identifier(outer.get("id")) or identifier(outer.get("idx")), extra=rest(outer, *_IN_TRACE)
    )


def _query(turn: JsonValue) -> list[JsonValue]:
    return as_list(as_object(turn).get("begin_of_turn_query"))


def _tell_turn(draft: Draft, turn: JsonObject, outer: JsonObject, number: int) -> None:
    draft.open_turn()
    for message in objects(_query(turn)):
        role = "system" if message.get("role") == "system" else "user"
        draft.message(role, message.get("content"), opens_turn=False)
    for step in itertools.takewhile(lambda n: f"step_{n}" in turn, itertools.count()):
        entries = list(objects(turn[f"step_{step}"]))
        logged = [entry for entry in entries if entry.get("role") == "handler_log"]
        if any("error" in entry or "decode_failure" in as_text(entry.get("content")) for entry in logged):
            draft.note("the harness could not decode an emission, and went on to the next turn")
        for entry in entries:
            match entry.get("role"):
                case "assistant":
                    decoded = next(
                        (each for each in (entry.get("model_response_decoded") for entry in logged) if each), None
                    )
                    _tell_step(
                        draft,
                        entry.get("content"),
                        decoded=decoded,
                        usage=_usage(outer, number, step),
                        reasoning=as_text(entry.get("reasoning_content")),
                        extra=with_fields({}, handler_log=[rest(each, "role") for each in logged]),
                    )
                case "tool":
                    content = entry.get("content")
                    draft.result(content, is_error=True if _is_error(content) else None)
                case "user":
                    draft.message("user", entry.get("content"), opens_turn=False)
                case _:
                    continue


def _tell_step(
    draft: Draft,
    emitted: JsonValue,
    *,
    decoded: JsonValue = None,
    usage: Usage | None = None,
    reasoning: str = "",
    extra: JsonObject | None = None,
) -> None:
    calls = _calls(emitted)
    if not calls and isinstance(emitted, str):
        calls = calls_in(emitted) or [call for text in as_list(decoded) for call in calls_in(as_text(text))]
        if calls:
            draft.note(_SYNTAX)
    content = read_content(emitted) if isinstance(emitted, str) or not calls else read_content(None)
    draft.step(
        read_content(None) if isinstance(emitted, str) and calls_in(emitted) else content,
        calls=[draft.call(each.name, each.arguments, id=each.id) for each in calls],
        reasoning=reasoning,
        usage=usage,
        extra=extra,
    )


def _calls(emitted: JsonValue) -> list[Asked]:
    """Of a model with function calling: objects of one name and its arguments."""
    values = emitted if isinstance(emitted, list) else [emitted]
    named = [as_object(each) for each in values]
    if not named or not all(len(each) == 1 for each in named):
        return []
    return [Asked(name, arguments) for each in named for name, arguments in each.items()]


def _is_error(content: JsonValue) -> bool:
    text = as_text(content)
    parsed = parse_embedded(text) if text.startswith("{") else None
    return text.startswith("Error during execution:") or "error" in as_object(parsed.value if parsed else content)


def _usage(outer: JsonObject, *place: int) -> Usage | None:
    return read_usage(
        {
            "prompt_tokens": _at(outer.get("input_token_count"), *place),
            "completion_tokens": _at(outer.get("output_token_count"), *place),
        }
    )


def _at(value: JsonValue, *place: int) -> JsonValue:
    """The count of a step, where they are nested by turn and step."""
    for index in place:
        values = as_list(value)
        value = values[index] if index < len(values) else None
    return value


FORMAT = Format(name=_NAME, title="BFCL results (single-turn, multi-turn, inference logs)", detect=detect, read=read)

"""A reply is what the model said of one step; this module says what shape it must have and reads it, whatever comes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

from json_repair import repair_json

from judge_service.question import Asked, undetermined
from stepjudge.rubric import AnswerWord, Criterion
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Evidence

REPLY_VERSION = "1"

MAX_REASON, MAX_QUOTE, MAX_QUOTES, MAX_STEPS = 4_000, 4_000, 20, 100
"""Longer texts and lists in a reply are cut: they come from a model and end in the ledger."""

MAX_REPAIRED, MAX_BRACKETS, MAX_DEPTH = 200_000, 2_000, 50
"""The repair of broken JSON takes time by the square of its brackets: beyond these a reply is not worth it."""

_WORDS: tuple[AnswerWord, ...] = ("yes", "no", "not_applicable", "undetermined")


@dataclass(frozen=True)
class Reply:
    """A reply as read: an answer for each thing asked, and what was wrong with it."""

    answers: tuple[Answer, ...]
    """In the order asked. What could not be read is `undetermined` with cause `malformed_reply`."""
    inherits_from: tuple[int, ...]
    faults: tuple[str, ...]
    """What to tell the model when it is asked again; empty when everything was readable."""


def unit_name(asked: Asked) -> str:
    """The reply's key for what the answer is of. A message has the key of a first call, so that both have one schema."""
    return "step" if asked.criterion.unit == "step" else f"act_{asked.call or 1}"


def by_unit(asked: Sequence[Asked]) -> dict[str, list[Criterion]]:
    """What is asked, under the reply's keys: `act_1`, `act_2` …, `step`."""
    units: dict[str, list[Criterion]] = {}
    for item in asked:
        units.setdefault(unit_name(item), []).append(item.criterion)
    return units


def words(criterion: Criterion) -> tuple[AnswerWord, ...]:
    """The answers that the criterion allows."""
    return tuple(word for word in _WORDS if word != "not_applicable" or criterion.not_applicable_when)


def schema(form: Sequence[Asked]) -> JsonObject:
    """JSON Schema of the reply. Evidence and reason stand before the answer, so that they are written before it.

    `form` is the question's: it is the same for all steps with one call or none, because providers put the schema
    before the prompt, and a schema of its own would cost a step the cached prefix.

    It keeps to what every provider's strict mode accepts: all fields required, nothing additional, no lengths.
    """
    units: dict[str, JsonObject] = {
        unit: _object({criterion.name: _answer_schema(criterion) for criterion in criteria})
        for unit, criteria in by_unit(form).items()
    }
    return _object({**units, "inherits_from": _INTEGERS})


def read(text: str, asked: Sequence[Asked], *, index: int, repair: bool) -> Reply:
    """Read a reply about step `index`. Never raises: what cannot be read becomes an answer that says so.

    `repair` mends broken JSON, for models that were not held to a schema.
    """
    body = _object_in(text, repair=repair)
    if isinstance(body, str):
        return Reply(tuple(undetermined(item, "malformed_reply", body) for item in asked), (), (body,))
    faults: list[str] = []
    answers = tuple(_answer(body, item, index, faults) for item in asked)
    return Reply(answers, _steps(body.get("inherits_from"), index), tuple(faults))


_QUOTE: JsonObject = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "quote": {"type": "string"}},
    "required": ["place", "quote"],
    "additionalProperties": False,
}
_INTEGERS: JsonObject = {"type": "array", "items": {"type": "integer"}}


def _object(properties: dict[str, JsonObject]) -> JsonObject:
    return cast(
        JsonObject,
        {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False},
    )


def _answer_schema(criterion: Criterion) -> JsonObject:
    properties: dict[str, JsonObject] = {
        "evidence": {"type": "array", "items": _QUOTE},
        "reason": {"type": "string"},
        "answer": {"type": "string", "enum": list(words(criterion))},
    }
    return _object({**properties, "fixes": _INTEGERS} if criterion.names_steps else properties)


def _object_in(text: str, *, repair: bool) -> JsonObject | str:
    """The JSON object in the text, or what is wrong with it."""
    unfenced = text.strip()
    if unfenced.startswith("```"):
        unfenced = unfenced.removeprefix("```").removeprefix("json")
    unfenced = unfenced.removesuffix("```").strip()
    if not unfenced:
        return "the reply is empty"
    try:
        body: object = json.loads(unfenced)
    except RecursionError:
        return "the reply is nested too deeply"
    except ValueError as error:
        body = _repaired(unfenced[:MAX_REPAIRED]) if repair else None
        if not isinstance(body, dict):
            return f"the reply is not JSON: {error}"
    if not isinstance(body, dict):
        return f"the reply must be a JSON object, not {type(body).__name__}"
    return cast(JsonObject, body)


def _repaired(text: str) -> object:
    """What broken JSON was meant to be; null when that cannot be told."""
    for opening, closing in ("{}", "[]"):
        depths = accumulate((letter == opening) - (letter == closing) for letter in text)
        if text.count(opening) > MAX_BRACKETS or max(depths, default=0) > MAX_DEPTH:
            return None
    try:
        return repair_json(text, return_objects=True)
    except Exception:  # a guess at arbitrary text: whatever it stumbles over, the text has no reading
        return None


def _answer(body: JsonObject, item: Asked, index: int, faults: list[str]) -> Answer:
    criterion, unit = item.criterion, unit_name(item)
    holder = body.get(unit)
    found = holder.get(criterion.name) if isinstance(holder, dict) else None
    fault = _fault(found, criterion)
    if not isinstance(found, dict) or fault:
        fault = f"`{unit}.{criterion.name}` {fault or 'is missing'}"
        faults.append(fault)
        return undetermined(item, "malformed_reply", fault)
    word = cast(AnswerWord, found["answer"])
    return Answer(
        criterion=criterion.name,
        call=item.call,
        answer=word,
        reason=_clean(found.get("reason"), MAX_REASON),
        evidence=_evidence(found.get("evidence")),
        fixes=_steps(found.get("fixes"), index) if criterion.names_steps and word == "yes" else (),
        cause="judge_unsure" if word == "undetermined" else None,
    )


def _fault(found: object, criterion: Criterion) -> str:
    if found is None:
        return "is missing"
    if not isinstance(found, dict):
        return "must be an object with evidence, reason and answer"
    answer = cast(JsonObject, found).get("answer")
    allowed = words(criterion)
    if answer in allowed:
        return ""
    # a repr of anything else could be as deep and as long as the reply
    given = repr(answer[:60]) if isinstance(answer, str) else f"of type {type(answer).__name__}"
    return f"has the answer {given}; allowed are {', '.join(allowed)}"


def _evidence(found: object) -> tuple[Evidence, ...]:
    if not isinstance(found, list):
        return ()
    quotes = [cast(JsonObject, item) for item in cast(list[object], found)[:MAX_QUOTES] if isinstance(item, dict)]
    return tuple(
        Evidence(place=_clean(quote.get("place"), 100).strip("`[]⟦⟧ "), quote=_clean(quote.get("quote"), MAX_QUOTE))
        for quote in quotes
    )


def _steps(found: object, index: int) -> tuple[int, ...]:
    """Earlier steps only: a step can neither fix nor inherit from itself or the future."""
    if not isinstance(found, list):
        return ()
    numbers = {item for item in cast(list[object], found) if isinstance(item, int) and not isinstance(item, bool)}
    return tuple(sorted(number for number in numbers if 1 <= number < index))[:MAX_STEPS]


def _clean(found: object, limit: int) -> str:
    """Text that can be stored: a lone surrogate from a `\\ud800` escape cannot be encoded."""
    text = found if isinstance(found, str) else ""
    return text[:limit].encode("utf-8", "replace").decode()

"""The final-output check: whether the attempt's last words are the answer."""

import json
import math
import re
import unicodedata
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from stepjudge.checks.check import BadCheck, CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import shown
from stepjudge.checks.running.content import Malformed, read_content
from stepjudge.checks.running.pattern import search
from stepjudge.checks.running.query import Query, selected
from stepjudge.checks.running.schema import faults, well_formed

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d)\.?)(?:[eE][-+]?\d+)?")
_POINTS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))|-(?!\d)|(?<=\w)-|\.(?!\d)|(?<!\d)\.(?=\D)")
"""A comma of thousands, and each dash and dot that is neither a sign nor a decimal point."""
_EDGES = " \t\r\n$€£¥%"
MAX_OUTPUT = 4_000_000


class FinalOutput(Check):
    """One answer, compared in one way. There are no shades: it passes or fails, and whoever wants half marks uses views."""

    kind: Literal["final-output"] = "final-output"
    how: Literal["exact", "normalised", "number", "regex", "json_schema"] = "normalised"
    """`exact`: the same characters. `normalised`: alike but for case, white space, punctuation and the way Unicode
    spells them. `number`: the same number, within the tolerance. `regex`: a pattern that occurs in it. `json_schema`:
    it is JSON that the schema (draft 2020-12 unless it names another) accepts."""
    expected: JsonValue = None
    """What it must be; for a choice of several, a list."""
    reference: Query | None = None
    """Where the task's reference holds what it must be, in place of `expected`."""
    take: Literal["whole", "first", "last"] = "whole"
    """For `number`: whether the output is nothing but the number, or which of its numbers counts."""
    tolerance: float = Field(default=0, ge=0, allow_inf_nan=False)
    """For `number`: how far off it may be."""
    relative: bool = False
    """Whether the tolerance is a share of the expected number."""

    @model_validator(mode="after")
    def _has_one_answer(self) -> Self:
        if ("expected" in self.model_fields_set) == (self.reference is not None):
            raise ValueError("give either expected or reference")
        if self.how != "number" and self.model_fields_set & {"take", "tolerance", "relative"}:
            raise ValueError("take, tolerance and relative are of how: number")
        if self.reference is None:
            self._choices([self.expected])
        return self

    async def run(self, scene: Scene) -> Finding:
        output = _output(scene)
        return await in_thread(lambda clock: self._found(output, scene, clock))

    def _found(self, output: str, scene: Scene, clock: Clock) -> Finding:
        choices = self._choices(self._expected(scene, clock))
        evidence = (CheckEvidence.of("final output", output),)
        reasons: list[str] = []
        for choice in choices:
            reason = self._unlike(output, choice, clock)
            if reason is None:
                return Finding(outcome="pass", reason=f"the output is right ({self.how})", evidence=evidence)
            reasons.append(reason)
        return Finding(outcome="fail", reason=f"the output {'; '.join(reasons[:5])}", evidence=evidence)

    def _expected(self, scene: Scene, clock: Clock) -> list[JsonValue]:
        if self.reference is None:
            return [self.expected]
        found = selected(self.reference, scene.reference, clock)
        if not found:
            raise CannotCheck(f"the task's reference holds nothing at {self.reference}")
        return found

    def _choices(self, expected: list[JsonValue]) -> list[JsonValue]:
        """Each expected answer. Raises BadCheck when one cannot be compared that way."""
        choices = [each for value in expected for each in (value if isinstance(value, list) else [value])]
        for choice in choices or [None]:
            if self.how == "json_schema":
                well_formed(choice)
            elif self.how == "number":
                _number(choice)
            elif not isinstance(choice, str | int | float) or isinstance(choice, bool):
                raise BadCheck(f"expected: {shown(choice)} is no text")
        return choices

    def _unlike(self, output: str, choice: JsonValue, clock: Clock) -> str | None:
        match self.how:
            case "exact":
                return None if output == str(choice) else f"is not {shown(choice)}"
            case "normalised":
                return None if normalised(output) == normalised(str(choice)) else f"is not {shown(choice)}"
            case "regex":
                return None if search(str(choice), output, clock) else f"does not match {shown(choice)}"
            case "number":
                return self._far(output, _number(choice))
            case "json_schema":
                return _misfit(output, choice, clock)

    def _far(self, output: str, expected: float) -> str | None:
        found = [_float(match[0]) for match in _NUMBER.finditer(output) if match[0].strip("+-.,")]
        whole = _float(output.strip(_EDGES))
        number = whole if self.take == "whole" else next(iter(found if self.take == "first" else found[::-1]), None)
        if number is None:
            return "holds no number" if self.take != "whole" else "is no number"
        allowed = self.tolerance * (abs(expected) if self.relative else 1)
        return None if abs(number - expected) <= allowed else f"is {number:g}, not {expected:g}"


def normalised(text: str) -> str:
    """The text without what does not matter: case, white space, punctuation, and Unicode's several spellings.

    Signs, decimal points and symbols such as `<` and `%` do matter, and a thousand may be written with its comma.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).replace("−", "-")
    plain = _POINTS.sub(lambda match: "" if match[0] == "," else " ", folded)
    kept = "".join(" " if unicodedata.category(c)[0] in "ZC" or _is_punctuation(c) else c for c in plain)
    return " ".join(kept.split()) or " ".join(folded.split())  # an answer that is all punctuation is still one


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] == "P" and character not in "-.%*/\\#@&"


def _output(scene: Scene) -> str:
    output = scene.final_output
    if output is None and scene.trace is not None:
        output = scene.trace.final_output or ""
    if output is None:
        raise CannotCheck("the trial has neither a final output nor a trace")
    if len(output) > MAX_OUTPUT:
        raise CannotCheck(f"the final output is longer than {MAX_OUTPUT:,} characters")
    return output


def _number(choice: JsonValue) -> float:
    number = _float(choice) if isinstance(choice, str) else choice
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise BadCheck(f"expected: {shown(choice)} is no number")
    return float(number)


def _float(text: str) -> float | None:
    return float(text.replace(",", "")) if _NUMBER.fullmatch(text) and text.strip("+-.,") else None


def _misfit(output: str, schema: JsonValue, clock: Clock) -> str | None:
    try:
        value = read_content(output, "json")
    except Malformed as error:
        return f"is {error}"
    found = faults(value, schema, clock)
    return f"does not fit the schema: {json.dumps(found[0], ensure_ascii=False)}" if found else None

"""A condition is what a check demands of a text or of a value; what is not met is told in words."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from stepjudge.checks.running.clock import Clock
from stepjudge.checks.running.pattern import Pattern, search
from stepjudge.digest import canonical
from stepjudge.value import Value


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]
"""One text or several."""


class TextCondition(Value):
    """What a text must be like. All that is given must hold."""

    equals: str | None = None
    """The whole text, line ends and all."""
    contains: Texts = ()
    lacks: Texts = ()
    matches: Pattern | None = None
    """A regular expression that occurs in it. `^` and `$` are those of lines."""
    strip: bool = False
    """Whether white space around the text is left out before looking."""

    @model_validator(mode="after")
    def _demands_something(self) -> Self:
        if self.equals is None and not self.contains and not self.lacks and self.matches is None:
            raise ValueError("say what the text must be like: equals, contains, lacks or matches")
        return self

    def unmet(self, text: str, clock: Clock) -> tuple[str, ...]:
        """What does not hold, each as the end of a sentence about the text."""
        return tuple(self._unmet(text.strip() if self.strip else text, clock))

    def _unmet(self, text: str, clock: Clock) -> Iterator[str]:
        if self.equals is not None and text != (self.equals.strip() if self.strip else self.equals):
            yield f"is not {shown(self.equals)}"
        yield from (f"lacks {shown(part)}" for part in self.contains if part not in text)
        yield from (f"contains {shown(part)}" for part in self.lacks if part in text)
        if self.matches is not None and not search(self.matches, text, clock):
            yield f"does not match {shown(self.matches)}"


class ValueCondition(Value):
    """What the selected values must be like. All that is given must hold, for each of them, and there must be one."""

    exists: bool = True
    """False: nothing may be selected."""
    count: int | None = Field(default=None, ge=0)
    """How many values are selected."""
    equals: JsonValue = None
    """`null` counts when it is written."""
    one_of: tuple[JsonValue, ...] | None = None
    tolerance: float = Field(default=0, ge=0)
    """How far a number may be from `equals` or from one of `one_of`."""
    minimum: float | None = None
    maximum: float | None = None
    matches: Pattern | None = None
    """A regular expression that occurs in the value, which must be a text."""

    @model_validator(mode="after")
    def _is_no_contradiction(self) -> Self:
        if not self.exists and self.model_fields_set != {"exists"}:
            raise ValueError("exists: with false, nothing else can be demanded")
        return self

    def unmet(self, values: Sequence[JsonValue], clock: Clock) -> tuple[str, ...]:
        """What does not hold."""
        return tuple(self._unmet(values, clock))

    def _unmet(self, values: Sequence[JsonValue], clock: Clock) -> Iterator[str]:
        if not self.exists:
            if values:
                yield f"{len(values)} values are there, such as {shown(values[0])}"
            return
        if self.count is not None and len(values) != self.count:
            yield f"{len(values)} values are there, not {self.count}"
        if not values and self.count != 0:
            yield "nothing is there"
        for value in values:
            yield from self._unmet_by(value, clock)

    def _unmet_by(self, value: JsonValue, clock: Clock) -> Iterator[str]:
        if "equals" in self.model_fields_set and not alike(value, self.equals, self.tolerance):
            yield f"{shown(value)} is not {shown(self.equals)}"
        if self.one_of is not None and not any(alike(value, each, self.tolerance) for each in self.one_of):
            yield f"{shown(value)} is none of {shown(list(self.one_of))}"
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        if self.minimum is not None and (number is None or number < self.minimum):
            yield f"{shown(value)} is not {self.minimum:g} or more"
        if self.maximum is not None and (number is None or number > self.maximum):
            yield f"{shown(value)} is not {self.maximum:g} or less"
        if self.matches is not None and not (isinstance(value, str) and search(self.matches, value, clock)):
            yield f"{shown(value)} does not match {shown(self.matches)}"


def alike(value: JsonValue, other: JsonValue, tolerance: float = 0) -> bool:
    """Whether two JSON values are the same: 1 and 1.0 are, 1 and true are not. Numbers may differ by the tolerance."""
    if tolerance and _is_number(value) and _is_number(other):
        return abs(float(value) - float(other)) <= tolerance  # pyright: ignore[reportArgumentType]
    return canonical(value) == canonical(other)


def shown(value: JsonValue) -> str:
    """The value as JSON, short enough for a sentence."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:100]}… ({len(text):,} characters)"


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

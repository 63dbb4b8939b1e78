# pyright: basic
"""A tool's schema says which arguments it takes. It comes from the trace, so checking against it must be safe."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from judge_service.facts.wording import shortened
from stepjudge.trace import Tool
from stepjudge.value import JsonObject

_LARGEST = 100_000
"""Characters of a schema's JSON. Real schemas have a few thousand; checking is slow and the text is untrusted."""

_EFFORT = 20_000
"""Keyword evaluations, so that references which fan out or loop end."""

# Regular expressions can take exponential time and uniqueness quadratic time. What we do not check cannot be violated:
# a violation is only ever a warning unless the environment rejected the call as well.
_IGNORED = ("pattern", "patternProperties", "uniqueItems", "unevaluatedProperties", "unevaluatedItems", "format")


_MOST = 16
"""Violations that are told of one call."""


@dataclass(frozen=True)
class Violation:
    """What is wrong, the keyword of the schema that says so, and the top-level parameters that it concerns."""

    detail: str
    keyword: str
    parameters: frozenset[str]


class _TooMuchEffort(Exception):
    pass


class Schema:
    """The compiled schema of one tool; `fault` says why it cannot be used, when it cannot."""

    def __init__(self, parameters: JsonObject) -> None:
        self.fault: str | None = None
        self._left = 0
        try:
            self._validator = self._compiled(parameters)
        # The schema is untrusted and the library's own code runs over it: whatever it raises, the schema is unusable.
        except Exception as error:
            self.fault = _fault(error)

    def violations(self, arguments: JsonObject, size: int) -> tuple[Violation, ...]:
        """The first ones; `size` is the length of the arguments' JSON."""
        # Every violation spells out the arguments, so large ones are allowed fewer evaluations.
        effort = self._left = min(_EFFORT, max(200, 20_000_000 // (size + 1)))
        found: list[Violation] = []
        try:
            for error in islice(self._validator.iter_errors(arguments), _MOST):
                found.append(_violation(error))
        # As above; found at use, such as a reference that loops or leaves the schema.
        except Exception as error:
            if not found and (effort == _EFFORT or not isinstance(error, _TooMuchEffort)):
                self.fault = _fault(error)
        return tuple(found)

    def _compiled(self, parameters: JsonObject):
        if len(json.dumps(parameters)) > _LARGEST:
            raise ValueError(f"longer than {_LARGEST} characters: not checked")
        dialect = parameters.get("$schema")
        base: Any = validator_for(
            {"$schema": dialect} if isinstance(dialect, str) else {}, default=Draft202012Validator
        )
        # No formats: one of them compiles regular expressions.
        base.check_schema(parameters, format_checker=FormatChecker(formats=()))
        keywords = {name: self._counted(function) for name, function in base.VALIDATORS.items()}
        keywords |= dict.fromkeys(_IGNORED, _ignore)
        if "additionalProperties" in keywords:
            keywords["additionalProperties"] = _unless_patterns(keywords["additionalProperties"])
        # An empty registry has no way to fetch anything: neither a URL nor a file.
        return extend(base, keywords)(_without_dialects(parameters), registry=Registry())

    def _counted(self, function):
        def counted(validator, value, instance, schema):
            self._left -= 1 + (len(value) if isinstance(value, list | dict) else 0)
            if self._left < 0:
                raise _TooMuchEffort("takes too long to check")
            return function(validator, value, instance, schema)

        return counted


class Schemas:
    """The schemas of a trace's tools, each compiled at its first use."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self._parameters = {tool.name: tool.parameters for tool in tools if tool.parameters}
        self._schemas: dict[str, Schema] = {}

    def of(self, name: str) -> Schema | None:
        """None when the trace does not carry one."""
        parameters = self._parameters.get(name)
        if parameters is None:
            return None
        if name not in self._schemas:
            self._schemas[name] = Schema(parameters)
        return self._schemas[name]

    def parameter_names(self, name: str) -> Iterator[str]:
        """The parameters that the schema declares at its top."""
        properties = (self._parameters.get(name) or {}).get("properties")
        yield from properties if isinstance(properties, dict) else ()


def _violation(error):
    place = ".".join(str(part) for part in error.absolute_path)
    names = {str(part) for part in list(error.absolute_path)[:1]}
    if not names and error.validator == "required" and isinstance(error.validator_value, list):
        names = {str(name) for name in error.validator_value if name not in error.instance}
    elif not names and error.validator == "additionalProperties":
        names = set(error.instance) - set(error.schema.get("properties", {}))
    detail = shortened(f"{place}: {error.message}" if place else error.message)
    return Violation(detail, str(error.validator), frozenset(names))


def _ignore(validator, value, instance, schema):
    return None


def _unless_patterns(function):
    # `additionalProperties` means "not matched by patternProperties", which is not checked.
    def checked(validator, value, instance, schema):
        return None if "patternProperties" in schema else function(validator, value, instance, schema)

    return checked


def _without_dialects(schema):
    # A nested `$schema` makes the library switch to its own validator, which neither counts nor ignores.
    if isinstance(schema, list):
        return [_without_dialects(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _without_dialects(part) for key, part in schema.items() if key != "$schema" or isinstance(part, dict)}


def _fault(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "refers to itself without end"
    if isinstance(error, Unresolvable):
        return shortened(f"refers to {error.ref!r}, which is not in the schema")
    return shortened(getattr(error, "message", None) or str(error) or type(error).__name__)

# pyright: basic
"""A JSON Schema says what a value must be like. Its patterns run under a time limit, and it fetches nothing."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import JsonValue

from stepjudge.checks.check import BadCheck, CannotCheck
from stepjudge.checks.running.clock import Clock
from stepjudge.checks.running.pattern import search


def well_formed(schema: JsonValue) -> None:
    """Raises BadCheck when it is no schema."""
    import jsonschema

    if not isinstance(schema, dict | bool):
        raise BadCheck("expected: a JSON Schema is an object")
    try:
        _validator(schema).check_schema(schema)
    except jsonschema.SchemaError as error:
        raise BadCheck(f"expected: no JSON Schema: {error.message}") from error


def faults(value: JsonValue, schema: JsonValue, clock: Clock) -> list[str]:
    """What does not fit, at most ten, each with its place."""
    import jsonschema
    import jsonschema.validators
    import referencing
    import referencing.exceptions

    def pattern(validator: Any, pattern: str, instance: object, schema: object) -> Iterator[jsonschema.ValidationError]:
        del validator, schema
        if isinstance(instance, str) and not search(pattern, instance, clock):
            yield jsonschema.ValidationError(f"{instance[:80]!r} does not match {pattern!r}")

    def pattern_properties(
        validator: Any, patterns: dict[str, Any], instance: object, schema: object
    ) -> Iterator[jsonschema.ValidationError]:
        del schema
        for each, below in patterns.items():
            for name, item in instance.items() if isinstance(instance, dict) else ():
                if search(each, name, clock):
                    yield from validator.descend(item, below, path=name, schema_path=each)

    timed = {"pattern": pattern, "patternProperties": pattern_properties}
    # An empty registry: the library would otherwise fetch what `$ref` names from the network.
    made = jsonschema.validators.extend(_validator(schema), timed)(schema, registry=referencing.Registry())
    try:
        return [f"{error.json_path}: {error.message[:500]}" for error in islice(_timely(made, value, clock), 10)]
    except referencing.exceptions.Unresolvable as error:
        raise CannotCheck(f"the schema refers to what is not in it: {error}") from error
    except RecursionError as error:
        raise CannotCheck("the schema never ends") from error


def _timely(validator: Any, value: JsonValue, clock: Clock) -> Iterator[Any]:
    for error in validator.iter_errors(value):
        clock.left()
        yield error


def _validator(schema: Any) -> Any:
    import jsonschema
    import jsonschema.validators

    return jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)

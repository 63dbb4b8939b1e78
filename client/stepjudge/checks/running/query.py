# pyright: basic
"""A query is a JSONPath (RFC 9535): it selects the values of a document that a condition is about."""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, JsonValue

from stepjudge.checks.check import CannotCheck
from stepjudge.checks.running.clock import Clock
from stepjudge.checks.running.pattern import search, whole

if TYPE_CHECKING:
    from jsonpath import JSONPathEnvironment

MAX_SELECTED = 10_000


def _environment(clock: Clock) -> "JSONPathEnvironment":
    from jsonpath import JSONPathEnvironment
    from jsonpath.function_extensions import ExpressionType, FilterFunction

    class Timed(FilterFunction):
        """`match` and `search` under the time limit of the check: the library's own have none."""

        @property
        def arg_types(self) -> list[ExpressionType]:
            return [ExpressionType.VALUE, ExpressionType.VALUE]

        @property
        def return_type(self) -> ExpressionType:
            return ExpressionType.LOGICAL

        def __init__(self, find: Callable[[str, str, Clock], bool]) -> None:
            self.find = find

        def __call__(self, text: object, pattern: object) -> bool:
            return isinstance(text, str) and isinstance(pattern, str) and self.find(pattern, text, clock)

    made = JSONPathEnvironment(strict=True)
    made.function_extensions |= {"match": Timed(whole), "search": Timed(search)}
    return made


def _parses(query: str) -> str:
    from jsonpath import JSONPathEnvironment, JSONPathError

    try:
        JSONPathEnvironment(strict=True).compile(query)
    except (JSONPathError, RecursionError) as error:
        raise ValueError(
            f"{query!r} is no JSONPath such as $.orders[0].state: {' '.join(str(error).split())}"
        ) from error
    return query


Query = Annotated[str, Field(max_length=2_000), AfterValidator(_parses)]
"""A JSONPath, as a check's document gives it."""


def selected(query: str, document: JsonValue, clock: Clock) -> list[JsonValue]:
    """The values that the query selects, in order."""
    from jsonpath import JSONPathError

    if not isinstance(document, dict | list):
        return [document] if query == "$" else []  # the library takes a bare text for JSON to parse
    try:
        found: list[Any] = []
        for match in islice(_environment(clock).finditer(query, document), MAX_SELECTED + 1):
            clock.left()
            found.append(match.obj)
    except (JSONPathError, RecursionError) as error:
        raise CannotCheck(f"{query} cannot be followed: {error}") from error
    if len(found) > MAX_SELECTED:
        raise CannotCheck(f"{query} selects more than {MAX_SELECTED:,} values")
    return found

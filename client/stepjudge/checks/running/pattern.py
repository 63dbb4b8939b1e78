# pyright: basic
"""A pattern is a regular expression of the package `regex`, which unlike `re` can be given a time limit."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from stepjudge.checks.check import CannotCheck
from stepjudge.checks.running.clock import Clock


def _compiles(pattern: str) -> str:
    import regex

    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return pattern


Pattern = Annotated[str, Field(max_length=10_000), AfterValidator(_compiles)]
"""A regular expression, as a check's document gives it."""


def search(pattern: str, text: str, clock: Clock) -> bool:
    """Whether the pattern occurs in the text. `^` and `$` are those of lines, `.` is any character but a line end."""
    import regex

    return _timed(regex.compile(pattern, regex.MULTILINE), text, clock)


def whole(pattern: str, text: str, clock: Clock) -> bool:
    """Whether the pattern is all of the text."""
    import regex

    return _timed(regex.compile(rf"\A(?:{pattern})\Z"), text, clock)


def _timed(compiled: Any, text: str, clock: Clock) -> bool:
    try:
        # `concurrent` lets other threads run meanwhile.
        return compiled.search(text, timeout=clock.left(), concurrent=True) is not None
    except TimeoutError:
        shown = compiled.pattern if len(compiled.pattern) < 80 else f"{compiled.pattern[:77]}…"
        raise CannotCheck(f"the pattern {shown!r} was not done in time on {len(text):,} characters") from None

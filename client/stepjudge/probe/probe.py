"""A probe is one way to change what a judge reads about a step without changing what the right answer is."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

from stepjudge.rubric import Rubric
from stepjudge.trace import Trace

Family = Literal["retest", "order", "verbosity", "irrelevant", "injection"]


@dataclass(frozen=True)
class Subject:
    """A step that is asked about, and the rubric it is asked under."""

    trace: Trace
    index: int
    rubric: Rubric


@dataclass(frozen=True)
class Variant:
    """The same question in another form, about the step of the same number."""

    trace: Trace
    rubric: Rubric | None = None
    """Null: the subject's own."""
    sample: int = 0


@dataclass(frozen=True)
class Probe:
    """One change."""

    name: str
    family: Family
    about: str
    """What is changed, in one line."""
    vary: Callable[[Subject, Random], Variant | None]
    """Null where the step has nothing that could be changed so."""
    same_question: bool = False
    """Whether the verdict's key must stay the same, so that the very same verdict answers."""

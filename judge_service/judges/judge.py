"""What every judge is: a name, a specification that verdicts depend on, and answers to a question.

A judge answers by itself. A court, such as a jury or a cascade, asks judges and says what their answers come to.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from judge_service.budget import Budget
from judge_service.question import Answered, Question
from judge_service.shown import Shown
from stepjudge.digest import digest
from stepjudge.scorecard import Landed
from stepjudge.value import JsonObject
from stepjudge.verdict import Part


class Judge(Protocol):
    """Produces answers. It never raises for what a provider does: that becomes undetermined answers."""

    @property
    def asks_model(self) -> bool:
        """Whether an answer costs a model call, so that prefixes are worth warming and a prompt worth storing."""
        ...

    @property
    def note(self) -> str:
        """What a reader of its scores must know; empty when nothing."""
        ...

    def specification(self) -> JsonObject:
        """Everything of the judge that its answers depend on."""
        ...

    def estimate(self, question: Question, shown: Shown) -> tuple[int, int, float | None]:
        """(prompt tokens, completion tokens, USD) that answering would take."""
        ...

    async def answer(self, question: Question, shown: Shown, budget: Budget) -> Answered:
        """One answer for each thing asked."""
        ...


@dataclass(frozen=True)
class NamedJudge:
    """A judge as this service offers it."""

    name: str
    judge: "Judge | Court"

    @cached_property
    def specification(self) -> JsonObject:
        return self.judge.specification()

    @cached_property
    def digest(self) -> str:
        return digest(self.specification)


@dataclass(frozen=True)
class Seat:
    """A place in a court, and the judge who has it."""

    name: str
    """As votes and answers name it, such as `fast` or `fast #2`."""
    judge: NamedJudge
    sample: int = 0
    """Which sample of this judge speaks here, from 0."""
    samples: int = 1
    """How many seats this judge has."""
    share: float = 1.0
    """Expected share of the questions that reach it, for estimates."""


Ask = Callable[[Seat, tuple[Part, ...] | None], Awaitable[Landed]]
"""Asks a member everything, or these parts, and gives its own verdict. Never raises for what a provider does."""


class Court(ABC):
    """A judge made of judges.

    Each member's verdict is kept under the member's own key, so that another court, or a request for that member alone,
    does not pay for it again.
    """

    def __init__(self, seats: Sequence[Seat]) -> None:
        self.seats = tuple(seats)

    @property
    def asks_model(self) -> bool:
        return any(seat.judge.judge.asks_model for seat in self.seats)

    @property
    @abstractmethod
    def note(self) -> str:
        """What a reader of its scores must know."""

    @abstractmethod
    def specification(self) -> JsonObject:
        """Everything that its answers depend on: its own rule and its members' specifications."""

    @abstractmethod
    async def convene(self, question: Question, ask: Ask) -> Answered:
        """One answer for each thing asked."""

"""What every judge is: a name, a specification that verdicts depend on, and answers to a question."""

from typing import Protocol

from judge_service.budget import Budget
from judge_service.question import Answered, Question
from judge_service.shown import Shown
from stepjudge.value import JsonObject


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

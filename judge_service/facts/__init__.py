"""A fact is something about a step that follows from the trace alone, from the steps up to it and no later one.

Each family of facts is one module, read once from the first step to the last, so that the cost grows with the text.
What every fact means, and how well it predicts human labels, is in docs/facts.md.
"""

from judge_service.facts.claim import Claims
from judge_service.facts.hostility import Hostility
from judge_service.facts.novelty import Novelty
from judge_service.facts.outcome import Outcomes
from judge_service.facts.rejection import Rejections
from judge_service.facts.repetition import Repetitions
from judge_service.settle import settle
from stepjudge.trace import Trace
from stepjudge.verdict import Fact

__all__ = ["FACTS_VERSION", "facts", "settle"]

FACTS_VERSION = "2"
"""Changes whenever a trace may get other facts than before."""


def facts(trace: Trace) -> tuple[tuple[Fact, ...], ...]:
    """The facts of every step, in the order of the steps."""
    families = (
        Outcomes(trace),
        Rejections(trace.tools),
        Repetitions(),
        Novelty(),
        Claims(trace.task),
        Hostility(trace),
    )
    return tuple(tuple(fact for family in families for fact in family.of(step)) for step in trace.steps)

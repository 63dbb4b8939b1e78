"""The outcome-aware reading lets the end-to-end check decide the final step of a task that asks for one answer.

The judge never sees the reference, so it cannot know whether the final answer is right; the check can. Where the check
cannot tell, the judge's reading stays. Only for tasks with a single answer: there the final step stands or falls with the
outcome, while an agent that keeps state may fail with a faultless last message.
"""

from stepjudge.contract import Scorecard, StepScore
from stepjudge.metric import Rate, rate


def outcome_aware(card: Scorecard, outcome: float | None) -> Rate | None:
    """Passing / scored units, the final step's unit passing when the outcome is 1 and not when it is 0.

    Null where a grouping merged the final step with earlier ones, since their unit has no outcome of its own.
    """
    final = final_step(card)
    if outcome is None or final is None:
        return card.scores.step_level
    if not any(unit == (final.index,) for unit in card.groups):
        return None
    rest, own = card.scores.step_level, rate([final.passes])
    return Rate(
        numerator=rest.numerator - own.numerator + int(outcome >= 1),
        denominator=rest.denominator - own.denominator + 1,
        undetermined=rest.undetermined - own.undetermined,
    )


def outcome_aware_bad(card: Scorecard, outcome: float | None) -> Rate:
    """Bad / scored steps, the final step bad when the outcome is 0 and not when it is 1."""
    final = final_step(card)
    decided = None if outcome is None or final is None else final.index
    return rate(outcome == 0 if step.index == decided else step.bad for step in card.steps)


def final_step(card: Scorecard) -> StepScore | None:
    """The trace's last step; null when the scored range does not reach it."""
    return next((step for step in card.steps if step.index == card.total_steps), None)

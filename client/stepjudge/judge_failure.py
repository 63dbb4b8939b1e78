"""A judge has failed when what it was asked stays open for a reason that lies with it, not with the trace."""

from stepjudge.contract import Scorecard


def judge_failure(card: Scorecard) -> str | None:
    """Why the judge failed; null when it did not.

    One answer that the provider did not give is enough, or all that the budget did not reach: a rate of the few
    answers that facts settled would pass for the trace's reading.
    """
    asked = [answer for step in card.steps for answer in step.details if answer.settled_by == "judge"]
    broken = [answer for answer in asked if answer.cause in ("provider", "rejected")]
    if not broken and all(answer.cause == "budget" for answer in asked):
        broken = asked
    return f"the judge failed ({broken[0].cause}): {broken[0].reason}" if broken else None

"""A re-scored trial keeps its first reading where nothing but time and money differs, so that equal runs are equal."""

from typing import Any

from stepjudge.trial import TrialScore


def settled(before: TrialScore | None, now: TrialScore) -> TrialScore:
    """The score before, when the one now says the same: it holds what the verdicts cost when they were asked for."""
    return before if before is not None and _said(before) == _said(now) else now


def _said(score: TrialScore) -> dict[str, Any]:
    """All that was found, without how long it took and what it cost this time."""
    said = score.model_dump(mode="json")
    for check in said["checks"]:
        del check["seconds"]
    if (card := said["scorecard"]) is not None:
        for passing in ("cached_steps", "requests", "cost_usd"):
            del card[passing]
        for step in card["steps"]:
            del step["cached"], step["cost_usd"]
    return said

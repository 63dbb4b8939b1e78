"""Calibration features are what a step's probability is computed from: the judge's answers and content facts.

Never its position: whoever knows only a step's number learns how errors are spread over a benchmark's traces, and says
nothing of the step. So facts about the position are left out, answers that such a fact settled, and the words of no answer,
`not_applicable` and `undetermined`: a recovery can be asked from the second step on, and to have one at all tells as much.

`message` stays: it tells what kind of step it is, although in many traces only the last one is without a call.
"""

from collections.abc import Mapping, Sequence

from stepjudge.contract import StepScore
from stepjudge.verdict import Fact

FEATURES_VERSION = "2"
"""Changes whenever a step may get other features than before."""

Features = dict[str, float]
"""By name, in 0..1; what is not in it is 0."""

POSITIONAL = frozenset({"first_step"})
"""Facts that tell nothing but where the step stands."""

UNANSWERED = frozenset({"not_applicable", "undetermined"})
"""What stands where a question has no answer."""


def features(answers: Mapping[str, str], facts: Sequence[Fact], *, message: bool) -> Features:
    """Of one step: the rolled-up answer to each question, which facts hold, and whether it is a message without calls."""
    made = {f"answer: {question}={word}": 1.0 for question, word in answers.items() if word not in UNANSWERED}
    made |= {f"fact: {fact.name}": 1.0 for fact in facts if fact.name not in POSITIONAL}
    shares = [share for fact in facts if fact.name == "new_information" and (share := _share(fact)) is not None]
    if shares:
        made["share of the result that is new"] = min(shares)
    if message:
        made["message"] = 1.0
    return made


def features_of(step: StepScore) -> Features:
    """Of a scored step."""
    settled = {each.criterion for each in step.details if each.settled_by == "facts" and each.rule in POSITIONAL}
    answers: dict[str, str] = {name: word for name, word in step.answers.items() if name not in settled}
    answers["score"] = "none" if step.score is None else str(step.score)
    return features(answers, step.facts, message=not step.calls)


def _share(fact: Fact) -> float | None:
    try:
        share = float(fact.detail.partition(":")[0])
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None

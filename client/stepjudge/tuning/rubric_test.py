"""A rubric test is a judge's answers under one rubric beside people's, on exactly the labelled steps, and what they took."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from stepjudge.contract import Scorecard, StepScore
from stepjudge.labelled import LabelledVerdicts, StepKey, beside
from stepjudge.rubric import Rubric
from stepjudge.tuning.example import Example, Examples, by_trace
from stepjudge.value import Value
from stepjudge.verdict import Answer, Cause

Answers = Mapping[StepKey, tuple[Answer, ...]]
"""What the judge answered, by labelled step."""


class Expense(Value):
    """What asking took, and what came of it."""

    steps: int
    """Labelled steps that were asked about."""
    not_found: int
    """Labelled steps whose trace is not at hand."""
    left_out: int
    """Labels that were not given blind, or of steps whose chance of being drawn nobody knows."""
    answers: int
    undetermined: int
    causes: dict[Cause, int]
    ungrounded: int
    """Answers with a quote that does not stand where the judge said, or with none."""
    cached_steps: int
    requests: int
    cost_usd: float | None
    """Null when a price is not known."""


class RubricTest(Value):
    """One rubric, one judge, the labelled steps."""

    labelled: LabelledVerdicts
    expense: Expense


def rubric_test(
    rubric: Rubric, found: Examples, cards: Sequence[Scorecard], *, cost_usd: float | None, every: bool = False
) -> RubricTest:
    """The test. `cards` are the scorecards of the examples' traces, in the order of `by_trace`."""
    labels = [label for example in found.found for label in example.labels]
    judge, judge_digest = cards[0].judge, cards[0].judge_digest
    verdicts = answers_of(found.found, cards)
    labelled = beside(rubric, verdicts, labels, judge=judge, judge_digest=judge_digest, every=every)
    return RubricTest(labelled=labelled, expense=expense(found, cards, cost_usd))


def answers_of(found: Sequence[Example], cards: Sequence[Scorecard]) -> Answers:
    """The answers by labelled step, of scorecards in the order of `by_trace`."""
    return {example.key: step.details for example, step in _joined(found, cards)}


def expense(found: Examples, cards: Sequence[Scorecard], cost_usd: float | None) -> Expense:
    """What these scorecards took."""
    steps = [step for _, step in _joined(found.found, cards)]
    answers = [answer for step in steps for answer in step.details]
    return Expense(
        steps=len(steps),
        not_found=found.not_found,
        left_out=found.left_out,
        answers=len(answers),
        undetermined=sum(answer.answer == "undetermined" for answer in answers),
        causes=dict(Counter(answer.cause for answer in answers if answer.cause)),
        ungrounded=sum(answer.ungrounded for answer in answers),
        cached_steps=sum(step.cached for step in steps),
        requests=sum(card.requests for card in cards),
        cost_usd=cost_usd,
    )


def _joined(found: Sequence[Example], cards: Sequence[Scorecard]) -> Iterable[tuple[Example, StepScore]]:
    for mine, card in zip(by_trace(found), cards, strict=True):
        steps = {step.index: step for step in card.steps}
        for example in mine:
            yield example, steps[example.step]

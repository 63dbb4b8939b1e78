"""A metric rolls answers up: calls to steps, steps to rates, every rate with its exact denominator."""

from collections.abc import Iterable, Sequence
from typing import Literal

from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.value import Value
from stepjudge.verdict import Answer

Answers = dict[str, AnswerWord]
"""One answer per criterion, of one call or of one scored unit."""


class Rate(Value):
    """A share of scored units. `undetermined` counts those that are in neither numerator nor denominator."""

    numerator: int
    denominator: int
    undetermined: int = 0

    @property
    def value(self) -> float | None:
        """The rate in 0..1; null when nothing was scored."""
        return self.numerator / self.denominator if self.denominator else None


def combine(words: Iterable[AnswerWord], takes: Literal["all", "any"]) -> AnswerWord:
    """Roll several answers up to one, in Kleene's three-valued logic; not applicable ones do not count.

    `all` is no as soon as one is no, `any` is yes as soon as one is yes, whatever else is undetermined.
    """
    counted = [word for word in words if word != "not_applicable"]
    if not counted:
        return "not_applicable"
    decisive, otherwise = ("no", "yes") if takes == "all" else ("yes", "no")
    if decisive in counted:
        return decisive
    return "undetermined" if "undetermined" in counted else otherwise


def rolled_up(rubric: Rubric, answers: Sequence[Answer]) -> Answers:
    """The step's answer to every criterion: its calls combined as the criterion says."""
    rolled: Answers = {}
    for criterion in rubric.criteria:
        words: list[AnswerWord] = [answer.answer for answer in answers if answer.criterion == criterion.name]
        if words:
            rolled[criterion.name] = combine(words, criterion.step_takes or "all")
    return rolled


def passes(rubric: Rubric, answers: Answers) -> bool | None:
    """Whether every criterion that the rubric's score needs is yes; null when that cannot be told."""
    return _truth(combine((answers.get(name, "undetermined") for name in rubric.scoring.passes), "all"))


def bad(rubric: Rubric, answers: Answers) -> bool | None:
    """Whether one of the rubric's `bad` criteria is no; null when that cannot be told, or none applies."""
    if not rubric.scoring.bad:
        return None
    fine = _truth(combine((answers.get(name, "undetermined") for name in rubric.scoring.bad), "all"))
    return None if fine is None else not fine


def score(rubric: Rubric, answers: Answers) -> Literal[-1, 0, 1] | None:
    """−1 bad, +1 passes, 0 neither; null when that cannot be told. Recovery never changes it."""
    is_bad, does_pass = bad(rubric, answers), passes(rubric, answers)
    if is_bad:
        return -1
    if does_pass:
        return 1
    cannot_be_bad = is_bad is False or not rubric.scoring.bad
    return 0 if cannot_be_bad and does_pass is False else None


def rate(outcomes: Iterable[bool | None]) -> Rate:
    """Count outcomes: true in the numerator, null apart."""
    counted = list(outcomes)
    known = [outcome for outcome in counted if outcome is not None]
    return Rate(numerator=sum(known), denominator=len(known), undetermined=len(counted) - len(known))


def argument_accuracy(rubric: Rubric, calls: Iterable[tuple[Answers, bool]]) -> Rate:
    """Calls with accurate arguments / calls with the right tool.

    A call is given with whether its tool exists. The right tool exists and has yes for the rubric's `right_tool`
    criteria. Where that cannot be told the call is undetermined, as it is when the arguments cannot be judged. A call
    to which the question of arguments does not apply is not counted.
    """
    name = rubric.scoring.arguments
    if name is None:
        return Rate(numerator=0, denominator=0)
    outcomes: list[bool | None] = []
    for answers, exists in calls:
        right = _right_tool(rubric, answers) if exists else False
        word = answers.get(name, "undetermined")
        if right is not False and word != "not_applicable":
            outcomes.append(_truth(word) if right else None)
    return rate(outcomes)


def recovery_rate(rubric: Rubric, units: Iterable[Answers]) -> Rate:
    """Recoveries / units where recovery applied."""
    name = rubric.scoring.recovery
    if name is None:
        return Rate(numerator=0, denominator=0)
    words: list[AnswerWord] = [answers.get(name, "undetermined") for answers in units]
    return rate(_truth(word) for word in words if word != "not_applicable")


def _right_tool(rubric: Rubric, answers: Answers) -> bool | None:
    needed = rubric.scoring.right_tool
    return _truth(combine((answers.get(name, "undetermined") for name in needed), "all")) if needed else True


def _truth(word: AnswerWord) -> bool | None:
    return {"yes": True, "no": False, "not_applicable": None, "undetermined": None}[word]

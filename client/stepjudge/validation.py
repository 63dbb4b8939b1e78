"""Validation says whether a judge's scores under a rubric are still provisional, by which labels and which rule."""

from stepjudge.labelled import LabelledVerdicts
from stepjudge.trust import TrustRule, TrustWord
from stepjudge.value import Value


class Validation(Value):
    """Where one judge stands under one rubric."""

    validated: bool
    """Whether scores drop their `provisional`: the rule's reading is one to trust."""
    reading: str
    """What must agree with people: `passes`, `bad` or `score`."""
    word: TrustWord
    because: str
    labels: int
    """Blind labels of steps drawn with known probability that the judge answered too."""
    tasks: int
    rule: str
    worth: float | None = None
    """What the judge adds: it is worth this many times the labels (n_eff / n). Null where labels are too few to say."""

    @property
    def words(self) -> str:
        """One line for a report."""
        worth = "" if self.worth is None else f"; with the judge each label is worth {self.worth:.2f}"
        return f"{'validated' if self.validated else 'provisional'}: {self.reading}, {self.word}: {self.because}{worth}"


def validation(found: LabelledVerdicts) -> Validation:
    """The standing that follows from labels beside verdicts."""
    rule = found.rule
    reading = found.reading(rule.validates)
    if reading is None:
        return unvalidated(rule, "no label yet that counts")
    return Validation(
        validated=reading.trust.word == "trust it",
        reading=rule.validates,
        word=reading.trust.word,
        because=reading.trust.because,
        labels=reading.agreement.answered,
        tasks=reading.agreement.tasks,
        rule=str(rule),
        worth=reading.worth,
    )


def unvalidated(rule: TrustRule, because: str) -> Validation:
    """The standing of a judge that nothing is known of."""
    return Validation(
        validated=False,
        reading=rule.validates,
        word="too few examples to say",
        because=because,
        labels=0,
        tasks=0,
        rule=str(rule),
    )

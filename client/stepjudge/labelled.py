"""Labelled verdicts are a judge's answers beside people's, question by question, for one rubric.

Beside the criteria stand the readings of the whole step, `score`, `passes` and `bad`.
"""

from collections.abc import Iterable, Mapping, Sequence

from stepjudge.agreement import TERNARY, YES_NO, Agreement, Answered, Rated, agreement
from stepjudge.annotators import Ceiling, ceiling
from stepjudge.first_error import FirstError, TraceRated, first_error
from stepjudge.floors import Floor, Positioned, always_plus, position_alone
from stepjudge.judge_worth import worth
from stepjudge.label import SCORE, Label, Settled, settled
from stepjudge.rubric import Rubric
from stepjudge.step_reading import READINGS, Reading, StepReading, judged_reading, people_reading
from stepjudge.trust import Trust, TrustRule, trust
from stepjudge.value import Value
from stepjudge.verdict import Answer

StepKey = tuple[str, str]
"""State digest and step digest."""
Verdicts = Mapping[StepKey, Sequence[Answer]]
"""What one judge answered, by step."""


class Counts(Value):
    """What stands in no agreement figure, and how many."""

    left_out: int = 0
    """Labels that were not blind, or whose probability nobody knows."""
    contested: int = 0
    """Questions on which people differ and nobody adjudicated."""
    could_not_tell: int = 0
    """Questions that people answered with `undetermined`."""
    not_judged: int = 0
    """Questions about steps for which this judge has no verdict."""
    other_wording: int = 0
    """Labels that count, although they were given for another version of the rubric."""


class ReadingAgreement(Value):
    """The judge beside people on one criterion, or on one reading of the step."""

    reading: str
    derived: bool
    """Whether it is `score`, `passes` or `bad`, made of the criteria."""
    agreement: Agreement
    counts: Counts
    trust: Trust
    ceiling: Ceiling | None
    """How far people agree among themselves; null where no two answered one question."""
    worth: float | None = None
    """Of `passes` and `bad`: the judge makes the labels worth this many times as many; null where they are too few."""


class LabelledVerdicts(Value):
    """One judge beside people under one rubric."""

    rubric: str
    rubric_digest: str
    judge: str
    judge_digest: str
    steps: int
    """Steps with a label that counts."""
    annotators: tuple[str, ...]
    readings: tuple[ReadingAgreement, ...]
    first_error: FirstError | None = None
    """Only where whole traces were labelled."""
    floors: tuple[Floor, ...] = ()
    """What never reading reaches on `score`."""
    rule: TrustRule

    def reading(self, name: str) -> ReadingAgreement | None:
        return next((each for each in self.readings if each.reading == name), None)


def beside(
    rubric: Rubric,
    verdicts: Verdicts,
    labels: Iterable[Label],
    *,
    judge: str = "",
    judge_digest: str = "",
    rule: TrustRule | None = None,
    every: bool = False,
) -> LabelledVerdicts:
    """The agreement of these verdicts with these labels of the same rubric, whatever its version.

    Only blind labels with a known probability count, since others favour some steps or some answers; `every` counts all.
    """
    return _Table(rubric, verdicts, labels, rule or TrustRule(), every=every).whole(judge, judge_digest)


def representative(label: Label) -> bool:
    """Whether rates may be estimated from it: given blind, of a step that was drawn with known probability."""
    return label.blind and label.sampling.probability is not None


class _Table:
    """Labels and verdicts, joined by step."""

    def __init__(
        self, rubric: Rubric, verdicts: Verdicts, labels: Iterable[Label], rule: TrustRule, *, every: bool
    ) -> None:
        self.rubric = rubric
        self.verdicts = verdicts
        self.rule = rule
        self.given = [label for label in labels if label.rubric_name == rubric.name]
        self.counted = [label for label in self.given if every or representative(label)]
        self.points = settled(self.counted)
        self.by_step: dict[StepKey, list[Settled]] = {}
        for each in self.points:
            self.by_step.setdefault(_key(each), []).append(each)
        self.people = {key: people_reading(rubric, mine, verdicts.get(key, ())) for key, mine in self.by_step.items()}

    def whole(self, judge: str, judge_digest: str) -> LabelledVerdicts:
        answered = {each.question.criterion for each in self.points}
        rows = [self.criterion(each.name) for each in self.rubric.criteria if each.name in answered]
        rows += [row for name in READINGS if (row := self.reading(name)).agreement.labelled]
        traces = self.whole_traces()
        return LabelledVerdicts(
            rubric=self.rubric.reference,
            rubric_digest=self.rubric.digest,
            judge=judge,
            judge_digest=judge_digest,
            steps=len(self.by_step),
            annotators=tuple(sorted({label.annotator for each in self.points for label in each.labels})),
            readings=tuple(rows),
            first_error=first_error([self.trace(steps) for steps in traces]) if traces else None,
            floors=self.floors(traces),
            rule=self.rule,
        )

    def criterion(self, name: str) -> ReadingAgreement:
        mine = [each for each in self.points if each.question.criterion == name]
        rated = [
            Rated(each.labels[0].task_digest, human, self.judged(each))
            for each in mine
            if (human := _answer(each.said)) is not None and _key(each) in self.verdicts
        ]
        three = any("not_applicable" in (each.human, each.judge) for each in rated)
        found = agreement(rated, YES_NO if three else YES_NO[:2], scale="nominal")
        return ReadingAgreement(
            reading=name,
            derived=False,
            agreement=found,
            counts=self.counts(name, mine),
            trust=trust(found, self.rule),
            ceiling=ceiling(mine, YES_NO, scale="nominal"),
        )

    def reading(self, name: Reading) -> ReadingAgreement:
        rated = [
            Rated(mine[0].labels[0].task_digest, human, self.read(key).told(name))
            for key, mine in self.by_step.items()
            if (human := self.people[key].told(name)) is not None and key in self.verdicts
        ]
        ordinal = name == "score"
        found = agreement(rated, TERNARY if ordinal else YES_NO[:2], scale="ordinal" if ordinal else "nominal")
        scored = [each for each in self.points if each.question.criterion == SCORE]
        return ReadingAgreement(
            reading=name,
            derived=True,
            agreement=found,
            counts=self.counts(SCORE, scored),
            trust=trust(found, self.rule),
            ceiling=ceiling(scored, TERNARY, scale="ordinal") if ordinal else None,
            worth=None if ordinal else worth(rated),
        )

    def read(self, key: StepKey) -> StepReading:
        return judged_reading(self.rubric, self.verdicts.get(key, ()))

    def judged(self, each: Settled) -> Answered | None:
        """The judge's answer to the same question; null when it has none."""
        wanted = (each.question.criterion, each.question.call)
        return next(
            (
                _answer(answer.answer)
                for answer in self.verdicts.get(_key(each), ())
                if (answer.criterion, answer.call) == wanted
            ),
            None,
        )

    def counts(self, criterion: str, mine: Sequence[Settled]) -> Counts:
        standing = [label for each in mine for label in each.labels]
        return Counts(
            left_out=sum(label.criterion == criterion for label in self.given)
            - sum(label.criterion == criterion for label in self.counted),
            contested=sum(each.said is None for each in mine),
            could_not_tell=sum(each.said == "undetermined" for each in mine),
            not_judged=sum(_key(each) not in self.verdicts for each in mine),
            other_wording=sum(label.rubric_digest != self.rubric.digest for label in standing),
        )

    def whole_traces(self) -> list[list[Label]]:
        """Per trace that was labelled whole, one label of each step, in order; the judge has judged all of them."""
        by_trace: dict[str, dict[int, Label]] = {}
        for label in (label for each in self.points for label in each.labels):
            if label.sampling.design == "whole_traces" and label.trace_id:
                by_trace.setdefault(label.trace_id, {})[label.step] = label
        traces = [[steps[index] for index in sorted(steps)] for steps in by_trace.values()]
        return [steps for steps in traces if _unbroken(steps) and all(map(self.scored, steps))]

    def scored(self, label: Label) -> bool:
        key = (label.state_digest, label.step_digest)
        return self.people[key].score is not None and key in self.verdicts

    def trace(self, steps: Sequence[Label]) -> TraceRated:
        keys = [(each.state_digest, each.step_digest) for each in steps]
        human = tuple(value for key in keys if (value := self.people[key].score) is not None)
        return TraceRated(steps[0].task_digest, human, tuple(self.read(key).score for key in keys))

    def floors(self, traces: Sequence[Sequence[Label]]) -> tuple[Floor, ...]:
        """On the steps that `score` is over, so that they can be set beside its raw agreement."""
        firsts = {
            key: mine[0].labels[0]
            for key, mine in self.by_step.items()
            if self.people[key].score is not None and key in self.verdicts
        }
        known = {key: value for key in firsts if (value := self.people[key].score) is not None}
        if not known:
            return ()
        plus = always_plus([[value] for value in known.values()])
        errors = always_plus([self.trace(steps).human for steps in traces])
        positions = [Positioned(firsts[key].task_digest, firsts[key].step - 1, value) for key, value in known.items()]
        whole = {"first_error_matches": errors.first_error_matches, "traces": errors.traces}
        alone = {"first_error_matches": None, "traces": None}
        return plus.model_copy(update=whole if traces else alone), position_alone(positions)


def _unbroken(steps: Sequence[Label]) -> bool:
    return [each.step for each in steps] == list(range(1, len(steps) + 1))


def _key(each: Settled) -> StepKey:
    return each.question.state_digest, each.question.step_digest


def _answer(said: Answered | None) -> Answered | None:
    """An answer that says something."""
    return None if said == "undetermined" else said

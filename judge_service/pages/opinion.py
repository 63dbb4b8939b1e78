"""An opinion is one verdict on a step, as pages name it, choose it and set it beside others."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_service.pages.words import short
from stepjudge.report.mark import Tone
from stepjudge.rubric import Rubric
from stepjudge.scorecard import Landed, step_score
from stepjudge.trace import Step
from stepjudge.verdict import Answer, VerdictRecord

TONES: dict[int | None, Tone] = {1: "pass", 0: "idle", -1: "bad", None: "unknown"}
OF_SIGN: dict[str, Tone] = {"+": "pass", "0": "idle", "-": "bad", "?": "unknown", ".": "unjudged"}
SAID: dict[Tone, str] = {
    "pass": "passes (+1)", "idle": "no use (0)", "bad": "bad (−1)", "unknown": "undetermined", "unjudged": "not judged",
}  # fmt: skip


@dataclass(frozen=True)
class Opinion:
    record: VerdictRecord
    rubric: Rubric | None
    """Null when the ledger does not hold it, so that nothing is derived."""
    tone: Tone

    @property
    def by(self) -> str:
        """Names the rubric and the judge in addresses."""
        return by(self.record.rubric_digest, self.record.judge_digest)

    @property
    def kind(self) -> str:
        """What sort of verdict it is, where it is not the judge's one whole answer."""
        kinds = {
            "a part, escalated": self.record.asked is not None,
            f"sample {self.record.sample}": self.record.sample > 0,
            "of a made trace": self.record.made,
        }
        return ", ".join(kind for kind, holds in kinds.items() if holds)


@dataclass(frozen=True)
class Line:
    """One question, and what each opinion says to it."""

    criterion: str
    call: int | None
    answers: tuple[Answer | None, ...]

    @property
    def differ(self) -> bool:
        """Whether two of them say different things. That one cannot tell is no difference."""
        return len({answer.answer for answer in self.answers if answer and answer.answer != "undetermined"}) > 1


def by(rubric_digest: str, judge_digest: str) -> str:
    return f"{short(rubric_digest)}.{short(judge_digest)}"


def opinion(record: VerdictRecord, rubric: Rubric | None, step: Step) -> Opinion:
    if rubric is None:
        return Opinion(record, None, "unknown")
    return Opinion(record, rubric, TONES[step_score(rubric, step, Landed(record.verdict, cached=True)).score])


def newest(records: Sequence[VerdictRecord]) -> list[VerdictRecord]:
    """Of records in the order newest first: each judge's newest whole verdict under each rubric, then all others."""
    plain: dict[str, VerdictRecord] = {}
    for record in records:
        if record.plain:
            plain.setdefault(by(record.rubric_digest, record.judge_digest), record)
    return list(plain.values())


def partner(chosen: Opinion | None, opinions: Sequence[Opinion]) -> Opinion | None:
    """Whom to set beside an opinion: one that differs, if there is one."""
    others = [each for each in opinions if chosen and each.by != chosen.by]
    differing = (each for each in others if chosen and any(line.differ for line in lines([chosen, each])))
    return next(differing, others[0] if others else None)


def lines(opinions: Sequence[Opinion]) -> tuple[Line, ...]:
    """Every question that some opinion answers, in the order of the first one."""
    keys = dict.fromkeys((answer.criterion, answer.call) for each in opinions for answer in each.record.verdict.answers)
    said = [{(each.criterion, each.call): each for each in opinion.record.verdict.answers} for opinion in opinions]
    return tuple(Line(criterion, call, tuple(each.get((criterion, call)) for each in said)) for criterion, call in keys)

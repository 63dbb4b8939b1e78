"""A portrait of a judge is all that is known of it under one version of a rubric: agreement, corrected rates, drift, cost."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from judge_service.corrected_rates import CorrectedRate, corrected_rates
from judge_service.diary import Diaries, Diary
from judge_service.errors import AgreementUnavailable
from judge_service.judged import Judged
from judge_service.label_store import LabelStore
from judge_service.tally import Tally
from judge_service.validity import Validity
from stepjudge.contract import VerdictSummary
from stepjudge.drift import Drift, Labels, drift
from stepjudge.label import Label, settled
from stepjudge.labelled import LabelledVerdicts
from stepjudge.rubric import Rubric
from stepjudge.validation import Validation
from stepjudge.verdict import VerdictRecord

_REMEMBERED = 64


@dataclass(frozen=True)
class Portrait:
    diary: Diary
    agreement: LabelledVerdicts | None
    """Null where the statistics are not installed."""
    standing: Validation | None
    why_none: str
    rates: tuple[CorrectedRate, ...]
    drift: Drift


class Portraits:
    """Portraits of one ledger's judges; one is made again when a label or a verdict has come in."""

    def __init__(self, judged: Judged, labels: LabelStore, validity: Validity, diaries: Diaries) -> None:
        self._judged = judged
        self._labels = labels
        self._validity = validity
        self._diaries = diaries
        self._lock = threading.Lock()  # the figures take a second: they are worked out once
        self._known: OrderedDict[tuple[str, str], tuple[int, int, Portrait]] = OrderedDict()

    def of(self, rubric: Rubric, tally: Tally) -> Portrait:
        """Blocks. Raises LedgerUnavailable."""
        with self._lock:
            newest, diary = self._labels.newest(), self._diaries.of(rubric, tally.judge_digest)
            known = self._known.get(tally.pair)
            if known and known[:2] == (newest, diary.newest):
                return known[2]
            made = self._made(rubric, tally, diary)
            self._known[tally.pair] = newest, diary.newest, made
            self._known.move_to_end(tally.pair)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return made

    def _made(self, rubric: Rubric, tally: Tally, diary: Diary) -> Portrait:
        labels = self._labels.of_rubric(rubric.name)
        why, agreement, standing = "", None, None
        try:
            agreement, standing = self._validity.agreement(rubric, tally.judge, tally.judge_digest)
        except AgreementUnavailable as error:
            why = str(error)
        records = self._judged.repeated(rubric.digest, tally.judge)
        moved = drift(tally.judge, rubric.reference, [summary(each) for each in records], _people(labels))
        return Portrait(diary, agreement, standing, why, self._rates(rubric, tally, diary, labels), moved)

    def _rates(self, rubric: Rubric, tally: Tally, diary: Diary, labels: Sequence[Label]) -> tuple[CorrectedRate, ...]:
        steps = sorted({(each.state_digest, each.step_digest) for each in labels} & set(diary.readings))
        tasks = self._judged.tasks([state for state, _ in diary.readings]) if len(steps) > 1 else {}
        answers = self._judged.answers(tally.pair, steps)
        return corrected_rates(rubric, diary.readings, answers, tasks, labels)


def summary(record: VerdictRecord) -> VerdictSummary:
    """A verdict as lists show it."""
    verdict = record.verdict
    return VerdictSummary(
        verdict_id=verdict.verdict_id,
        key=verdict.key,
        created_at=record.created_at,
        rubric=record.rubric,
        judge=verdict.judge,
        judge_digest=record.judge_digest,
        model=verdict.spent.model,
        partial=record.asked is not None,
        state_digest=record.state_digest,
        step_digest=record.step_digest,
        step=verdict.step,
        answers={name: tuple(answer.answer for answer in verdict.of(name)) for name in verdict.criteria},
        undetermined=verdict.undetermined,
        cost_usd=verdict.spent.cost_usd,
    )


def _people(labels: Sequence[Label]) -> Labels:
    """Where people have settled on an answer."""
    return {
        (each.state_digest, each.step_digest, each.criterion, (each.call or 1) - 1): said
        for each, said, _ in settled(labels)
        if isinstance(said, str)
    }

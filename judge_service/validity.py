"""Validity is what labels say of the judges of this service: their agreement, and whether scores are provisional."""

import threading
import time

from judge_service.errors import AgreementUnavailable, LedgerUnavailable
from judge_service.judged import Judged
from judge_service.label_store import LabelStore
from stepjudge.label import Label
from stepjudge.labelled import LabelledVerdicts, beside, representative
from stepjudge.rubric import Rubric
from stepjudge.trust import TrustRule
from stepjudge.validation import Validation, unvalidated, validation

FRESH_S = 60.0
"""How long a standing is remembered while no label comes in: verdicts on labelled steps may come in meanwhile."""


class Validity:
    """Sets labels beside verdicts. Every method blocks."""

    def __init__(self, labels: LabelStore, judged: Judged, rule: TrustRule) -> None:
        self._labels = labels
        self._judged = judged
        self._rule = rule
        self._lock = threading.Lock()  # scorecards are written in several threads; the standing is worked out once
        self._known: dict[tuple[str, str], tuple[int, float, Validation]] = {}

    def standing(self, rubric: Rubric, judge_digest: str) -> Validation:
        """Whether this pair's scores are provisional, remembered for a while. Where labels cannot be read, they are."""
        pair = (rubric.digest, judge_digest)
        try:
            with self._lock:
                newest = self._labels.newest()
                known = self._known.get(pair)
                if known and known[0] == newest and time.monotonic() - known[1] < FRESH_S:
                    return known[2]
                found = (
                    self._standing(rubric, judge_digest) if newest else unvalidated(self._rule, "there are no labels")
                )
                self._known[pair] = (newest, time.monotonic(), found)
                return found
        except (LedgerUnavailable, AgreementUnavailable) as error:
            return unvalidated(self._rule, str(error))

    def agreement(
        self, rubric: Rubric, judge: str, judge_digest: str, *, every: bool = False
    ) -> tuple[LabelledVerdicts, Validation]:
        """One judge beside people. `every` counts all labels in the figures; the standing rests on the representative.

        Raises LedgerUnavailable, AgreementUnavailable.
        """
        labels = self._labels.of_rubric(rubric.name)
        found = self._beside(rubric, labels, judge, judge_digest, every=every)
        fair = self._beside(rubric, labels, judge, judge_digest, every=False) if every else found
        return found, validation(fair)

    def _standing(self, rubric: Rubric, judge_digest: str) -> Validation:
        labels = [label for label in self._labels.of_rubric(rubric.name) if representative(label)]
        steps = {(label.state_digest, label.step_digest) for label in labels}
        if len(steps) < self._rule.min_labels:  # without loading the statistics
            many = f"{len(steps)} of {self._rule.min_labels} steps are labelled blind and drawn with known probability"
            return unvalidated(self._rule, many)
        return validation(self._beside(rubric, labels, "", judge_digest, every=False))

    def _beside(
        self, rubric: Rubric, labels: list[Label], judge: str, judge_digest: str, *, every: bool
    ) -> LabelledVerdicts:
        steps = sorted({(label.state_digest, label.step_digest) for label in labels})
        verdicts = self._judged.answers((rubric.digest, judge_digest), steps)
        try:
            return beside(
                rubric, verdicts, labels, judge=judge, judge_digest=judge_digest, rule=self._rule, every=every
            )
        except ModuleNotFoundError as error:
            raise AgreementUnavailable(
                f"agreement needs more packages ({error.name}): pip install 'stepjudge[labels]'"
            ) from error

"""A diary is what one judge answered under one version of a rubric, day by day, and how it reads every step."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LedgerUnavailable
from judge_service.judged import StepKey
from stepjudge.rubric import Rubric
from stepjudge.step_reading import StepReading, judged_reading
from stepjudge.verdict import Answer

_TABLE = schema.verdicts
_REMEMBERED = 32
"""Diaries that a process keeps."""


@dataclass
class Day:
    """One day, UTC."""

    verdicts: int = 0
    cost_usd: float = 0.0
    """Of those whose price is known."""
    unpriced: int = 0
    answers: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """By criterion, how often each word was given."""

    def share(self, criterion: str) -> float | None:
        """Yes among yes and no; null on a day without either."""
        said = self.answers.get(criterion, Counter())
        told = said["yes"] + said["no"]
        return said["yes"] / told if told else None

    @property
    def given(self) -> int:
        """Answers."""
        return sum(each.total() for each in self.answers.values())

    @property
    def undetermined(self) -> int:
        return sum(each["undetermined"] for each in self.answers.values())


@dataclass
class Diary:
    newest: int = 0
    """Number of the newest verdict in it."""
    days: dict[str, Day] = field(default_factory=dict[str, Day])
    readings: dict[StepKey, StepReading] = field(default_factory=dict[StepKey, StepReading])
    """Of every step that was met, by the newest verdict."""
    known: dict[tuple[tuple[str, int | None, Any], ...], StepReading] = field(
        default_factory=dict[tuple[tuple[str, int | None, Any], ...], StepReading]
    )
    """By what was answered, since most verdicts answer alike."""


class Diaries:
    """Diaries of one ledger. What was read is kept: each time only what is new is read."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()  # two requests would count the same verdicts twice
        self._known: OrderedDict[tuple[str, str], Diary] = OrderedDict()

    def of(self, rubric: Rubric, judge_digest: str) -> Diary:
        """Blocks. Raises LedgerUnavailable."""
        pair = (rubric.digest, judge_digest)
        try:
            with self._lock:
                diary = self._known.setdefault(pair, Diary())
                self._known.move_to_end(pair)
                for number, record in self._records(pair, diary.newest):
                    _write(diary, rubric, record)
                    diary.newest = number
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
                return diary
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error

    def _records(self, pair: tuple[str, str], after: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
        query = (
            sa.select(_TABLE.c.sequence, _TABLE.c.record)
            .where(_TABLE.c.rubric_digest == pair[0], _TABLE.c.judge_digest == pair[1], _TABLE.c.sequence > after)
            .order_by(_TABLE.c.sequence)
            .execution_options(yield_per=500)
        )
        with self._engine.connect() as connection:
            for number, text in connection.execute(query):
                try:
                    yield number, orjson.loads(text)
                except orjson.JSONDecodeError:  # damaged: `audit show` says that it is
                    continue


def _write(diary: Diary, rubric: Rubric, record: Mapping[str, Any]) -> None:
    verdict = record["verdict"]
    cost = verdict["spent"]["cost_usd"]
    day = diary.days.setdefault(record["created_at"][:10], Day())
    day.verdicts += 1
    day.cost_usd += cost or 0.0
    day.unpriced += cost is None
    if record.get("asked") is not None or record.get("sample") or record.get("made"):
        return  # no plain answer to a question that was met
    said = tuple((each["criterion"], each["call"], each["answer"]) for each in verdict["answers"])
    for criterion, _, word in said:
        day.answers.setdefault(criterion, Counter())[word] += 1
    if (reading := diary.known.get(said)) is None:
        answers = [Answer(criterion=criterion, call=call, answer=word) for criterion, call, word in said]
        reading = diary.known[said] = judged_reading(rubric, answers)
    diary.readings[record["state_digest"], record["step_digest"]] = reading

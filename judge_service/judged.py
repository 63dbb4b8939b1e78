"""Judged steps are what the ledger's verdicts say, by step: the side of the judge when labels are set beside it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from judge_service import schema
from judge_service.database import words
from judge_service.errors import LedgerUnavailable
from stepjudge.label_contract import StepVerdict
from stepjudge.label_sampling import Candidate
from stepjudge.trace import Step
from stepjudge.verdict import Answer, VerdictRecord

StepKey = tuple[str, str]
"""State digest and step digest."""

_BATCH = 400
_TABLE = schema.verdicts


@dataclass(frozen=True)
class Pair:
    """A judge and a version of a rubric that the ledger has verdicts of."""

    rubric: str
    """`name@version`."""
    rubric_digest: str
    judge: str
    judge_digest: str


class Judged:
    """Reads verdicts by step. Every method blocks, and raises LedgerUnavailable."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def pairs(self, rubric_name: str) -> list[Pair]:
        """Every judge that has judged by a version of this rubric."""
        columns = (_TABLE.c.rubric, _TABLE.c.rubric_digest, _TABLE.c.judge, _TABLE.c.judge_digest)
        mine = _TABLE.c.rubric.startswith(f"{rubric_name}@", autoescape=True)
        query = sa.select(*columns).where(mine, _TABLE.c.judge_digest.is_not(None)).distinct().order_by(*columns)
        with self._guarded() as connection:
            return [Pair(*row) for row in connection.execute(query)]

    def answers(self, pair: tuple[str, str], steps: Sequence[StepKey]) -> dict[StepKey, tuple[Answer, ...]]:
        """What a judge, by its digest after that of the rubric, answered to these steps: its newest whole verdict."""
        rubric_digest, judge_digest = pair
        found: dict[StepKey, tuple[Answer, ...]] = {}
        wanted = set(steps)
        states = sorted({state for state, _ in wanted})
        with self._guarded() as connection:
            for start in range(0, len(states), _BATCH):
                query = (
                    sa.select(_TABLE.c.record)
                    .where(
                        _TABLE.c.state_digest.in_(states[start : start + _BATCH]),
                        _TABLE.c.rubric_digest == rubric_digest,
                        _TABLE.c.judge_digest == judge_digest,
                    )
                    .order_by(_TABLE.c.sequence)
                )
                for record in _records(connection.scalars(query)):
                    key = (record.state_digest, record.step_digest)
                    if key in wanted and record.plain:
                        found[key] = record.verdict.answers
        return found

    def repeated(self, rubric_digest: str, judge: str) -> list[VerdictRecord]:
        """The verdicts on questions that this judge, by its name, was asked more than once, oldest first."""
        mine = (_TABLE.c.rubric_digest == rubric_digest, _TABLE.c.judge == judge)
        twice = sa.select(_TABLE.c.key).where(*mine).group_by(_TABLE.c.key).having(sa.func.count() > 1)
        query = sa.select(_TABLE.c.record).where(*mine, _TABLE.c.key.in_(twice)).order_by(_TABLE.c.sequence)
        with self._guarded() as connection:
            return list(_records(connection.scalars(query)))

    def of_step(self, state: str, step: str) -> tuple[StepVerdict, ...]:
        """What every judge said of a step: the newest whole verdict of each, under each version of a rubric."""
        query = sa.select(_TABLE.c.record).where(_TABLE.c.state_digest == state, _TABLE.c.step_digest == step)
        newest: dict[tuple[str, str], StepVerdict] = {}
        with self._guarded() as connection:
            for record in _records(connection.scalars(query.order_by(_TABLE.c.sequence))):
                if record.plain:
                    newest[record.rubric_digest, record.judge_digest] = StepVerdict(
                        verdict_id=record.verdict.verdict_id,
                        rubric=record.rubric,
                        rubric_digest=record.rubric_digest,
                        judge=record.verdict.judge,
                        judge_digest=record.judge_digest,
                        answers=record.verdict.answers,
                    )
        return tuple(newest.values())

    def newest(self) -> int:
        """The sequence number of the newest verdict; 0 when there is none."""
        with self._guarded() as connection:
            return connection.scalar(sa.select(sa.func.max(_TABLE.c.sequence))) or 0

    def steps(self, digests: Sequence[str]) -> dict[str, Step]:
        """What these steps say and do, where it is kept. Their numbers are not in it."""
        found: dict[str, Step] = {}
        table = schema.steps
        with self._guarded() as connection:
            for start in range(0, len(digests), _BATCH):
                wanted = table.c.digest.in_(digests[start : start + _BATCH])
                for digest, content in connection.execute(sa.select(table.c.digest, table.c.content).where(wanted)):
                    found[digest] = Step.model_validate({**json.loads(content), "index": 1, "llm_call": 1})
        return found

    def population(
        self, rubric_digest: str, judge: str | None = None, *, until: int | None = None
    ) -> list[tuple[Candidate, StepKey, int]]:
        """Every judged step, with its key and its index in the trace where it was first judged.

        Up to the verdict of number `until`: with it, the same steps come out later too.
        """
        said: dict[StepKey, dict[str, dict[str, tuple[str, ...]]]] = {}
        unsure: dict[StepKey, float] = {}
        indices: dict[StepKey, int] = {}
        query = sa.select(_TABLE.c.record).where(_TABLE.c.rubric_digest == rubric_digest).order_by(_TABLE.c.sequence)
        if judge is not None:
            query = query.where(_TABLE.c.judge == judge)
        if until is not None:
            query = query.where(_TABLE.c.sequence <= until)
        with self._guarded() as connection:
            for text in connection.scalars(query.execution_options(yield_per=_BATCH)):
                if (record := _plain(text)) is None:
                    continue
                key = (record["state_digest"], record["step_digest"])
                indices.setdefault(key, record["verdict"]["step"])
                words_of: dict[str, tuple[str, ...]] = {}
                for answer in record["verdict"]["answers"]:
                    words_of[answer["criterion"]] = (*words_of.get(answer["criterion"], ()), answer["answer"])
                    if (confidence := answer.get("confidence")) is not None:
                        unsure[key] = min(unsure.get(key, 1.0), confidence)
                for name, given in words_of.items():
                    said.setdefault(key, {}).setdefault(name, {})[record["judge_digest"]] = given
        return [(_candidate(key, said.get(key, {}), unsure.get(key)), key, indices[key]) for key in indices]

    def tasks(self, states: Sequence[str]) -> dict[str, str]:
        """For each state, the digest of what stands before the first step of its trace. Each link is looked up once."""
        parents: dict[str, str | None] = {}
        open_ = set(states)
        with self._guarded() as connection:
            while open_:
                some = sorted(open_)[:_BATCH]
                query = sa.select(schema.states.c.digest, schema.states.c.parent).where(
                    schema.states.c.digest.in_(some)
                )
                rows = {row.digest: row.parent for row in connection.execute(query)}
                parents.update(rows)
                open_ = (open_ - set(some)) | {
                    parent for parent in rows.values() if parent is not None and parent not in parents
                }
        return {state: root for state in states if (root := _root(state, parents)) is not None}

    def _guarded(self) -> "_Guarded":
        return _Guarded(self._engine)


class _Guarded:
    """A connection whose errors are refusals."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def __enter__(self) -> sa.Connection:
        try:
            self._connection = self._engine.connect()
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._connection.close()
        if isinstance(error, SQLAlchemyError):
            raise LedgerUnavailable(f"the ledger cannot be read: {words(error)}") from error


def _records(texts: sa.ScalarResult[str]) -> Iterator[VerdictRecord]:
    """Damaged records are passed over: `audit show` says that they are."""
    for text in texts:
        try:
            yield VerdictRecord.model_validate_json(text)
        except ValidationError:
            continue


def _plain(text: str) -> dict[str, Any] | None:
    """A plain record as it is written, unchecked: there may be a hundred thousand. Null for others and damaged ones."""
    try:
        record = orjson.loads(text)
        other = record["asked"] is not None or record["sample"] or record.get("made", False)
        return None if other else record
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None


def _candidate(key: StepKey, said: dict[str, dict[str, tuple[str, ...]]], confidence: float | None) -> Candidate:
    return Candidate(" ".join(key), {name: tuple(words.values()) for name, words in said.items()}, confidence)


def _root(state: str, parents: dict[str, str | None]) -> str | None:
    seen: set[str] = set()
    while state not in seen:
        seen.add(state)
        if state not in parents:
            return None
        parent = parents[state]
        if parent is None:
            return state
        state = parent
    return None  # a circle, which no digest can make: somebody wrote it

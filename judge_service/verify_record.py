"""A verdict's record is checked against itself, and against prompts that are rendered again from the stored steps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa
from pydantic import JsonValue, ValidationError

from judge_service import schema
from judge_service.audit import prompt_again
from judge_service.chain import read_chain
from judge_service.prompt import version_under
from judge_service.shown import Shown, mark
from judge_service.state import next_state, restored, states
from stepjudge.digest import digest
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace
from stepjudge.verdict import VerdictRecord

_TRACES = 8
"""Restored traces that are kept at hand: verdicts of one trace mostly stand together."""


@dataclass
class _Restored:
    trace: Trace
    states: tuple[str, ...]
    shown: dict[bool, Shown] = field(default_factory=dict[bool, Shown])


class Again:
    """Renders prompts again, from what the ledger stores."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        fence = connection.scalar(sa.select(schema.meta.c.value).where(schema.meta.c.name == "fence_key"))
        self._fence_key = fence or ""
        self._rubrics: dict[str, Rubric | None] = {}
        self._restored: list[_Restored] = []
        self.unrendered = 0

    def fault(self, record: VerdictRecord) -> str | None:
        """What is wrong with the prompts of a verdict, or with the state they show."""
        rubric = self._rubric(record.rubric_digest)
        if rubric is None:
            return f"its rubric {record.rubric_digest} is missing or damaged"
        try:
            found = self._trace(record, reasoning=rubric.shows_reasoning)
        except (ValueError, KeyError):
            return "a step of its trace is damaged"
        if found is None:
            return "the stored steps do not give its state"
        if not record.prompt_digests:
            return None
        if record.prompt_version != version_under(rubric):
            self.unrendered += 1
            return None
        try:
            shown = self._shown(found, reasoning=rubric.shows_reasoning)
            again = (prompt_again(record, found.trace, rubric, shown).digest,)
        except (ValueError, KeyError, IndexError) as error:
            return f"its prompt cannot be rendered: {error!r}"
        return None if again == record.prompt_digests else "its prompt, rendered again, is not the one that was sent"

    def restored(self, record: VerdictRecord) -> tuple[Rubric, Trace, Shown] | None:
        """The rubric of a verdict, its trace up to the step or beyond, and the trace as a judge is shown it.

        Null where a part of it is missing. Raises ValueError or KeyError where one is damaged.
        """
        rubric = self._rubric(record.rubric_digest)
        found = self._trace(record, reasoning=rubric.shows_reasoning) if rubric else None
        if rubric is None or found is None:
            return None
        return rubric, found.trace, self._shown(found, reasoning=rubric.shows_reasoning)

    def _rubric(self, wanted: str) -> Rubric | None:
        if wanted not in self._rubrics:
            query = sa.select(schema.rubrics.c.content).where(schema.rubrics.c.digest == wanted)
            text = self._connection.scalar(query)
            try:
                self._rubrics[wanted] = None if text is None else Rubric.model_validate_json(text)
            except ValidationError:
                self._rubrics[wanted] = None
        return self._rubrics[wanted]

    def _trace(self, record: VerdictRecord, *, reasoning: bool) -> _Restored | None:
        """The trace up to the step, or beyond."""
        step, after = record.verdict.step, next_state(record.state_digest, record.step_digest)
        for each in self._restored:
            if len(each.states) > step and each.states[step] == after:
                return each
        stored = read_chain(self._connection, self._longest(after, record), None)
        if stored is None:
            return None
        trace = restored(*stored)
        found = _Restored(trace, states(trace, reasoning=reasoning)[0])
        self._restored = [found, *self._restored[: _TRACES - 1]]
        return found if len(found.states) > step and found.states[step] == after else None

    def _longest(self, state: str, record: VerdictRecord) -> str:
        """The last state of the trace that goes on from here, where it does not fork: it serves later verdicts too."""
        children = sa.select(schema.states.c.digest).where(schema.states.c.parent == sa.bindparam("parent")).limit(2)
        for _ in range(10_000):
            found = self._connection.scalars(children, {"parent": state}).all()
            if len(found) != 1:
                break
            state = found[0]
        return state

    def _shown(self, found: _Restored, *, reasoning: bool) -> Shown:
        if reasoning not in found.shown:
            fence = mark(bytes.fromhex(self._fence_key), found.states[0])
            found.shown[reasoning] = Shown(found.trace, fence, reasoning=reasoning)
        return found.shown[reasoning]


def record_faults(row: Mapping[str, JsonValue], again: Again) -> list[str]:
    """What is wrong with a row of verdicts, beside its seal."""
    try:
        record = VerdictRecord.model_validate_json(str(row["record"]))
    except ValidationError as error:
        return [f"its record cannot be read: {error.error_count()} errors"]
    verdict = record.verdict
    stated = {
        "verdict_id": verdict.verdict_id,
        "key": verdict.key,
        "created_at": record.created_at,
        "rubric": record.rubric,
        "rubric_digest": record.rubric_digest,
        "judge": verdict.judge,
        "cost_usd": verdict.spent.cost_usd,
    }
    faults = [f"its column {name} is not what its record says" for name, value in stated.items() if row[name] != value]
    if digest(record.judge) != record.judge_digest:
        faults.append("its judge's specification has another digest")
    if _key(record) != verdict.key:
        faults.append("its key does not follow from what it depends on")
    if fault := again.fault(record):
        faults.append(fault)
    return faults


def _key(record: VerdictRecord) -> str:
    """The verdict's key, made again from the record; as `Case.key` made it."""
    asked: list[JsonValue] = []
    if record.asked is not None:
        asked = [[[part.criterion, part.call] for part in record.asked]]
    return digest(
        [
            record.rubric_digest,
            record.prompt_version,
            record.judge_digest,
            record.state_digest,
            record.step_digest,
            record.sample,
            *json.loads(json.dumps(asked)),
        ]
    )

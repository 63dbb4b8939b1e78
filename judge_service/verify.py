"""To verify a ledger is to compute every digest and seal of it again, and to render every prompt again.

What it finds: any change to a row, a row that was removed or slipped in, and the order of records. What it cannot find:
a change by somebody who then made all later seals and the newest one anew; for that, note the newest seal elsewhere.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa
from pydantic import JsonValue, ValidationError

from judge_service import schema
from judge_service.removal import Act, Removed
from judge_service.seal import FIRST, Sealing, head, next_seal, row_digest
from judge_service.state import next_state
from judge_service.verify_record import Again, record_faults
from stepjudge.digest import digest
from stepjudge.rubric import Rubric
from stepjudge.value import Value

_TABLES = (
    schema.openings,
    schema.steps,
    schema.states,
    schema.rubrics,
    schema.verdicts,
    schema.labels,
    schema.acts,
    schema.seals,
)
_OF_KIND = {
    "verdict": (schema.verdicts, schema.verdicts.c.verdict_id),
    "label": (schema.labels, schema.labels.c.label_id),
    "act": (schema.acts, schema.acts.c.act_id),
    "meta": (schema.meta, schema.meta.c.name),
}


class Fault(Value):
    """A row that is not as it was written."""

    table: str
    row: str
    """The row's own id or digest."""
    fault: str


@dataclass
class Verification:
    """The verification of one ledger. Iterate over `faults`; the other figures are complete at its end."""

    engine: sa.Engine
    noted: str | None = None
    """A seal that was the newest one when somebody noted it: it must still be there."""
    checked: int = 0
    """Rows so far."""
    total: int = 0
    head: str = FIRST
    """The newest seal."""
    unrendered: int = 0
    """Verdicts whose prompts were made by another version of the code, so that they cannot be rendered again."""
    removed: int = 0
    """Records that retention removed."""
    _noted_seen: bool = False
    _acts: dict[str, Act] = field(default_factory=dict[str, Act])
    _removed: dict[str, Removed] = field(default_factory=dict[str, Removed])

    def faults(self) -> Iterator[Fault]:
        with self.engine.connect() as connection:
            counts = [sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in _TABLES]
            self.total = sum(connection.execute(sa.select(*counts)).one())
            yield from self._meta(connection)
            for table in (schema.openings, schema.steps):
                yield from self._contents(connection, table)
            yield from self._states(connection)
            yield from self._rubrics(connection)
            yield from self._act_rows(connection)
            yield from self._seals(connection)
            yield from self._labels(connection)
            yield from self._verdicts(connection)

    def _rows(self, connection: sa.Connection, query: sa.Select[*tuple[object, ...]]) -> Iterator[sa.RowMapping]:
        """The rows, a few at a time, so that memory does not grow with the ledger."""
        for row in connection.execution_options(yield_per=200).execute(query).mappings():
            self.checked += 1
            yield row

    def _meta(self, connection: sa.Connection) -> Iterator[Fault]:
        meta, seals = schema.meta, schema.seals
        value = connection.scalar(sa.select(meta.c.value).where(meta.c.name == "fence_key"))
        sealed = connection.scalar(sa.select(seals.c.content).where(seals.c.kind == "meta"))
        if value is None or digest(value) != sealed:
            yield Fault(table="meta", row="fence_key", fault="differs from what was sealed")

    def _contents(self, connection: sa.Connection, table: sa.Table) -> Iterator[Fault]:
        for row in self._rows(connection, sa.select(table)):
            found = f"sha256:{hashlib.sha256(row['content'].encode()).hexdigest()}"
            if found != row["digest"]:
                yield Fault(table=table.name, row=row["digest"], fault=f"its content has the digest {found}")

    def _states(self, connection: sa.Connection) -> Iterator[Fault]:
        states, parents = schema.states, schema.states.alias("parents")
        query = (
            sa.select(
                states.c.digest,
                states.c.parent,
                states.c.step,
                parents.c.digest.label("parent_there"),
                schema.steps.c.digest.label("step_there"),
                schema.openings.c.digest.label("opening_there"),
            )
            .outerjoin(parents, parents.c.digest == states.c.parent)
            .outerjoin(schema.steps, schema.steps.c.digest == states.c.step)
            .outerjoin(schema.openings, schema.openings.c.digest == states.c.digest)
        )
        for row in self._rows(connection, query):
            if fault := _state_fault(row):
                yield Fault(table="states", row=row["digest"], fault=fault)

    def _rubrics(self, connection: sa.Connection) -> Iterator[Fault]:
        for row in self._rows(connection, sa.select(schema.rubrics)):
            try:
                rubric = Rubric.model_validate_json(row["content"])
            except ValidationError as error:
                yield Fault(table="rubrics", row=row["digest"], fault=f"cannot be read: {error.error_count()} errors")
                continue
            if rubric.digest != row["digest"] or rubric.reference != row["reference"]:
                yield Fault(
                    table="rubrics",
                    row=row["digest"],
                    fault=f"holds {rubric.reference} with the digest {rubric.digest}",
                )

    def _act_rows(self, connection: sa.Connection) -> Iterator[Fault]:
        for row, content in self._sealed(connection, "act"):
            act_id = str(row["act_id"])
            if content != row_digest(row):
                yield Fault(table="acts", row=act_id, fault=_unlike(content))
            try:
                self._acts[act_id] = Act.model_validate_json(str(row["content"]))
            except ValidationError:
                yield Fault(table="acts", row=act_id, fault="cannot be read")

    def _seals(self, connection: sa.Connection) -> Iterator[Fault]:
        """The row of seals is unbroken, and every record that has one is there or was removed by a recorded act."""
        seals = schema.seals
        there = {kind: ids for kind, (_, ids) in _OF_KIND.items()}
        query = sa.select(seals, *(ids.label(f"{kind}_there") for kind, ids in there.items()))
        joined: sa.FromClause = seals
        for kind, (table, ids) in _OF_KIND.items():
            joined = joined.outerjoin(table, sa.and_(seals.c.kind == kind, ids == seals.c.reference))
        for row in self._rows(connection, query.select_from(joined).order_by(seals.c.sequence)):
            sealing = Sealing(row["kind"], row["reference"], row["content"])
            if next_seal(self.head, sealing) != row["seal"]:
                fault = f"the seal of {row['kind']} {row['reference']} does not follow from the one before it"
                yield Fault(table="seals", row=str(row["sequence"]), fault=fault)
            self.head = row["seal"]
            self._noted_seen |= self.head == self.noted
            if row.get(f"{row['kind']}_there") is not None:
                continue
            if row["removed_by"] not in self._acts:
                table = _OF_KIND[row["kind"]][0].name if row["kind"] in _OF_KIND else "seals"
                yield Fault(table=table, row=row["reference"], fault="was sealed, and is gone without a recorded act")
                continue
            self.removed += 1
            self._removed.setdefault(row["removed_by"], Removed()).add(row["reference"])
        if self.head != (stored := head(connection)):
            yield Fault(table="meta", row="head", fault=f"says {stored}, and the newest seal is {self.head}")
        if self.noted and not self._noted_seen:
            yield Fault(table="seals", row=self.noted, fault="the noted seal is not there: the ledger was made anew")
        for act_id, act in self._acts.items():
            if act.removed != self._removed.get(act_id, Removed()).value:
                fault = "what the act removed is not what lacks in the ledger"
                yield Fault(table="acts", row=act_id, fault=fault)

    def _labels(self, connection: sa.Connection) -> Iterator[Fault]:
        for row, content in self._sealed(connection, "label"):
            if content != row_digest(row):
                yield Fault(table="labels", row=str(row["label_id"]), fault=_unlike(content))

    def _verdicts(self, connection: sa.Connection) -> Iterator[Fault]:
        with self.engine.connect() as beside:
            again = Again(beside)
            for row, content in self._sealed(connection, "verdict"):
                faults = [_unlike(content)] if content != row_digest(row) else []
                faults += record_faults(row, again)
                if faults:
                    yield Fault(table="verdicts", row=str(row["verdict_id"]), fault="; ".join(faults))
            self.unrendered = again.unrendered

    def _sealed(self, connection: sa.Connection, kind: str) -> Iterator[tuple[Mapping[str, JsonValue], str | None]]:
        """Each row of a table with the content that its seal vouches for, in the order of writing."""
        table, ids = _OF_KIND[kind]
        seals = schema.seals
        query = sa.select(table, seals.c.content.label("sealed_content")).outerjoin(
            seals, sa.and_(seals.c.kind == kind, seals.c.reference == ids)
        )
        order = table.c.get("sequence")
        for row in self._rows(connection, query.order_by(ids if order is None else order)):
            plain = dict(row)
            content = plain.pop("sealed_content")
            yield plain, content


def _state_fault(row: sa.RowMapping) -> str | None:
    if row["parent"] is None:
        return None if row["opening_there"] else "its opening is missing"
    if next_state(row["parent"], str(row["step"])) != row["digest"]:
        return "it does not follow from its parent and its step"
    missing = [name for name in ("parent", "step") if row[f"{name}_there"] is None]
    return f"its {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing" if missing else None


def _unlike(content: str | None) -> str:
    return "has no seal: it was not written by the service" if content is None else "differs from what was sealed"

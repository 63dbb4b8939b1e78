"""A difference of two rubrics: what one has that the other has not, criterion by criterion and field by field."""

from typing import Literal

from pydantic import JsonValue

from stepjudge.rubric import Criterion, Rubric
from stepjudge.value import JsonObject, Value


class Change(Value):
    """One difference, with both sides in full. No change at all means one digest."""

    kind: Literal["added", "removed", "changed"]
    """`added` and `removed` are of whole criteria; a field has a value always, so it is `changed`."""
    criterion: str | None = None
    """Null for a field of the rubric itself."""
    field: str | None = None
    """Null for a whole criterion."""
    before: JsonValue = None
    after: JsonValue = None


def diff(a: Rubric, b: Rubric) -> tuple[Change, ...]:
    """What it takes to make `b` of `a`: the rubric's own fields, then criteria in the order of `a`, new ones last."""
    old = {criterion.name: criterion for criterion in a.criteria}
    new = {criterion.name: criterion for criterion in b.criteria}
    changes = [*_fields(_own(a), _own(b), None), *_order(list(old), list(new))]
    for name, criterion in old.items():
        if name in new:
            changes += _fields(_content(criterion), _content(new[name]), name)
        else:
            changes.append(Change(kind="removed", criterion=name, before=_content(criterion)))
    added = [criterion for name, criterion in new.items() if name not in old]
    return (
        *changes,
        *(Change(kind="added", criterion=criterion.name, after=_content(criterion)) for criterion in added),
    )


def _own(rubric: Rubric) -> JsonObject:
    scoring = rubric.scoring.model_dump(mode="json")
    own = rubric.model_dump(mode="json", exclude={"criteria", "scoring"})
    return {**own, **{f"scoring.{field}": value for field, value in scoring.items()}}


def _content(criterion: Criterion) -> JsonObject:
    return criterion.model_dump(mode="json")


def _order(old: list[str], new: list[str]) -> list[Change]:
    before: list[JsonValue] = [name for name in old if name in new]
    after: list[JsonValue] = [name for name in new if name in old]
    return [] if before == after else [Change(kind="changed", field="order of criteria", before=before, after=after)]


def _fields(old: JsonObject, new: JsonObject, criterion: str | None) -> list[Change]:
    return [
        Change(kind="changed", criterion=criterion, field=field, before=old[field], after=new[field])
        for field in old
        if old[field] != new[field]
    ]

"""A JSON fault is the first place of a document that is no JSON, and how to mend it."""

from collections.abc import Iterator, Mapping
from typing import cast

from stepjudge.formats.reading.limits import MAX_DEPTH

_Above = tuple[object, "_Above"] | None


def json_fault(document: object) -> str | None:
    """What is wrong and where; None where nothing is found, such as for a number with too many digits."""
    waiting: list[tuple[object, str, int, _Above]] = [(document, "", 0, None)]
    while waiting:
        value, place, level, above = waiting.pop()
        where = place.removeprefix(".") or "the document"
        if not isinstance(value, dict | list | tuple):
            if value is None or isinstance(value, str | int | float):
                continue
            return (
                f"{where}: is of type {type(value).__name__}, which is no JSON: make it text, a number, a list or an "
                "object; `json.loads(json.dumps(document, default=str))` makes text of whatever else there is"
            )
        if any(each is value for each in _all(above)):
            return f"{where}: holds itself: a document ends somewhere; leave the reference out"
        if level > MAX_DEPTH:
            return f"the document is nested more than {MAX_DEPTH} levels deep: no trace needs that; flatten or drop the deep part"
        try:
            inner = list(_inside(cast("object", value), place))
        except TypeError as error:
            return f"{where}: {error}"
        waiting += [(each, name, level + 1, (value, above)) for name, each in reversed(inner)]
    return None


def _inside(value: object, place: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, each in cast("Mapping[object, object]", value).items():
            if key is not None and not isinstance(key, str | int | float):
                raise TypeError(f"a key is of type {type(key).__name__}, which is no JSON: make it text")
            yield f"{place}.{key}", each
        return
    for number, each in enumerate(cast("list[object]", value)):
        yield f"{place}[{number}]", each


def _all(above: _Above) -> Iterator[object]:
    while above is not None:
        value, above = above
        yield value

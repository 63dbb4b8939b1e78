"""ATIF runs refer to each other: to sub-agents by id, path or (before 1.7) session, and to their own continuation."""

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.format import Origin
from stepjudge.formats.reading.shape import as_list, as_object, as_text, objects
from stepjudge.value import JsonObject

MAX_NESTING = 6
"""Sub-agents within sub-agents; deeper traces could not be written as one JSON document."""
_LOOKED_AT = 64


def is_run(value: JsonValue) -> bool:
    return is_of_atif(value) and isinstance(as_object(value).get("steps"), list)


def is_of_atif(value: JsonValue) -> bool:
    return isinstance(value, dict) and as_text(value.get("schema_version")).upper().startswith("ATIF-V")


def runs_in(document: JsonValue) -> list[JsonObject]:
    """The trajectories of a document: itself, the entries of a list, or the values of an object."""
    if is_run(document):
        return [as_object(document)]
    return list(_runs_among(document))


def _runs_among(document: JsonValue) -> Iterator[JsonObject]:
    for value in document if isinstance(document, list) else as_object(document).values():
        if is_run(value):
            yield as_object(value)
        else:
            yield from (each for each in objects(value) if is_run(each))


def looks_like_runs(document: JsonValue) -> bool:
    """As `runs_in`, from the first entries only."""
    if isinstance(document, dict):
        values = list(document.values())[:_LOOKED_AT]
        return is_run(document) or any(is_run(each) or is_run((as_list(each) or [None])[0]) for each in values)
    head = as_list(document)[:_LOOKED_AT]
    return bool(head) and all(is_run(each) for each in head)


def references_of(run: JsonObject) -> Iterator[JsonObject]:
    """All references to sub-agents that stand in the run's observations."""
    for step in objects(run.get("steps")):
        for result in objects(as_object(step.get("observation")).get("results")):
            yield from references_in(result)


def references_in(result: JsonObject) -> Iterator[JsonObject]:
    found = result.get("subagent_trajectory_ref")
    yield from objects(found if isinstance(found, list) else [found])


class Runs:
    """The runs that a reference may mean: those embedded in a run, those of the whole document, and files beside it."""

    def __init__(self, known: Iterable[JsonObject], origin: Origin, outer: "Runs | None" = None) -> None:
        self.known = tuple(known)
        self.origin = origin
        self._outer = outer
        self._beside: dict[str, list[JsonObject]] = {} if outer is None else outer._beside
        self._by_id = {each["trajectory_id"]: each for each in self.known if isinstance(each.get("trajectory_id"), str)}
        self._by_session: dict[str, list[JsonObject]] = {}
        for each in self.known:
            self._by_session.setdefault(as_text(each.get("session_id")), []).append(each)

    def within(self, run: JsonObject) -> "Runs":
        """Those that a run embeds come first."""
        embedded = tuple(objects(run.get("subagent_trajectories")))
        return Runs(embedded, self.origin, self) if embedded else self

    def find(self, reference: JsonObject, run: JsonObject) -> JsonObject | None:
        """The run that is referred to from another, if it is at hand."""
        scope: Runs | None = self
        while scope is not None:
            found = scope._find(reference, run)
            if found is not None:
                return found
            scope = scope._outer
        path = as_text(reference.get("trajectory_path"))
        beside = self.beside(path) if path else []
        return beside[0] if beside else None

    def beside(self, path: str) -> list[JsonObject]:
        """The runs in a file beside the document, which is read once."""
        if path not in self._beside:
            self._beside[path] = runs_in(self.origin.sibling(path))
        return self._beside[path]

    def _find(self, reference: JsonObject, run: JsonObject) -> JsonObject | None:
        """By id; by session where no id is given. Since 1.7 relatives may share a session, which then tells nothing."""
        id_ = as_text(reference.get("trajectory_id"))
        if id_:
            return self._by_id.get(id_)
        session = as_text(reference.get("session_id"))
        if not session or session == run.get("session_id"):
            return None
        same = self._by_session.get(session, [])
        return same[0] if len(same) == 1 else None

    def roots(self) -> list[JsonObject]:
        """The runs that no other run refers to; all of them when they refer to each other in a circle."""
        referred: set[int] = set()
        for run in self.known:
            among = self.within(run)
            found = (among.find(reference, run) for reference in references_of(run))
            referred.update(id(each) for each in found if each is not None and each is not run)
        return [run for run in self.known if id(run) not in referred] or list(self.known)

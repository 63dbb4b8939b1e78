"""ATIF, the Agent Trajectory Interchange Format, versions 1.0 to 1.8: a list of system, user and agent steps.

Specification: RFC 0001 "Agent Trajectory Interchange Format" of the Harbor framework, v1.8. Read are a trajectory, and a
list or an object that holds several (a run with its sub-agents). ATIF has no field for errors: the signals that
producers put into `extra` are read, and where there is none the trace says so by null.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.atif_runs import MAX_NESTING, Runs, is_of_atif, looks_like_runs, references_in, runs_in
from stepjudge.formats.reading.atif_step import tell
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.shape import (
    as_amount,
    as_count,
    as_list,
    as_object,
    as_text,
    identifier,
    objects,
    rest,
    text_or_none,
    with_fields,
)
from stepjudge.trace import Trace, Usage
from stepjudge.value import JsonObject

_NAME = "atif"
_VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
_MAX_SEGMENTS = 1000
_IN_TRACE = ("agent", "steps", "final_metrics", "subagent_trajectories", "continued_trajectory_ref", "trajectory_id")
_IN_AGENT = ("name", "model_name", "tool_definitions")
_IN_TOTALS = ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd")


def detect(document: JsonValue) -> Fit:
    if looks_like_runs(document):
        return Fit("certain")
    if is_of_atif(document):
        return Fit("near", "its schema_version is ATIF's, but it has no `steps`")
    first = as_object((as_list(as_object(document).get("steps")) or [None])[0])
    if first.get("source") in ("system", "user", "agent"):
        return Fit("near", "its steps have a `source`, but `schema_version` does not start with 'ATIF-v'")
    return NO_FIT


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    runs = Runs(tuple(runs_in(document)) or (as_object(document),), origin)
    is_bundle = isinstance(document, dict) and all(run is not document for run in runs.known)
    beside = [key for key, value in as_object(document).items() if is_bundle and not runs_in([value])]
    placed: set[int] = set()
    for run in runs.roots():
        reading = _Reading(runs, (id(run),), placed)
        if beside:
            reading.draft.note(f"what stands beside the trajectories was left out: {', '.join(beside)}")
        yield reading.trace(run)


class _Reading:
    """Reads one run with its continuations. `path` holds the runs that led to it and itself, to stop at a circle;
    `placed` the sub-agents' runs of the document that have their call: a run happened once, so it is told once."""

    def __init__(self, runs: Runs, path: tuple[int, ...], placed: set[int]) -> None:
        self.draft = Draft(_NAME)
        self._runs = runs
        self._path = path
        self._placed = placed

    def trace(self, run: JsonObject) -> Trace:
        segments = list(self._segments(run))
        agent = as_object(run.get("agent"))
        for definition in as_list(agent.get("tool_definitions")):
            self.draft.tool(definition)
        for segment in segments:
            self._tell(segment)
        return self.draft.build(
            trace_id=identifier(run.get("trajectory_id")) or identifier(run.get("session_id")),
            agent=text_or_none(agent.get("name")),
            model=text_or_none(agent.get("model_name")),
            usage=_usage(_totals(segments)),
            final_output=text_or_none(as_object(run.get("extra")).get("final_output")),
            extra=with_fields(
                rest(run, *_IN_TRACE),
                agent=rest(agent, *_IN_AGENT),
                final_metrics=rest(_totals(segments), *_IN_TOTALS),
            ),
            may_be_empty=len(self._path) > 1,
        )

    def _segments(self, run: JsonObject) -> Iterator[JsonObject]:
        """The run and its continuations in other files."""
        seen: set[str] = set()
        while True:
            yield run
            if run.get("schema_version") not in _VERSIONS:
                self.draft.note(f"its schema_version is {run.get('schema_version')!r}, not one of 1.0 to 1.8")
            reference = as_text(run.get("continued_trajectory_ref"))
            if not reference:
                break
            following = [] if reference in seen else self._runs.beside(reference)
            if len(following) != 1 or len(seen) == _MAX_SEGMENTS:
                self.draft.note(f"the run goes on in {reference!r}, which was not at hand: the trace ends before it")
                break
            seen.add(reference)
            run = following[0]
        if seen:
            self.draft.note(
                f"read from {len(seen) + 1} files; totals of tokens and cost are those that the last states"
            )

    def _tell(self, run: JsonObject) -> None:
        runs = self._runs.within(run)
        for step in as_list(run.get("steps")):
            if isinstance(step, dict):
                tell(self.draft, step, lambda result: self._subtraces(result, runs, run))
            else:
                self.draft.note("an entry of `steps` that is no object was left out")
        for embedded in objects(run.get("subagent_trajectories")):
            if id(embedded) not in self._placed:
                name = as_text(embedded.get("trajectory_id")) or as_text(embedded.get("session_id"))
                self.draft.note(f"the run of sub-agent {name!r} belongs to no call and was left out")

    def _subtraces(self, result: JsonObject, runs: Runs, run: JsonObject) -> list[Trace]:
        found: list[Trace] = []
        for reference in references_in(result):
            child = runs.find(reference, run)
            name = next((as_text(value) for value in reference.values() if isinstance(value, str)), "")
            if child is None:
                self.draft.note(f"the run of sub-agent {name!r} was not at hand")
            elif id(child) in self._path or len(self._path) > MAX_NESTING:
                self.draft.note(f"the run of sub-agent {name!r} leads back to this one, or is nested too deeply")
            elif id(child) in self._placed:
                self.draft.note(f"the run of sub-agent {name!r} stands under another call already")
            else:
                self._placed.add(id(child))
                found.append(_Reading(runs, (*self._path, id(child)), self._placed).trace(child))
        return found


def _totals(segments: list[JsonObject]) -> JsonObject:
    return as_object(segments[-1].get("final_metrics"))


def _usage(totals: JsonObject) -> Usage | None:
    usage = Usage(
        prompt_tokens=as_count(totals.get("total_prompt_tokens")),
        cached_tokens=as_count(totals.get("total_cached_tokens")),
        completion_tokens=as_count(totals.get("total_completion_tokens")),
        cost_usd=as_amount(totals.get("total_cost_usd")),
    )
    return None if usage == Usage() else usage


FORMAT = Format(
    name=_NAME,
    title="ATIF (Agent Trajectory Interchange Format) 1.0 to 1.8, with sub-agents and continuations",
    detect=detect,
    read=read,
)

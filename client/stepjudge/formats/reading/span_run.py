"""A run is read from its spans: model spans are emissions, tool spans give their results, sub-agents nest below tools."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.attempts import with_steps
from stepjudge.formats.reading.conversation import tell_log
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.emission import Emission, Execution, called_by
from stepjudge.formats.reading.shape import with_fields
from stepjudge.formats.reading.span_tree import Kind, Placed, SpanTree
from stepjudge.formats.reading.spans import Span
from stepjudge.trace import Trace, Usage

_MAX_NESTING = 16
_NO_MODELS = (
    "the export has no model spans: each span that ran tools is a step. What the model said is not in it, nor are steps "
    "without calls and calls that the harness refused"
)


@dataclass(frozen=True)
class Dialect:
    """How spans of one format are understood."""

    source_format: str
    kind: Callable[[Span], Kind]
    emission: Callable[[Span], Emission]
    execution: Callable[[Span], Execution]
    tools: Callable[[Span], Iterable[JsonValue]]
    """The definitions of the tools that a model span was offered, or that a tool span ran."""
    agent: Callable[[Span], str | None]
    """The name of the agent of an agent span, or of the harness of an outermost span."""
    usage: Callable[[Span], Usage | None]
    """Totals that an outermost span states."""


def traces(spans: Iterable[Span], dialect: Dialect) -> Iterator[Trace]:
    """One for each trace id, in the order they come in."""
    by_trace: dict[str, list[Span]] = {}
    for span in spans:
        by_trace.setdefault(span.trace, []).append(span)
    trees = [(trace, SpanTree(each, dialect.kind)) for trace, each in by_trace.items()]
    runs = [(trace, tree) for trace, tree in trees if {"model", "tool"} & set(tree.kinds)]
    if not runs:
        raise UnreadableTrace("no span is of a model or of a tool: there is no agent's run in it")
    yield from with_steps(partial(_trace, trace, tree, dialect, len(trees) - len(runs)) for trace, tree in runs)


def _trace(trace: str, tree: SpanTree, dialect: Dialect, others: int) -> Trace:
    reading = _Reading(tree, dialect, None, 0)
    if others:
        reading.draft.note(f"{others} traces of the export are no agents' runs and were left out")
    return reading.trace(trace or None)


def sub_run(tree: SpanTree, dialect: Dialect, below: int) -> Trace:
    """The run of a sub-agent below a span."""
    return _Reading(tree, dialect, below, 1).trace(tree.spans[below].id or None)


class _Reading:
    def __init__(self, tree: SpanTree, dialect: Dialect, below: int | None, level: int) -> None:
        self.draft = Draft(dialect.source_format)
        self._tree = tree
        self._dialect = dialect
        self._below = below
        self._level = level

    def trace(self, trace_id: str | None) -> Trace:
        run = self._tree.run(self._below)
        models = [each for each in run if each.kind == "model"]
        self._tell_tools(models or run)
        log = [entry for each in run for entry in self._entries(each)] if models else self._without_models(run)
        tell_log(self.draft, log)
        aside = self._tree.kinds.count("aside") if self._below is None else 0
        if aside:
            self.draft.note(f"{aside} spans that judge or guard the agent were left out, with what is below them")
        roots = self._tree.roots(self._below)
        named = [name for root in roots for span in (root, *_agents(run)) if (name := self._dialect.agent(span))]
        emitted = (entry.model for entry in log if isinstance(entry, Emission) and entry.model)
        return self.draft.build(
            trace_id=trace_id,
            agent=next(iter(named), None),
            model=next(emitted, None),
            usage=next((usage for root in roots if (usage := self._dialect.usage(root))), None),
            extra=with_fields({}, resource=roots[0].resource) if roots else None,
            may_be_empty=self._below is not None,
        )

    def _tell_tools(self, models: list[Placed]) -> None:
        """Each once, though every span states them all."""
        told: list[JsonValue] = []
        for each in models:
            for definition in self._dialect.tools(each.span):
                if definition not in told:
                    told.append(definition)
                    self.draft.tool(definition)

    def _entries(self, placed: Placed) -> Iterator[Emission | Execution]:
        if placed.kind == "tool":
            yield self._execution(placed)
            return
        emission = self._dialect.emission(placed.span)
        if emission.said is None and placed.span.failed:
            self.draft.note(f"a model call failed and is no step: {placed.span.error[:200]}")
            return
        agent = self._dialect.agent(placed.agent) if placed.agent is not None else None
        yield replace(emission, agent=emission.agent or agent, started_at=emission.started_at or placed.span.started_at)

    def _execution(self, placed: Placed) -> Execution:
        execution = self._dialect.execution(placed.span)
        if not self._tree.has_models(placed.place):
            return execution
        if self._level >= _MAX_NESTING:
            self.draft.note(f"sub-agents nested more than {_MAX_NESTING} levels deep were left out")
            return execution
        reading = _Reading(self._tree, self._dialect, placed.place, self._level + 1)
        return replace(execution, subtraces=(reading.trace(placed.span.id or None),))

    def _without_models(self, run: list[Placed]) -> list[Emission | Execution]:
        self.draft.note(_NO_MODELS)
        by_parent: dict[str, list[Placed]] = {}
        for each in run:
            by_parent.setdefault(self._tree.parent(each), []).append(each)
        log: list[Emission | Execution] = []
        for tools in by_parent.values():
            agent = self._dialect.agent(tools[0].agent) if tools[0].agent is not None else None
            executions = [self._execution(each) for each in tools]
            log.append(Emission(called_by(executions), agent=agent, started_at=tools[0].span.started_at))
            log += executions
        return log


def _agents(run: list[Placed]) -> list[Span]:
    return [each.agent for each in run if each.agent is not None]

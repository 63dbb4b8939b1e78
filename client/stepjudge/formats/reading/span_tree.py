"""A span tree says who ran what: the model and tool spans of a run, and those below a tool, which are a sub-agent's."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from stepjudge.formats.reading.spans import Span

Kind = Literal["model", "tool", "agent", "aside", "other"]
"""`aside`: what judges or guards the agent, and is no part of its run."""


@dataclass(frozen=True)
class Placed:
    """A model or tool span of a run, with the agent around it."""

    place: int
    """In the list of spans: ids may repeat."""
    span: Span
    kind: Kind
    agent: Span | None


class SpanTree:
    """The spans of one trace."""

    def __init__(self, spans: Sequence[Span], kind: Callable[[Span], Kind]) -> None:
        self.spans = spans
        self.kinds: list[Kind] = [kind(span) for span in spans]
        self._children: defaultdict[str, list[int]] = defaultdict(list[int])
        known = {span.id for span in spans if span.id}
        self._roots: list[int] = []
        for place, span in enumerate(spans):
            if span.parent in known and span.parent != span.id:
                self._children[span.parent or ""].append(place)
            else:
                self._roots.append(place)

    def run(self, below: int | None = None) -> list[Placed]:
        """What belongs to the run itself, in order of time: of the whole trace, or of what is below a span."""
        placed = list(self._placed(self._roots if below is None else self._below(below)))
        if below is None:
            placed += self._placed(self._circular())
        return sorted(placed, key=lambda each: (each.span.started, each.place))

    def has_models(self, below: int) -> bool:
        return any(each.kind == "model" for each in self._walked(self._below(below)))

    def roots(self, below: int | None = None) -> list[Span]:
        """The outermost spans."""
        return [self.spans[place] for place in (self._roots if below is None else self._below(below))]

    def parent(self, placed: Placed) -> str:
        return placed.span.parent or ""

    def _circular(self) -> list[int]:
        """Model and tool spans that no outermost span leads to, since their parents go in a circle."""
        reached, ahead = set[int](), list(self._roots)
        while ahead:
            place = ahead.pop()
            if place not in reached:
                reached.add(place)
                ahead += self._below(place)
        return [n for n, kind in enumerate(self.kinds) if n not in reached and kind in ("model", "tool")]

    def _below(self, place: int) -> list[int]:
        return self._children.get(self.spans[place].id, [])

    def _placed(self, starts: list[int]) -> Iterator[Placed]:
        for each in self._walked(starts, into_tools=False):
            if each.kind in ("model", "tool"):
                yield each

    def _walked(self, starts: list[int], *, into_tools: bool = True) -> Iterator[Placed]:
        """A model span within another one is the same emission, recorded by two instrumentations: the outer counts."""
        seen: set[int] = set()
        ahead: list[tuple[int, Span | None, bool]] = [(place, None, False) for place in reversed(starts)]
        while ahead:
            place, agent, in_model = ahead.pop()
            kind = self.kinds[place]
            if place in seen or kind == "aside":
                continue
            seen.add(place)
            span = self.spans[place]
            if not (kind == "model" and in_model):
                yield Placed(place, span, kind, agent)
            if kind == "tool" and not into_tools:
                continue
            inner = span if kind == "agent" else agent
            ahead += [(child, inner, in_model or kind == "model") for child in reversed(self._below(place))]

"""A quoted passage is a text of the trace in which quotes are marked where they stand; every character is visible, long ones are cut."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from stepjudge.visible import visible

HEAD, TAIL = 6_000, 2_000
"""Of a longer passage, these characters are shown at first."""
MORE = 20_000
"""And so many at a time when somebody wants to read on."""

_AROUND = 160
_MOST_MARKS = 50


@dataclass(frozen=True)
class Citation:
    """A quote of an answer."""

    place: str
    quote: str
    criterion: str
    number: int
    """Among all quotes of the verdict, from 1."""


@dataclass(frozen=True)
class Segment:
    text: str
    cited: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Passage:
    place: str
    """`s3.c1.result`: also its anchor on the page."""
    segments: tuple[Segment, ...]
    length: int
    """Characters of the whole text."""
    rest: tuple[Segment, ...] = ()
    """The end, where the middle is left out."""
    hidden: int = 0
    """Characters left out."""
    excerpts: tuple[tuple[Segment, ...], ...] = ()
    """Quotes that stand in what is left out, with the words around them."""
    found: frozenset[int] = field(default_factory=frozenset[int])
    """Numbers of the citations that stand in the text."""

    @property
    def long(self) -> bool:
        """Whether it scrolls in a box."""
        return sum(len(segment.text) for segment in self.segments) > 1_500 or (
            sum(segment.text.count("\n") for segment in self.segments) > 24
        )


def passage(place: str, text: str, citations: Sequence[Citation] = ()) -> Passage:
    """The text at its place, with the citations of that place marked."""
    shown = visible(text)
    spans = [
        (*span, cited)
        for cited in citations[:_MOST_MARKS]
        if cited.place == place and (span := _span(shown, cited.quote))
    ]
    found = frozenset(cited.number for _, _, cited in spans)
    if len(shown) <= HEAD + TAIL + 1_000:
        return Passage(place, _segments(shown, 0, len(shown), spans), len(shown), found=found)
    end = len(shown) - TAIL
    inside = [span for span in spans if span[1] > HEAD and span[0] < end]
    excerpts = tuple(
        _segments(shown, max(HEAD, start - _AROUND), min(end, stop + _AROUND), spans) for start, stop, _ in inside
    )
    return Passage(
        place,
        _segments(shown, 0, HEAD, spans),
        len(shown),
        rest=_segments(shown, end, len(shown), spans),
        hidden=end - HEAD,
        excerpts=excerpts,
        found=found,
    )


def slice_of(text: str, start: int) -> tuple[str, int | None]:
    """The next piece of a long text, and where the one after it begins; null at the end."""
    shown = visible(text)
    stop = min(len(shown), start + MORE)
    return shown[start:stop], stop if stop < len(shown) else None


def _span(text: str, quote: str) -> tuple[int, int] | None:
    """Where a quote stands, white space folded as when it was checked."""
    pieces = visible(quote).split()
    if not pieces:
        return None
    exact = text.find(quote)
    if exact >= 0:
        return exact, exact + len(quote)
    found = re.search(r"\s+".join(map(re.escape, pieces)), text)
    return found.span() if found else None


def _segments(text: str, start: int, stop: int, spans: Sequence[tuple[int, int, Citation]]) -> tuple[Segment, ...]:
    cuts = {start, stop, *(min(max(at, start), stop) for span in spans for at in span[:2])}
    return tuple(
        Segment(text[left:right], tuple(cited for begin, end, cited in spans if begin <= left and right <= end))
        for left, right in pairwise(sorted(cuts))
    )

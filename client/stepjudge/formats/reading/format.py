"""A format is one way harnesses write traces down: how to recognise it, and how to read it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from stepjudge.formats.reading.tree import Tree
from stepjudge.trace import Trace

Level = Literal["none", "near", "possible", "likely", "certain"]
_LEVELS: tuple[Level, ...] = ("none", "near", "possible", "likely", "certain")


@dataclass(frozen=True)
class Fit:
    """How well a document fits a format, and why."""

    level: Level
    """`certain`: it carries the format's own mark. `likely`: it has what only this format has. `possible`: its shape
    fits and nothing speaks against it. `near`: no, but it looks like an attempt. `none`: no."""
    why: str = ""
    """For `near`, what is wrong: the reader of the error message mends it by this."""

    @property
    def strength(self) -> int:
        return _LEVELS.index(self.level)

    @property
    def fits(self) -> bool:
        return self.strength >= _LEVELS.index("possible")


NO_FIT = Fit("none")


def _nothing(path: str) -> JsonValue:
    del path
    return None


@dataclass(frozen=True)
class Origin:
    """Where a document comes from."""

    name: str = "document"
    """As messages tell it: the file, and the line or the place in it."""
    sibling: Callable[[str], JsonValue] = _nothing
    """The document in a file beside this one, by its relative path; null where there is none. Never leaves the folder."""


@dataclass(frozen=True)
class Format:
    """What a format module exports as `FORMAT`."""

    name: str
    """As in `--format`: lower case, words joined by `-`."""
    title: str
    """What people call it, with the versions that are read."""
    detect: Callable[[JsonValue], Fit]
    """Called on every document: cheap, looks at its first entries only, never raises."""
    read: Callable[[JsonValue, Origin], Iterable[Trace]]
    """The traces of a document. Raises UnreadableTrace and nothing else, whatever the document."""
    unpack: Callable[[Tree], Iterator[JsonValue] | None] | None = None
    """Where a run is stored as a folder or a zip: the documents to `read`, or null when this is none of the format's."""

"""A grouping merges consecutive steps into one scored unit by a named rule; by default every step is its own unit."""

import re
import shlex
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeGuard

from pydantic import JsonValue

from stepjudge.trace import Call, Step
from stepjudge.value import JsonObject

Grouping = Literal["none", "consecutive-reads"]

_PATHS = ("path", "file_path", "filepath", "filename", "file", "absolute_path", "uri")
_RANGES = (
    ("view_range", None),
    ("line_range", None),
    ("start_line", "end_line"),
    ("start", "end"),
    ("offset", "limit"),
)
_WRITTEN = {"content", "new_content", "text", "new_text", "file_text", "code", "patch", "diff", "insert", "edits"} | {
    *("new_str", "old_str", "new_string", "old_string", "replacement")
}
_SED = re.compile(r"(\d{1,9})(?:,(\d{1,9}))?p")
_SHELL = re.compile(r"[;&|<>$`\n]")


class Read(NamedTuple):
    """A view of lines `first`..`last` of one file."""

    tool: str
    path: str
    first: int
    last: int


def groups(steps: Sequence[Step], grouping: Grouping) -> tuple[tuple[int, ...], ...]:
    """Step indices by scored unit, in order. `steps` are the scored ones, ascending.

    `consecutive-reads` merges neighbouring steps of one turn that each make one call which views a range of lines of
    the same file with the same tool, where a range starts at or before the line after the end of what the unit has
    seen so far, after its start, and ends after its end: reading on, not reading again.
    """
    units: list[list[int]] = []
    seen: Read | None = None
    previous: Step | None = None
    for step in steps:
        read = range_read(step) if grouping == "consecutive-reads" else None
        if read and seen and previous and _follows(previous, step) and _reads_on(seen, read):
            units[-1].append(step.index)
            seen = seen._replace(last=read.last)
        else:
            units.append([step.index])
            seen = read
        previous = step
    return tuple(tuple(unit) for unit in units)


def range_read(step: Step) -> Read | None:
    """The range view that is all this step does; null when it does anything else."""
    if len(step.calls) != 1:
        return None
    call = step.calls[0]
    arguments = call.arguments or {}
    return _structured_read(call, arguments) or _sed_read(call, arguments)


def _follows(previous: Step, step: Step) -> bool:
    return step.index == previous.index + 1 and step.turn == previous.turn


def _reads_on(seen: Read, read: Read) -> bool:
    same = (read.tool, read.path) == (seen.tool, seen.path)
    return same and seen.first < read.first <= seen.last + 1 and seen.last < read.last


def _structured_read(call: Call, arguments: JsonObject) -> Read | None:
    path = next((value for key in _PATHS if isinstance(value := arguments.get(key), str)), None)
    bounds = next((found for keys in _RANGES if (found := _bounds(arguments, *keys))), None)
    if path is None or bounds is None or _writes(arguments):
        return None
    return Read(call.name, path, *bounds)


def _bounds(arguments: JsonObject, first_key: str, last_key: str | None) -> tuple[int, int] | None:
    value = arguments.get(first_key)
    first, last = (
        (value if isinstance(value, list) and len(value) == 2 else (None, None))
        if last_key is None
        else (value, arguments.get(last_key))
    )
    if not _is_line(first) or not _is_line(last):
        return None
    if last_key == "limit":
        last = first + last - 1
    return (first, last) if 0 <= first <= last else None


def _is_line(value: JsonValue) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _writes(arguments: JsonObject) -> bool:
    """Whether an editor tool is told to do anything but view; its range then is not a read."""
    command = arguments.get("command")
    told = isinstance(command, str) and command not in ("view", "read", "open")
    return told or not _WRITTEN.isdisjoint(arguments)


def _sed_read(call: Call, arguments: JsonObject) -> Read | None:
    """`sed -n '420,450p' FILE`, how agents with nothing but a shell view a range."""
    command = next((value for key in ("command", "cmd") if isinstance(value := arguments.get(key), str)), None)
    if command is None or len(command) > 1_000 or _SHELL.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) != 4 or words[:2] != ["sed", "-n"] or not (match := _SED.fullmatch(words[2])):
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return Read(call.name, words[3], first, last) if first <= last else None

"""A strip draws a trial's steps in a row: up for a pass, down for a bad step, a dot between, hollow where untold."""

from collections.abc import Sequence
from dataclasses import dataclass

from stepjudge.report.mark import TONES, Mark

HEIGHT = 16

# Shape says what colour says, for those who cannot tell the colours apart: top and height of each mark
_SHAPES = {"pass": (0, 8), "idle": (6, 4), "bad": (8, 8), "unknown": (3, 10), "unjudged": (7, 2)}


@dataclass(frozen=True)
class Strip:
    """Paths of an SVG that is `width` by `HEIGHT`, one for each tone, and one for recoveries."""

    width: int
    paths: dict[str, str]


def strip(marks: Sequence[Mark]) -> Strip:
    """One path per tone, because thousands of shapes would be slow."""
    paths = {
        tone: "".join(_bar(number, *_SHAPES[tone]) for number, mark in enumerate(marks) if mark.tone == tone)
        for tone in TONES
    }
    paths["recovered"] = "".join(
        f"M{5 * number} 14l2 -3l2 3z" for number, mark in enumerate(marks) if "recovered" in mark.flags
    )
    return Strip(5 * max(len(marks), 1), {tone: path for tone, path in paths.items() if path})


def _bar(number: int, top: int, height: int) -> str:
    return f"M{5 * number} {top}h4v{height}h-4z"

"""The published reading of the first five calls of pytest-5262: valid; a redundant view; recovered by grep; valid."""

from typing import Any

from scripted import Scripted

TRACE = "examples/pytest-5262"


def published(step: int, _unit: str, criterion: str) -> str | dict[str, Any]:
    """Step 2 views a whole file where a grep was to be had; step 3 narrows down and thereby fixes it."""
    if criterion == "recovery":
        return {"answer": "yes", "fixes": [2]} if step == 3 else "not_applicable"
    return "no" if (step, criterion) == (2, "useful") else "yes"


PUBLISHED = Scripted(published)

"""Plain is what a host hands over as JSON: its messages, rows and runs are objects of many kinds."""

from typing import Any

from pydantic_core import to_jsonable_python

from stepjudge.errors import NotScored


def plain(value: object) -> Any:
    """Models and dataclasses as objects, times and ids as text; what has no JSON at all is named as such.

    Raises NotScored where an object holds itself, or is nested too deeply.
    """
    try:
        return to_jsonable_python(value, serialize_unknown=True, inf_nan_mode="constants")
    except (ValueError, RecursionError) as error:
        raise NotScored("unreadable", f"this cannot be written as JSON: {error}") from error

"""A callable target is an async function of the user's own, named `module:function` on the command line and nowhere
else: a suite or a target file that came from somebody must not be able to import code."""

import importlib
import inspect
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stepjudge.targets.target import Assignment, BadTarget, Delivery
from stepjudge.value import JsonObject

Function = Callable[[Assignment], Awaitable[Delivery | str]]

NAMED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


class CallableTarget:
    """Calls `function(assignment)`, which returns the final output or a whole Delivery."""

    def __init__(self, function: Function, name: str | None = None) -> None:
        self._function = function
        self._name = name or f"{function.__module__}:{getattr(function, '__qualname__', type(function).__name__)}"

    @property
    def specification(self) -> JsonObject:
        return {"name": self._name, "kind": "callable"}

    async def attempt(self, assignment: Assignment) -> Delivery:
        returned: Any = await self._function(assignment)
        if isinstance(returned, Delivery):
            return returned
        if isinstance(returned, str) or returned is None:
            return Delivery(output_text=returned)
        try:
            return Delivery.model_validate(returned)
        except ValidationError as error:
            raise BadTarget(
                f"{self._name} returned a {type(returned).__name__} that is no Delivery: {error}"
            ) from error


def imported(name: str) -> CallableTarget:
    """The target `module:function`; modules in the current folder are found too."""
    match = NAMED.fullmatch(name)
    if match is None:
        raise BadTarget(f"{name!r} is no callable: write module:function")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(match[1])
        for part in match[2].split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise BadTarget(f"{name}: cannot be imported: {error}") from error
    if inspect.isroutine(found) and not inspect.iscoroutinefunction(found):
        raise BadTarget(f"{name} is no async function: define it with 'async def {match[2]}(assignment)'")
    return CallableTarget(found, name)

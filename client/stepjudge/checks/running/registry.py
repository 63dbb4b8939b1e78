"""The registry finds checks: every subclass of `Check` in a module of `stepjudge.checks`, by its `kind`."""

import difflib
import importlib
import pkgutil
from functools import cache
from types import ModuleType

from pydantic import ValidationError

from stepjudge.checks.check import BadCheck, Check
from stepjudge.value import JsonObject


@cache
def checks() -> dict[str, type[Check]]:
    """The checks by kind."""
    package = importlib.import_module("stepjudge.checks")  # not at the top: the package imports this module
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
        if not module.ispkg
    ]
    found = [check for module in modules for check in _defined_in(module)]
    return {_kind(check): check for check in sorted(found, key=_kind)}


def kinds() -> tuple[str, ...]:
    """What `kind` may be."""
    return tuple(checks())


def read_check(document: JsonObject) -> Check:
    """The check that the document describes. Raises BadCheck, which names the field and what it may be."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in checks():
        raise BadCheck(_unknown(kind))
    try:
        return checks()[kind].model_validate(document)
    except ValidationError as error:
        raise BadCheck("; ".join(_fault(kind, fault["loc"], fault["msg"]) for fault in error.errors())) from error


def _defined_in(module: ModuleType) -> list[type[Check]]:
    return [
        each
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, Check)
        and each.__module__ == module.__name__
        and each is not Check
    ]


def _kind(check: type[Check]) -> str:
    return str(check.model_fields["kind"].default)


def _unknown(kind: object) -> str:
    near = difflib.get_close_matches(str(kind), kinds(), n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    said = "kind: missing." if kind is None else f"kind: there is no check {kind!r}.{meant}"
    return f"{said} Known kinds are {', '.join(kinds())}."


def _fault(kind: str, place: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, place)) or kind
    fields = ", ".join(checks()[kind].model_fields)
    known = f" (a {kind!r} check has {fields})" if message == "Extra inputs are not permitted" else ""
    return f"{where}: {message.removeprefix('Value error, ')}{known}"

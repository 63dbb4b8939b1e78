"""The registry finds formats: every module of `stepjudge.formats` that exports `FORMAT` is one."""

import importlib
import pkgutil
from functools import cache

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.format import Format


@cache
def formats() -> tuple[Format, ...]:
    """All formats, by name."""
    package = importlib.import_module("stepjudge.formats")  # not at the top: the package imports this module
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
        if not module.ispkg
    ]
    found = [module.FORMAT for module in modules if isinstance(getattr(module, "FORMAT", None), Format)]
    return tuple(sorted(found, key=lambda each: each.name))


def named(name: str) -> Format:
    for each in formats():
        if each.name == name:
            return each
    names = ", ".join(each.name for each in formats())
    raise UnreadableTrace(f"no format is named {name!r}: choose one of {names}, or name none and let it be detected")

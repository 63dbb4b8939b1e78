"""A call text is how a prompted model writes calls: Python's syntax, such as `[look(q="a"), go(n=1)]`."""

import ast
from collections.abc import Sequence
from typing import cast

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.cleaning import clean
from stepjudge.formats.reading.emission import Asked
from stepjudge.value import JsonObject

_MAX_LENGTH = 20_000
_FENCES = ("python", "json", "tool_code", "")


def calls_in(text: str) -> list[Asked]:
    """The calls, when the text is nothing but calls. Arguments without names, or which are no literals, stay as text."""
    tree = _parsed(_unfenced(text))
    if tree is None:
        return []
    nodes = tree.elts if isinstance(tree, ast.List | ast.Tuple) else [tree]
    calls = [_call(node) for node in nodes]
    found = [each for each in calls if each is not None]
    return found if len(found) == len(nodes) else []


def _unfenced(text: str) -> str:
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and len(bare) > 6:
        inner = bare[3:-3]
        language, _, rest = inner.partition("\n")
        bare = rest if language.strip() in _FENCES and rest else inner
    return bare.strip().strip("`")


def _parsed(text: str) -> ast.expr | None:
    if not text or len(text) > _MAX_LENGTH:
        return None
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _call(node: ast.expr) -> Asked | None:
    if not isinstance(node, ast.Call):
        return None
    try:
        name = ast.unparse(node.func)
        written = ", ".join(ast.unparse(each) for each in (*node.args, *node.keywords))
    except (RecursionError, ValueError):  # the latter of a number with too many digits
        return None
    if not name.replace(".", "").replace("_", "").isalnum():
        return None
    arguments = None if node.args else _arguments(node.keywords)
    return Asked(name, written if arguments is None else arguments)


def _arguments(keywords: list[ast.keyword]) -> JsonObject | None:
    """Null when a value is no literal, or none of JSON's."""
    values: JsonObject = {}
    for each in keywords:
        if each.arg is None:
            return None
        try:
            parsed = clean(_listed(ast.literal_eval(each.value)))
        except (UnreadableTrace, ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return None
        if parsed.notes:
            return None
        values[each.arg] = parsed.value
    return values


def _listed(value: object) -> object:
    """JSON has no tuples."""
    if isinstance(value, tuple | list):
        return [_listed(each) for each in cast("Sequence[object]", value)]  # a literal holds anything
    if isinstance(value, dict):
        return {str(key): _listed(each) for key, each in cast("dict[object, object]", value).items()}
    if isinstance(value, str | int | float | None):
        return value
    raise TypeError(f"{type(value).__name__} is not of JSON")

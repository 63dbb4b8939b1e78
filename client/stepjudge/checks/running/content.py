# pyright: basic
"""Content is what a JSON, YAML or TOML text says, as one JSON value. No text can take the machine."""

import json
import math
import tomllib
from collections.abc import Iterable
from datetime import date, time
from typing import Literal

import yaml
from pydantic import JsonValue

from stepjudge.checks.check import CannotCheck
from stepjudge.formats.reading.cleaning import TooDeep
from stepjudge.formats.reading.limits import MAX_DEPTH
from stepjudge.formats.reading.parsing import parse

Language = Literal["json", "yaml", "toml"]

MAX_BYTES: dict[Language, int] = {"json": 64 * 2**20, "yaml": 2**20, "toml": 2**20}
"""YAML and TOML are read at about 1 MB a second, in Python."""
MAX_VALUES = 1_000_000
"""Values of a YAML text, with every alias written out."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Malformed(Exception):
    """The text is not of that language: where, and why."""


def read_content(text: str, language: Language) -> JsonValue:
    """What the text says. Raises Malformed, or CannotCheck when it is too much to read."""
    if len(text) > MAX_BYTES[language]:
        raise CannotCheck(f"{language.upper()} of more than {MAX_BYTES[language]:,} characters is not read")
    try:
        match language:
            case "json":
                return parse(text).value
            case "yaml":
                return _plain(_yaml(text))
            case "toml":
                return _plain(tomllib.loads(text))
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise Malformed(f"no {language.upper()}: {error}") from error
    except yaml.YAMLError as error:
        raise Malformed(f"no YAML: {' '.join(str(error).split())}") from error
    except (TooDeep, RecursionError) as error:
        raise CannotCheck(f"{language.upper()} that is nested too deeply is not read") from error
    except (ValueError, TypeError, OverflowError) as error:  # dates and numbers that Python has no value for
        raise Malformed(f"no {language.upper()} that Python can read: {error}") from error


def _yaml(text: str) -> object:
    _refuse_depth(yaml.parse(text, Loader=_Loader))
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _size(node, {}, set())
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _refuse_depth(events: Iterable[yaml.Event]) -> None:
    # Composing is recursive in C: the depth must be known before.
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise CannotCheck(f"YAML nested deeper than {MAX_DEPTH} levels is not read")


def _size(node: yaml.Node, known: dict[int, int], open_nodes: set[int]) -> int:
    """How many values the node stands for when all its aliases are written out."""
    if id(node) in known:
        return known[id(node)]
    if id(node) in open_nodes:
        raise CannotCheck("YAML that holds itself is not read")
    open_nodes.add(id(node))
    below: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        below = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        below = node.value
    size = 1 + sum(_size(part, known, open_nodes) for part in below)
    if size > MAX_VALUES:
        raise CannotCheck(f"YAML of more than {MAX_VALUES:,} values is not read: its aliases multiply")
    open_nodes.remove(id(node))
    known[id(node)] = size
    return size


def _plain(value: object) -> JsonValue:
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple() | set():
            return [_plain(item) for item in value]
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case float() if not math.isfinite(value):
            return str(value)
        case str() | int() | float() | None:
            return value
        case _:
            return str(value)

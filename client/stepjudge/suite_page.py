# pyright: basic
"""A suite's page is a YAML page in which the free values (inputs, reference, checks …) may also be JSON numbers."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import yaml
from pydantic import JsonValue

from stepjudge.yaml_page import MAX_LENGTH, Fault, NoPage, Page, Place, position

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,99})(\.\d{1,99})?([eE][+-]?\d{1,3})?")
_TOO_LONG = f"the file is longer than {MAX_LENGTH:,} characters: give each task a file of its own in tasks/"


class SuitePage(Page):
    """A page whose plain numbers are numbers wherever `free` says so of their place; elsewhere they stay text."""

    def __init__(self, text: str, free: Callable[[Place], bool]) -> None:
        self._free = free
        super().__init__(text)

    @property
    def document(self) -> dict[str, JsonValue]:
        """The content as JSON."""
        return {key: _json(value) for key, value in self.content.items()}

    def _read(self, node: yaml.Node, place: Place):
        content = super()._read(node, place)
        if isinstance(node, yaml.ScalarNode) and node.style is None and isinstance(content, str) and self._free(place):
            return _number(content)
        return content


def page_of(path: Path, free: Callable[[Place], bool]) -> SuitePage:
    """The page in a file. Raises NoPage also when the file is none, is too long or is not UTF-8."""
    return SuitePage(text_of(path), free)


def text_of(path: Path) -> str:
    """The text of a regular file that is not longer than a page may be. Raises NoPage."""
    try:
        # opening a FIFO waits for a writer that never comes
        if path.exists() and not path.is_file():
            raise NoPage(1, 1, "is no regular file")
        with path.open("rb") as file:
            raw = file.read(4 * MAX_LENGTH + 1)
    except OSError as error:
        raise NoPage(1, 1, f"cannot be read: {error.strerror or error}") from error
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        at = position(before, len(before))
        raise NoPage(*at, f"byte 0x{raw[error.start]:02x} is not UTF-8: save it as UTF-8") from error
    if len(text) > MAX_LENGTH:
        raise NoPage(1, 1, _TOO_LONG)
    return text


def spelled(path: Path, fault: Fault) -> str:
    """`file:line:column: what is wrong`."""
    return f"{path}:{fault.line}:{fault.column}: {fault.text}"


def _number(text: str):
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if not match[1] and not match[2]:
        return int(text)
    value = float(text)
    return value if math.isfinite(value) else text


def _json(content) -> JsonValue:
    if isinstance(content, tuple):
        return [_json(each) for each in content]
    if isinstance(content, dict):
        return {key: _json(value) for key, value in content.items()}
    return content

"""Elements are what a JSON list holds, read one at a time, so that a list of traces needs no memory for all of them."""

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.cleaning import Parsed, TooDeep
from stepjudge.formats.reading.limits import MAX_DOCUMENT_BYTES
from stepjudge.formats.reading.parsing import parse_at
from stepjudge.formats.reading.source import SPLIT, Source

_CHUNK = 2**20
_MARGIN = 16
"""An error this near to the end of what was read may be mended by reading on: a word or a number was cut."""
_SPACE = " \t\r\n"


@dataclass(frozen=True)
class Element:
    parsed: Parsed
    size: int


def elements(source: Source, first: bytes, number: int) -> Iterator[Element]:
    """The elements of the list that opens in `first`, which is where line `number` begins."""
    window = _Window(source, first, number)
    window.take("[")
    if window.peek() == "]":
        window.take("]")
    else:
        yield window.element()
        while window.peek() == ",":
            window.take(",")
            yield window.element()
        window.take("]")
    if window.peek():
        raise window.error("text follows after the end of the list", "several documents must stand one per line")


class _Window:
    """The part of the text that is in memory."""

    def __init__(self, source: Source, first: bytes, number: int) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._ended = False
        self._text = ""
        self._at = 0
        self._line = number
        self._column = 0  # of the window's first character, from 0
        self._text = self._decoded(first)

    def peek(self) -> str:
        """The next character that is no space; nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def take(self, character: str) -> None:
        if (found := self.peek()) != character:
            what = f"expected {character!r}, found {found!r}" if found else "the JSON was cut within the list"
            raise self.error(what, "write the whole document")
        self._at += 1

    def element(self) -> Element:
        self.peek()
        while True:
            try:
                parsed, end = parse_at(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._may_be_mended(error) and self._grow():
                    continue
                at = "was cut" if self._may_be_mended(error) else "is not JSON"
                self._at = error.pos
                raise self.error(f"an element of the list {at} ({error.msg})", "mend it or export it again") from None
            except TooDeep as error:
                raise UnreadableTrace(f"{self._source.name}: {error}") from None
            if end == len(self._text) and self._grow():
                continue  # a number may go on
            element = Element(parsed, end - self._at)
            self._at = end
            return element

    def _may_be_mended(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos + _MARGIN > len(self._text)

    def _grow(self) -> bool:
        """Reads on: as much as is held already, so that a long element is parsed anew only a few times."""
        if self._ended:
            return False
        self._line, self._column = self._place()
        self._text = self._text[self._at :]
        self._at = 0
        if len(self._text) > MAX_DOCUMENT_BYTES:
            raise self.error(f"an element of the list is longer than {MAX_DOCUMENT_BYTES:,} bytes", SPLIT)
        self._text += self._decoded(self._source.read(max(_CHUNK, len(self._text))))
        return True

    def _decoded(self, data: bytes) -> str:
        self._ended = not data
        try:
            return self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise self.error(f"byte {byte:#04x} is not UTF-8", "save the file as UTF-8") from None

    def error(self, what: str, mend: str) -> UnreadableTrace:
        line, column = self._place()
        return UnreadableTrace(f"{self._source.name}: line {line}, column {column + 1}: {what}: {mend}")

    def _place(self) -> tuple[int, int]:
        """The line, and how many characters of it were passed."""
        broken = self._text.rfind("\n", 0, self._at)
        column = self._column + self._at if broken < 0 else self._at - broken - 1
        return self._line + self._text.count("\n", 0, self._at), column

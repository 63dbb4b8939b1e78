# pyright: basic
"""A page is what a YAML text says, and the line where it says it. Only text, true, false, null, lists and mappings."""

import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

import yaml

MAX_LENGTH = 100_000
"""Characters. A rubric goes along with every prompt: the shipped one has a tenth of this."""
TOO_LONG = f"the file is longer than {MAX_LENGTH:,} characters: shorten it"
MAX_NODES = 5_000
MAX_DEPTH = 16

Content = str | bool | None | tuple["Content", ...] | dict[str, "Content"]
Place = tuple[int | str, ...]
"""Where something stands, as pydantic spells it: `("criteria", 0, "unit")`."""

_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
"""The only plain scalars that are no text, as in YAML 1.2: `answer: no` and `version: 1.0` stay what was written."""

_SYNTAX_HINTS = (
    ("'\\t'", "indent with spaces, not tabs"),
    ("mapping values are not allowed", "put a text that holds ': ' in quotes, or mend the indentation"),
    ("cannot start any token", "put the text in quotes"),
    ("could not find expected ':'", "write 'key: text', or indent the line under its key"),
    ("unknown escape character", "use single quotes, or double the backslash"),
)


class Fault(NamedTuple):
    """What is wrong at a line and column, both from 1, and how to mend it."""

    line: int
    column: int
    text: str


class NoPage(Exception):
    """The text is not YAML that we take: there is one fault, and nothing after it can be trusted."""

    def __init__(self, line: int, column: int, text: str) -> None:
        super().__init__(text)
        self.fault = Fault(line, column, text)


class Page:
    """What a YAML text says, and where. Raises NoPage when that cannot be told at all."""

    content: dict[str, Content]
    faults: list[Fault]
    """Of single keys and values; what is around them is in `content`."""

    def __init__(self, text: str) -> None:
        self.faults = []
        self._values: dict[Place, tuple[int, int]] = {}
        self._keys: dict[Place, tuple[int, int]] = {}
        self.content = self._mapping(_root(text), ())

    def fault(self, place: Place, text: str, *, key: bool = False) -> Fault:
        """A fault of the value, or the key, at `place`, or of the nearest value around it when nothing is there."""
        if key and place in self._keys:
            return Fault(*self._keys[place], text)
        while place not in self._values:
            place = place[:-1]
        return Fault(*self._values[place], text)

    def line(self, place: Place) -> int:
        """The line where the value at `place` starts."""
        return self._values[place][0]

    def _read(self, node: yaml.Node, place: Place) -> Content:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        self._values[place] = _start(node)
        if isinstance(node, yaml.SequenceNode):
            return tuple(self._read(item, (*place, index)) for index, item in enumerate(node.value))
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Content]:
        self._values[place] = _start(node)
        content: dict[str, Content] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._complain(key, "a key must be a word: put a text that starts with '{' or '[' in quotes")
            elif key.value in content:
                first = self._keys[(*place, key.value)][0]
                self._complain(key, f"the key {key.value!r} stands twice, first on line {first}: keep one")
            else:
                self._keys[(*place, key.value)] = _start(key)
                content[key.value] = self._read(value, (*place, key.value))
        return content

    def _scalar(self, node: yaml.Node) -> str | bool | None:
        text: str = node.value
        if isinstance(node, yaml.ScalarNode) and node.style is None and text in _WORDS:
            return _WORDS[text]
        # An escape in double quotes can spell what a text file may not hold.
        strange = next((c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"), None)
        if strange is not None:
            self._complain(node, f"the text holds {strange!a}, a control character: remove it")
        return text

    def _complain(self, node: yaml.Node, text: str) -> None:
        self.faults.append(Fault(*_start(node), text))


def position(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _start(there: yaml.Node | yaml.Event) -> tuple[int, int]:
    return there.start_mark.line + 1, there.start_mark.column + 1


def _root(text: str) -> yaml.MappingNode:
    if len(text) > MAX_LENGTH:
        raise NoPage(1, 1, TOO_LONG)
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        character = text[error.position]
        raise NoPage(*position(text, error.position), f"{character!a} is no printable character: remove it") from error
    try:
        _refuse_excess(loader)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise _syntax(error) from error
    except (ValueError, OverflowError) as error:  # how PyYAML fails on "\UFFFFFFFF" and on absurd version numbers
        mark = loader.get_mark()
        raise NoPage(mark.line + 1, mark.column + 1, f"this is no YAML ({error}): use single quotes") from error
    if root is None:
        raise NoPage(1, 1, "the file is empty: start with 'name: …'")
    if not isinstance(root, yaml.MappingNode):
        raise NoPage(*_start(root), "the file is no mapping: start with 'name: …' at the margin")
    return root


def _refuse_excess(loader: yaml.SafeLoader) -> None:
    # Composing is recursive and follows aliases. The events before it are neither, so the limits are held here.
    nodes = depth = documents = 0
    while loader.check_event():
        event = loader.get_event()
        nodes += isinstance(event, yaml.NodeEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if complaint := _excess(event, nodes, depth, documents):
            raise NoPage(*_start(event), complaint)


def _excess(event: yaml.Event, nodes: int, depth: int, documents: int) -> str | None:
    if documents > 1:
        return "a second document starts here: give each a file of its own"
    if nodes > MAX_NODES:
        return f"the file holds more than {MAX_NODES:,} values: shorten it"
    if depth > MAX_DEPTH:
        return (
            f"nested deeper than {MAX_DEPTH} levels: flatten it, or put a text that starts with '[' or '{{' in quotes"
        )
    if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
        return f"anchors and aliases ({event.anchor!r}) are not taken: write the text out, or put '&' and '*' in quotes"
    if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
        return f"tags ({event.tag!r}) are not taken: remove it, or put a text that starts with '!' in quotes"
    return None


def _syntax(error: yaml.MarkedYAMLError) -> NoPage:
    mark = error.problem_mark or error.context_mark
    problem = " ".join((error.problem or error.context or "not YAML").split())
    start = error.context_mark
    if start is not None and mark is not None and start.line != mark.line:
        problem += f" ({error.context}, which starts on line {start.line + 1})"
    hint = next((hint for sign, hint in _SYNTAX_HINTS if sign in problem), "check quotes and indentation")
    return NoPage(mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, f"{problem}: {hint}")

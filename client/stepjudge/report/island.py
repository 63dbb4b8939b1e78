"""A data island is JSON inside a page: the browser keeps it as text until something asks for it."""

import json
import math
import re

from pydantic import JsonValue

from stepjudge.visible import INVISIBLE, visible

HEAD, TAIL = 40_000, 20_000
"""Characters kept of a longer text: more than a judge is shown, so that whatever it quotes is there."""

# In a script element, markup ends the element or opens a comment in it; as escapes it is only text
_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_ESCAPE = re.compile(r"\\r\\n|\\(?:u([0-9a-f]{4})|.)")
_CONTROLS = {"\\r": "⟨U+000D⟩", "\\b": "⟨U+0008⟩", "\\f": "⟨U+000C⟩", "\\r\\n": "\\n"}


def island(value: JsonValue) -> str:
    """The JSON of a value, fit to stand in a script element: every character visible, long texts cut."""
    text = json.dumps(_trimmed(value), ensure_ascii=False, separators=(",", ":"))
    # Over the whole JSON at once, since going through its strings takes ten times as long: what is invisible stands in
    # strings only, as itself or, up to U+001F, as an escape
    return INVISIBLE.sub(lambda match: visible(match[0]), _ESCAPE.sub(_shown, text)).translate(_MARKUP)


def cut(text: str) -> str:
    """The text with its middle left out when it is long, and a mark that says so."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n⟨{len(text) - HEAD - TAIL:,} characters are not in this report⟩\n{text[-TAIL:]}"


def _trimmed(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return cut(value)
        case dict():
            return {cut(name): _trimmed(item) for name, item in value.items()}
        case list():
            return [_trimmed(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)  # JSON has no spelling for it, and one such number must not make a trial unreadable
        case _:
            return value


def _shown(escape: re.Match[str]) -> str:
    if escape[1] is not None:
        return f"⟨U+{escape[1].upper()}⟩"
    return _CONTROLS.get(escape[0], escape[0])

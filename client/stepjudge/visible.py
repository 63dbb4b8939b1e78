"""Visible text shows every character: control, bidirectional and zero-width ones are spelled out."""

import re

INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, except tab and line feed
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff"  # lone surrogates, which no encoding can carry
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format controls of rare scripts
    "\U000e0000-\U000e0fff"  # tags and variation selectors: whole hidden messages fit into them
    "]"
)


def visible(text: str) -> str:
    """The text with each invisible character as `⟨U+202E⟩`; line ends become line feeds."""
    return INVISIBLE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text.replace("\r\n", "\n"))

"""A phrase is a sequence of words by which a text is recognised, whatever its case, spacing and punctuation."""

import re
import unicodedata
from collections.abc import Sequence

from stepjudge.visible import INVISIBLE

Words = Sequence[str]
Phrase = tuple[str, ...]

# Chinese, Japanese and Korean put no spaces between words: each character is one.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_NUMBER = re.compile(r"^ *\d+[\t:|-]", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", re.MULTILINE)


def words(text: str) -> Words:
    """The words of the text, folded."""
    folded = unicodedata.normalize("NFKC", INVISIBLE.sub(_blank, text)).casefold()
    return _WORD.findall(folded)


def without_line_numbers(text: str) -> str:
    """The text as it was before a tool such as `cat -n` or `grep -n` numbered its lines."""
    return _NUMBER.sub("", text)


def phrases(texts: Sequence[str], *, length: int, characters: int) -> set[Phrase]:
    """What gives the texts away: each short one as a whole, of a longer one every sequence of so many words."""
    found: set[Phrase] = set()
    for text in texts:
        read = words(_added(text) if _HUNK.search(text) else text)
        size = min(length, len(read))
        found |= {phrase for phrase in _windows(read, size) if len("".join(phrase)) >= characters}
    return found


def occurring(looked_for: set[Phrase], read: Words) -> set[Phrase]:
    """Those phrases that occur in the words."""
    found: set[Phrase] = set()
    for size in {len(phrase) for phrase in looked_for}:
        found |= looked_for & _windows(read, size)
    return found


def _windows(read: Words, size: int) -> set[Phrase]:
    return set(zip(*(read[start:] for start in range(size)), strict=False)) if size else set()


def _added(diff: str) -> str:
    return "\n".join(line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++"))


def _blank(match: re.Match[str]) -> str:
    return " " if match[0] in "\r\x0b\x0c\u2028\u2029" else ""

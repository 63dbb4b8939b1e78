"""Wording is text brought to one spelling: what a reader takes for the same must compare as the same."""

import re
import unicodedata

from stepjudge.visible import INVISIBLE

# Letters of other scripts that look Latin in common fonts. NFKC leaves them alone, since they are different letters.
_CYRILLIC = zip("авекмнорстухіѕјԁѡӏԛһѵ", "abekmhopctyxisjdwlqhv", strict=True)
_GREEK = zip("αβεικνορτυχγω", "abeiknoptuxyw", strict=True)
_OTHERS = zip("ɡıօոսց’‘", "gionug''", strict=True)
_LOOK_ALIKES = (*_CYRILLIC, *_GREEK, *_OTHERS)

# Tag characters spell ASCII that no font shows.
_TAGS = re.compile("[\U000e0020-\U000e007e]+")

_MARKS = re.compile("[\u0300-\u036f]+")
"""What is left of combining marks once they are composed: struck through, a word still reads the same."""

_PIECE = 128
_ESCAPE = re.compile(r"\\(?:[nrtbf\"/\\]|u[0-9a-fA-F]{4})")
_NO_WORD = re.compile(r"[\W_]+")


def folded(text: str) -> str:
    """Lower case, compatibility forms unified, invisible characters gone, look-alikes of Latin letters made Latin."""
    if text.isascii():
        return INVISIBLE.sub("", text).lower()
    # Normalising is quadratic in a run of combining marks, so a hostile text is normalised in pieces.
    pieces = (unicodedata.normalize("NFKC", text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))
    text = _MARKS.sub("", INVISIBLE.sub("", _TAGS.sub(_untagged, "".join(pieces)))).lower()
    # Letter by letter is ten times faster than `translate`, since most texts have none of them.
    for letter, latin in _LOOK_ALIKES:
        text = text.replace(letter, latin)
    return text


def words(text: str) -> str:
    """Folded words with one blank around each, so that whole words are found by searching for text."""
    # Observations are often JSON, where a line break is spelled with two characters.
    plain = _ESCAPE.sub(_unescaped, text) if "\\" in text else text
    return f" {_NO_WORD.sub(' ', folded(plain)).strip()} "


def shortened(text: str, limit: int = 160) -> str:
    """One line without invisible characters, for a fact's detail."""
    line = " ".join(INVISIBLE.sub(" ", text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _untagged(match: re.Match[str]) -> str:
    return "".join(chr(ord(letter) - 0xE0000) for letter in match[0])


def _unescaped(match: re.Match[str]) -> str:
    escape = match[0]
    return chr(int(escape[2:], 16)) if escape[1] == "u" else " "

"""A disguise hides a text from people, or from filters, by what Unicode allows."""

_ALIKE = str.maketrans("aceopxyiAEOPCTMHKB", "асеорхуіАЕОРСТМНКВ")
"""Cyrillic letters that look like the Latin ones."""

_OVERRIDE, _END = "\u202e", "\u202c"
_ZERO_WIDTH = "\u200b"
_TAGS = 0xE0000


def overridden(text: str) -> str:
    """Backwards, behind a right-to-left override: it looks right and reads wrong."""
    return f"{_OVERRIDE}{text[::-1]}{_END}"


def hidden_in_tags(text: str) -> str:
    """In tag characters, which show nothing."""
    return "".join(chr(_TAGS + ord(letter)) for letter in text if ord(letter) < 128)


def looking_alike(text: str) -> str:
    """In letters of another alphabet where those look the same."""
    return text.translate(_ALIKE)


def with_zero_width(text: str) -> str:
    """With a character of no width between all letters."""
    return _ZERO_WIDTH.join(text)

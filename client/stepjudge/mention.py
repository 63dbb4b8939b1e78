"""A mention is a value that stands in what an agent had seen: in its task, in a message, or in a result."""

import re
from collections.abc import Iterator
from random import Random

from pydantic import JsonValue

from stepjudge.trace import Step, Trace

Path = tuple[str | int, ...]
"""Where a value stands in arguments: keys and places in lists."""

LONGEST = 200_000
"""Of the texts that were seen, the last so many characters are looked through."""

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*")
_NO_NAMES = frozenset({"None", "True", "False", "Null", "Error", "Exception"})
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxz"


def opening_text(trace: Trace) -> str:
    """What was known before the first step."""
    return "\n".join([trace.system, trace.task])


def result_text(step: Step) -> str:
    """All that came back to a step."""
    own = [step.observation] if step.observation else []
    return "\n".join(result.text for result in (*(call.result for call in step.calls), *own))


def seen_before(trace: Trace, index: int) -> str:
    """Everything the agent had seen when it took step `index`: what it said itself is not in it."""
    texts = [opening_text(trace)]
    for step in trace.steps[: index - 1]:
        texts += [*(message.text for message in step.before), result_text(step)]
    texts += [message.text for message in trace.steps[index - 1].before]
    return "\n".join(texts)[-LONGEST:]


def leaves(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The strings and whole numbers in arguments, as text, with where they stand."""
    match value:
        case str():
            yield path, value
        case bool() | None | float():
            return
        case int():
            yield path, str(value)
        case list():
            for place, inner in enumerate(value):
                yield from leaves(inner, (*path, place))
        case _:
            for key, inner in value.items():
                yield from leaves(inner, (*path, key))


def stands_in(word: str, text: str) -> bool:
    """Whether the word stands in the text as a word of its own."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text) is not None


def words_of(text: str, shortest: int = 3) -> tuple[str, ...]:
    """Its different words of at least so many characters, in their order."""
    return tuple(dict.fromkeys(word for word in _WORD.findall(text[:LONGEST]) if len(word) >= shortest))


def is_name(word: str, text: str) -> bool:
    """Whether the word is a name or a number rather than a common word, in this text.

    It has a digit or an underscore, or begins with a capital and never stands there in small letters.
    """
    if any(letter.isdigit() or letter == "_" for letter in word):
        return True
    return word[0].isupper() and word not in _NO_NAMES and not stands_in(word.lower(), text)


def lookalike(word: str, random: Random, taken: str) -> str | None:
    """A word of the same shape that does not stand in `taken`: another number, or another name.

    Letters go to letters and digits to digits, so that it looks like what belongs there. Null when none was found.
    """
    for _ in range(20):
        other = "".join(_other(letter, place, random) for place, letter in enumerate(word))
        if other != word and not stands_in(other, taken):
            return other
    return None


def swapped(text: str, word: str, other: str) -> str:
    """The text with one word in place of another, wherever it stands as a word."""
    return re.sub(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", lambda _: other, text)


def _other(letter: str, place: int, random: Random) -> str:
    if letter.isdigit():
        # a number keeps its length, so its first digit stays other than 0
        return random.choice("123456789" if place == 0 else "0123456789")
    lower = letter.lower()
    for letters in (_VOWELS, _CONSONANTS):
        # about every second letter: what is left makes it look like a slip rather than like noise
        if lower in letters and random.random() < 0.5:
            other = random.choice(letters)
            return other.upper() if letter.isupper() else other
    return letter

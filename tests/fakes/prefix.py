"""A prefix cache knows which beginnings of prompts a provider has already read, in whole blocks of tokens.

A token is four bytes of UTF-8. A prompt is one byte string: the tools and the schema first, as providers put them,
then every message behind a marker of its role. A block's name is a digest chained over all blocks before it, so the
store is a flat set of numbers and the longest known prefix ends at the first name that is not in it.

A prefix becomes known when the first request that carries it has been ANSWERED, as with the paid APIs: requests that
are sent side by side before that do not warm each other, and a request that failed warms nothing.
"""

from dataclasses import dataclass
from hashlib import blake2b

import orjson

from fakes.request import Document, Request

BYTES_PER_TOKEN = 4


def tokens_in(text: bytes | str) -> int:
    size = len(text.encode()) if isinstance(text, str) else len(text)
    return -(-size // BYTES_PER_TOKEN)


def rendered(request: Request) -> bytes:
    """The whole prompt as the bytes that are counted and matched."""
    parts = [
        b"<|%b|>%b" % (name.encode(), orjson.dumps(request.body[name]))
        for name in ("tools", "response_format")
        if request.body.get(name)
    ]
    for message in request.messages:
        parts += (b"<|", str(message.get("role")).encode(), b"|>\n", _content(message), b"\n")
    return b"".join(parts)


def _content(message: Document) -> bytes:
    content = message.get("content")
    if isinstance(content, str) and "tool_calls" not in message:
        return content.encode()
    return orjson.dumps([content, message.get("tool_calls")])


@dataclass(frozen=True, slots=True)
class Prompt:
    tokens: int
    blocks: tuple[bytes, ...]
    """The chained name of every whole block."""


class PrefixCache:
    def __init__(self, *, block: int = 128, minimum: int = 1024) -> None:
        self._block = block
        self._minimum = minimum
        self._known: set[bytes] = set()

    def read(self, text: bytes, model: str) -> Prompt:
        """Nothing is shared between models."""
        size = self._block * BYTES_PER_TOKEN
        name, names = model.encode(), list[bytes]()
        for start in range(0, len(text) - size + 1, size):
            name = blake2b(name + text[start : start + size], digest_size=12).digest()
            names.append(name)
        return Prompt(tokens_in(text), tuple(names))

    def cached_tokens(self, prompt: Prompt) -> int:
        known = 0
        for name in prompt.blocks:
            if name not in self._known:
                break
            known += 1
        cached = known * self._block
        return cached if cached >= self._minimum else 0

    def remember(self, prompt: Prompt) -> None:
        self._known.update(prompt.blocks)

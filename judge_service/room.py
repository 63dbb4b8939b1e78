"""Room bounds how much prompt text is on its way to models at once, since every request holds copies of its prompt."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

CHARACTERS = 24_000_000
"""A prompt on its way takes about five times its length in memory: text, JSON, and what the HTTP client holds."""


class Room:
    """So many characters at once. What is larger than the whole room goes alone."""

    def __init__(self, characters: int = CHARACTERS) -> None:
        self._characters = characters
        self._taken = 0
        self._changed = anyio.Condition()

    @asynccontextmanager
    async def holding(self, length: int) -> AsyncGenerator[None]:
        """Wait until there is room for a prompt of this length, and keep it for the block."""
        async with self._changed:
            while self._taken and self._taken + length > self._characters:
                await self._changed.wait()
            self._taken += length
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with self._changed:
                    self._taken -= length
                    self._changed.notify_all()

"""A quota is so many requests a minute: full at the start, refilled evenly, announced in x-ratelimit headers."""

import time
from math import ceil


class Quota:
    def __init__(self, per_minute: int) -> None:
        self._size = self._left = float(per_minute)
        self._at = time.monotonic()

    def take(self) -> dict[str, str]:
        """The headers of the answer; with `retry-after` when there was nothing left to take."""
        now = time.monotonic()
        per_second = self._size / 60
        self._left = min(self._size, self._left + (now - self._at) * per_second)
        self._at = now
        refused = self._left < 1
        self._left -= 0 if refused else 1
        headers = {
            "x-ratelimit-limit-requests": f"{self._size:.0f}",
            "x-ratelimit-remaining-requests": f"{int(self._left)}",
            "x-ratelimit-reset-requests": f"{(self._size - self._left) / per_second:.3f}s",
        }
        missing = (1 - self._left) / per_second
        return headers | ({"retry-after": f"{ceil(missing)}"} if refused else {})

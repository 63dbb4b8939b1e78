"""A quota is how much may be asked a minute, as a provider's headers tell it: so many requests, so many tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Kind = Literal["requests", "tokens"]

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_FORMS = ("x-ratelimit-{part}-{kind}", "anthropic-ratelimit-{kind}-{part}")


@dataclass
class Quota:
    """A bucket that fills evenly: `left` units at time `at`, in seconds of one clock."""

    size: float
    left: float
    per_second: float
    at: float

    def told(self, size: float, left: float, full_in_s: float | None, now: float) -> None:
        """The provider says how much is left. Requests on their way are not counted there yet, so the lower one holds."""
        self._fill(now)
        self.size = size
        self.per_second = (size - left) / full_in_s if full_in_s and size > left else size / 60
        self.left = min(self.left, left)

    def take(self, units: float, now: float) -> None:
        self._fill(now)
        self.left -= units

    def ready_in(self, units: float, now: float) -> float:
        """Seconds until that much is there; what is larger than the bucket waits for a full one."""
        self._fill(now)
        missing = min(units, self.size) - self.left
        return missing / self.per_second if missing > 0 and self.per_second > 0 else 0.0

    def _fill(self, now: float) -> None:
        self.left = min(self.size, self.left + max(0.0, now - self.at) * self.per_second)
        self.at = max(self.at, now)


def read(headers: Mapping[str, str], kind: Kind) -> tuple[float, float, float | None] | None:
    """(size, left, seconds until it is full again) from headers with lower-case names; null when they do not tell."""
    for form in _FORMS:
        size = _number(headers.get(form.format(part="limit", kind=kind)))
        left = _number(headers.get(form.format(part="remaining", kind=kind)))
        if size is not None and left is not None and size > 0:
            return size, min(left, size), _seconds(headers.get(form.format(part="reset", kind=kind)))
    return None


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,15}(\.\d{1,9})?", text) else None


def _seconds(text: str | None) -> float | None:
    """Seconds from `6m0s`, `20ms`, `3.5` or a date of RFC 3339."""
    if not text:
        return None
    if (number := _number(text)) is not None:
        return number
    if (found := _DURATION.fullmatch(text)) and any(found.groups()):
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
        return 3600 * hours + 60 * minutes + seconds + milliseconds / 1000
    try:
        return max(0.0, (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None

"""A circuit opens when a provider is down: nothing is asked for a while, then one request tries whether it is back.

It opens after so many tries in a row that failed, where the provider has given no sign of life for some seconds: a burst
that is refused in one moment, or a restart that retries outlast, is not a provider that is down.
"""

from dataclasses import dataclass
from typing import Literal

QUIET_S = 3.0
"""Without a sign of life for as long, failures count as being down."""
LONGEST_PAUSE_S = 60.0

State = Literal["closed", "open", "probing"]


class CircuitOpen(Exception):
    """Nothing is asked now. The message says why and until when."""


@dataclass
class Circuit:
    """Times are seconds of one monotonic clock, handed in by the caller."""

    opens_after: int
    """Failed tries in a row."""
    first_pause_s: float
    """The pause doubles with each probe that fails."""
    failures: int = 0
    """In a row, since the last sign of life."""
    open_until: float | None = None
    """When one may try again; null while closed."""
    probing: bool = False
    _alive_at: float = 0.0
    _quiet_since: float = 0.0
    _pause_s: float = 0.0

    @property
    def state(self) -> State:
        if self.open_until is None:
            return "closed"
        return "probing" if self.probing else "open"

    def remaining_s(self, now: float) -> float:
        """Seconds until one may try again; 0 when one may."""
        return 0.0 if self.open_until is None else max(0.0, self.open_until - now)

    def admits(self, now: float) -> bool:
        """Whether a request may go. Once the pause is over one may, and `probing` holds until it has ended."""
        if self.open_until is None:
            return True
        if self.probing or now < self.open_until:
            return False
        self.probing = True
        return True

    def answered(self, now: float) -> None:
        """The provider gave a sign of life, be it a refusal: it is up."""
        self.failures, self.open_until, self.probing, self._pause_s = 0, None, False, 0.0
        self._alive_at = now

    def failed(self, now: float, started: float, *, probe: bool) -> bool:
        """A request that began at `started` got no answer, or the provider's confession. Whether that opens the circuit."""
        if not self.failures:
            self._quiet_since = max(started, self._alive_at)
        self.failures += 1
        if self.open_until is not None and not probe:
            return False  # it was on its way already
        down = self.failures >= self.opens_after and now - self._quiet_since >= QUIET_S
        if not (probe or down):
            return False
        self.probing = False
        self._pause_s = min(max(2 * self._pause_s, self.first_pause_s), LONGEST_PAUSE_S)
        self.open_until = now + self._pause_s
        return True

    def left(self) -> None:
        """The probe ended without telling anything: another may try."""
        self.probing = False

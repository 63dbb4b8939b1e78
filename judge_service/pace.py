"""A pace is how many requests one credential may have under way, learnt from what its provider does.

It begins with a guess and grows evenly in time, by a growing share of itself each round trip, as long as all its places
are taken. A refusal says that the provider's limit was passed, so the pace falls a little below what was under way then,
to a level that is safe. Refusals at safe levels are noise of another origin; where there is noise, only more refusals than
it explains count. Many refusals, or answers that take several times as long as they did, make it fall by a share. Growth
is spread over the round trip, so that going too far costs one refusal and not a burst of them.

The shape is AIMD (Chiu and Jain, 1989), with the fall bounded by what is known to have been accepted.
"""

import math
from dataclasses import dataclass, field

FIRST = 32.0
_FASTEST = 0.7
"""Growth in a round trip while the limit has never been met, as an exponent: 0.7 about doubles."""
_PROBE = 0.5
"""Places a round trip right after a fall; doubled with every round trip that goes well."""
_FALL = 0.97
_MANY = 0.10
"""A share of refusals, beyond twice the noise, that means overload."""
_NOISY = 0.015
"""A share of refusals at safe levels from which on a single refusal says nothing."""
_UNKNOWN_TRIP_S = 0.25
"""Taken for the latency as long as there is no answer."""
_SLOW = 3.0
"""Times the usual latency that mean overload."""
_SMOOTHING = 0.1


@dataclass
class Pace:
    """Times are seconds of one monotonic clock, handed in by the caller."""

    most: float
    limit: float = FIRST
    in_flight: int = 0
    latency_s: float | None = None
    """Smoothed; null before the first answer."""
    usual_s: float | None = None
    """The latency when all is well: the least of the smoothed ones, forgotten slowly."""
    safe: float = 0.0
    """Levels up to here were fine when the limit was last passed."""
    noise: float = 0.0
    """Share of refusals at safe levels, smoothed."""
    _grown_at: float = 0.0
    _fell_at: float | None = None
    _gain: float | None = None
    """Places a round trip; null while the limit has never been met."""
    _rested_until: float = 0.0
    _answers: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    """(time, refused) of the last round trip."""

    def __post_init__(self) -> None:
        self.limit = min(self.limit, self.most)

    @property
    def room(self) -> bool:
        """Whether one more may start. One always may when none is under way."""
        return self.in_flight + 1 <= max(1.0, self.limit)

    def started(self, now: float) -> int:
        """Its level: how many are under way with it. To be handed back when it ends."""
        if not self.in_flight:
            self._grown_at = now  # idle time earns nothing
        self.in_flight += 1
        return self.in_flight

    def left(self) -> None:
        """A request ended without telling anything about the provider's limit."""
        self.in_flight -= 1

    def answered(self, now: float, level: int, started: float) -> None:
        self.in_flight -= 1
        self._remember(now, level, started, refused=False)
        latency_s = now - started
        old = self.latency_s
        self.latency_s = latency_s if old is None else old + _SMOOTHING * (latency_s - old)
        self.usual_s = self.latency_s if self.usual_s is None else min(self.usual_s * 1.00005, self.latency_s)
        if self.latency_s > _SLOW * self.usual_s and self._may_fall(now):
            self._fall(now, self.limit * 0.8)

    def refused(self, now: float, level: int, started: float) -> None:
        """The provider said that it is too much."""
        self.in_flight -= 1
        self._remember(now, level, started, refused=True)
        share = self._refused_share()
        if share - 2 * self.noise > _MANY and self._may_fall(now):
            self._fall(now, min(self.limit, self.in_flight) * (1 - share / 2))
        elif self.noise < _NOISY and not self._was_safe(level, started):
            self._fall(now, min(self.limit, math.ceil(self.in_flight * _FALL)))

    def grow(self, now: float) -> None:
        """Called while somebody waits: the places that the time since the last call has earned."""
        if self.in_flight < self.limit - 1:
            self._grown_at = now
            return
        elapsed = min(now - max(self._grown_at, self._rested_until), self._trip)
        self._grown_at = now
        if elapsed <= 0:
            return
        trips = elapsed / self._trip
        if self._gain is None:
            earned = self.limit * _FASTEST * trips
        else:
            self._gain = min(self._gain * 2**trips, self.limit * _FASTEST)
            earned = self._gain * trips
        self.limit = min(self.most, self.limit + min(earned, 1.0))  # one at a time, or a whole burst is refused

    def next_in(self) -> float:
        """Seconds until growing will have earned about one place."""
        each = self.limit * _FASTEST if self._gain is None else self._gain
        return min(max(self._trip / max(each, 0.1), 0.002), 0.25)

    def _was_safe(self, level: int, started: float) -> bool:
        return level <= self.safe and self._fell_at is not None and started > self._fell_at

    def _may_fall(self, now: float) -> bool:
        """By a share, once in two round trips: what is refused meanwhile was on its way already."""
        return self._fell_at is None or now - self._fell_at >= 2 * self._trip

    def _fall(self, now: float, to: float) -> None:
        self.limit = self.safe = max(1.0, to)
        self._fell_at, self._gain = now, _PROBE
        self._rested_until = now + 2 * self._trip

    @property
    def _trip(self) -> float:
        return max(self.latency_s or _UNKNOWN_TRIP_S, 0.001)

    def _remember(self, now: float, level: int, started: float, *, refused: bool) -> None:
        if self._was_safe(level, started):
            self.noise = min(self.noise + _SMOOTHING / 5 * (refused - self.noise), _MANY)
        self._answers.append((now, refused))
        horizon = now - 2 * self._trip
        if self._answers[0][0] < horizon and len(self._answers) > 2 * self.most:
            self._answers = [each for each in self._answers if each[0] >= horizon]

    def _refused_share(self) -> float:
        horizon = self._answers[-1][0] - 2 * self._trip
        recent = [refused for at, refused in self._answers if at >= horizon]
        return sum(recent) / len(recent) if len(recent) >= 10 else 0.0

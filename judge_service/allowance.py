"""An allowance is how much of its limits a key has used: requests of the last minute, and requests under way."""

from dataclasses import dataclass
from typing import Literal

from judge_service.quota import Quota

LimitName = Literal["requests_per_minute", "requests_at_once", "usd_per_day"]


@dataclass(frozen=True)
class Refused:
    """Which limit was met, and when it is worth asking again."""

    limit: LimitName
    retry_after_s: float


@dataclass
class Allowance:
    """Times are seconds of one monotonic clock, handed in by the caller."""

    under_way: int = 0
    _minute: Quota | None = None

    def enter(self, per_minute: int | None, at_once: int | None, now: float) -> Refused | None:
        """Count one more request, or tell why not. What is refused is not counted."""
        if at_once is not None and self.under_way >= at_once:
            return Refused("requests_at_once", 1.0)
        if per_minute is not None and (wait := self._take(per_minute, now)) > 0:
            return Refused("requests_per_minute", wait)
        self.under_way += 1
        return None

    def leave(self) -> None:
        self.under_way -= 1

    def _take(self, per_minute: int, now: float) -> float:
        """Seconds until there is room for one more; 0 when it was taken. A whole minute's requests may come at once."""
        if self._minute is None or self._minute.size != per_minute:
            self._minute = Quota(per_minute, per_minute, per_minute / 60, now)
        wait = self._minute.ready_in(1, now)
        if not wait:
            self._minute.take(1, now)
        return wait

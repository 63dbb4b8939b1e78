"""A visit is one request while it is served: who came, under which ids, and what it got so far."""

import re
import uuid
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field

from stepjudge.scorecard import Landed

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


@dataclass(eq=False)
class Visit:
    request_id: str
    trace_id: str
    holder: str | None = None
    """Of the key that was presented; null where none was needed."""
    cached: int = 0
    """Verdicts that were remembered."""
    judged: int = 0
    undetermined: Counter[str] = field(default_factory=Counter[str])
    """Answers that could not be had, by cause."""
    cost_usd: float = 0.0
    """Of what was judged, as far as prices are known."""

    def landed(self, item: Landed) -> None:
        self.cached += item.cached
        self.judged += not item.cached
        self.undetermined.update(answer.cause for answer in item.verdict.answers if answer.cause)
        if not item.cached:
            self.cost_usd += item.verdict.spent.cost_usd or 0.0


VISIT: ContextVar[Visit | None] = ContextVar("visit", default=None)


def visit_of(request_id: str | None, traceparent: str | None) -> Visit:
    """Under the ids that the caller gave, where they are well formed: what stands in logs is never a caller's free text."""
    given = _TRACEPARENT.fullmatch(traceparent or "")
    known = request_id if request_id and _REQUEST_ID.fullmatch(request_id) else None
    return Visit(known or uuid.uuid4().hex, given[1] if given and set(given[1]) != {"0"} else uuid.uuid4().hex)

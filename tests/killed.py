"""What a process does that is going to be killed: it opens the service, scores one trace after another, and tells."""

from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from stepjudge.client import JudgeClient
from stepjudge.contract import Scored

WORD = "document-"


def document(number: int, steps: int) -> dict[str, Any]:
    """A trace that names itself in every step."""
    said = [{"role": "assistant", "content": f"{WORD}{number} line {step}"} for step in range(1, steps + 1)]
    return {"messages": [{"role": "user", "content": f"Write {WORD}{number}."}, *said]}


def score_all(settings: dict[str, Any], numbers: Sequence[int], steps: int, tell: Connection) -> None:
    """Sends ("open",), then ("landed", number, step, verdict id) for each verdict that the client got."""
    with JudgeClient.embedded(**settings) as client:
        tell.send(("open",))
        for number in numbers:

            def landed(event: Scored, number: int = number) -> None:
                tell.send(("landed", number, event.step.index, event.step.verdict_id))

            client.score(document(number, steps), on_step=landed)
    tell.send(("done",))

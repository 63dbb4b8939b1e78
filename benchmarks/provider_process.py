"""The fake model API in a process of its own, so that what it takes of the processor is not counted with a client's.

with provider_process(latency=0.2, max_in_flight=64) as provider:
    ...call provider.base_url...
    print(provider.statuses())
"""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from peer_answers import script as peer_answers

from fakes.faults import NOT_JSON, RATE_LIMITED, SERVER_ERROR, seeded
from fakes.provider import Provider
from scripted import always

TROUBLE = {RATE_LIMITED: 0.05, SERVER_ERROR: 0.02, NOT_JSON: 0.02}
"""5% are refused, 2% meet an error of the server, 2% get a reply that is no JSON."""


@dataclass(frozen=True)
class ProviderProcess:
    base_url: str
    _asking: IO[str]
    _telling: IO[str]

    def statuses(self) -> dict[int, int]:
        """How often each status was given so far."""
        return {int(status): count for status, count in self._told()["statuses"].items()}

    def usage(self) -> dict[str, int]:
        """Tokens that were billed so far: prompt, cached, completion."""
        return self._told()["usage"]

    def _told(self) -> dict[str, Any]:
        self._asking.write("tell\n")
        self._asking.flush()
        return json.loads(self._telling.readline())


@contextmanager
def provider_process(
    *, latency: float = 0.2, max_in_flight: int | None = None, trouble: bool = False, script: str = "judge"
) -> Generator[ProviderProcess]:
    """`script`: `judge` answers stepjudge's questions; the name of a peer, what that peer understands."""
    command = [sys.executable, __file__, json.dumps([latency, max_in_flight, trouble, script])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield ProviderProcess(process.stdout.readline().strip(), process.stdin, process.stdout)
        process.stdin.close()


def _serve(latency: float, max_in_flight: int | None, trouble: bool, script: str) -> None:
    faults = seeded(TROUBLE, 7) if trouble else None
    answers = always("yes") if script == "judge" else peer_answers(script)
    with Provider(answers, latency=latency, max_in_flight=max_in_flight, faults=faults, record=False) as provider:
        print(provider.base_url, flush=True)
        for _ in sys.stdin:
            used = provider.usage
            usage = {name: getattr(used, name) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")}
            print(json.dumps({"statuses": provider.statuses, "usage": usage}), flush=True)


if __name__ == "__main__":
    _serve(*json.loads(sys.argv[1]))

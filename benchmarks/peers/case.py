"""What every peer is given to judge, and how its driver tells what came of it. Runs in the peer's own environment.

    case.run("openevals", judge)      # judge(text) is awaited for each case, at most so many at once; true is a verdict

Arguments: base URL of the fake model API, number of cases, how many at once.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

BASE_URL, COUNT, AT_ONCE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
KEY = "none"
QUESTION = "Was the agent's last step useful for the task?"


def text(number: int) -> str:
    """One step of a trace with what came before it, about four thousand characters."""
    before = "".join(
        f"step {index}: view /pump/{number}/{index}.py\n{'the motor turns the shaft ' * 12}\n" for index in range(11)
    )
    return f"Task: find out how the pump starts.\n{before}last step of case {number}: view /pump/start.py"


def told(package: str, wall_s: float, cpu_s: float, ok: int) -> None:
    figures = {"version": version(package), "wall_s": wall_s, "cpu_s": cpu_s, "ok": ok}
    sys.stdout.write("\n" + json.dumps(figures) + "\n")


def run(package: str, judge: Callable[[str], Awaitable[bool]]) -> None:
    asyncio.run(_run(package, judge))


async def _run(package: str, judge: Callable[[str], Awaitable[bool]]) -> None:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> bool:
        async with places:
            try:
                return await judge(text(number))
            except Exception:  # whatever a peer raises, this verdict is lost
                return False

    await judge(text(-1))  # what is imported late is not counted
    wall, cpu = time.perf_counter(), time.process_time()
    ok = sum(await asyncio.gather(*map(one, range(COUNT))))
    told(package, time.perf_counter() - wall, time.process_time() - cpu, ok)

"""What judging a step costs beside the bare call, and how near it comes to the provider's limit. All in one run.

    python benchmarks/judging.py [--steps 1000] [--rounds 3]

The fake model API runs in a process of its own, answers after 200 ms, and takes 64 requests at once; nobody is told that.
The bound is aiohttp sending the very same requests, 64 at a time, and reading the replies. Everything of ours is counted:
facts, prompt, parsing, grounding, the cache, the ledger on a real disk. Figures are medians of the rounds.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
from provider_process import Provider, ProviderProcess, always, provider_process

from stepjudge.client import AsyncJudgeClient
from stepjudge.contract import Scorecard
from stepjudge.errors import JudgeUnreachable

LATENCY_S = 0.2
AT_ONCE = 64
STEPS_OF_A_TRACE = 50


def trace(number: int, salt: str) -> dict[str, Any]:
    """Fifty steps that each read a file, in the form of OpenAI's chat messages."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Task {salt}-{number}: find out how the pump starts."}
    ]
    for index in range(STEPS_OF_A_TRACE):
        arguments = json.dumps({"path": f"/pump/{number}/{index}.py"})
        call = {"id": f"c{index}", "type": "function", "function": {"name": "view", "arguments": arguments}}
        messages += [
            {"role": "assistant", "content": f"Looking at part {index}.", "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"c{index}",
                "content": f"part {index}: " + "the motor turns the shaft " * 20,
            },
        ]
    return {"messages": messages}


async def measured(work: Callable[[], Awaitable[Any]]) -> tuple[float, float, Any]:
    """(seconds by the clock, seconds of this process's processor time, what came out)."""
    wall, cpu = time.perf_counter(), time.process_time()
    out = await work()
    return time.perf_counter() - wall, time.process_time() - cpu, out


async def bare(url: str, bodies: list[bytes]) -> None:
    """The same requests by aiohttp alone, told how many may be under way."""
    places = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(body: bytes) -> None:
            async with (
                places,
                session.post(
                    f"{url}/chat/completions", data=body, headers={"content-type": "application/json"}
                ) as response,
            ):
                json.loads(await response.read())

        await asyncio.gather(*map(ask, bodies))


def score_all(client: AsyncJudgeClient, traces: list[dict[str, Any]]) -> Callable[[], Awaitable[list[Scorecard]]]:
    async def work() -> list[Scorecard]:
        return list(await asyncio.gather(*(client.score(each) for each in traces)))

    return work


async def bodies_of(traces: list[dict[str, Any]]) -> list[bytes]:
    """The requests that these traces lead to, as a server of our own receives them."""
    with Provider(always("yes")) as provider, tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"judge": "openai/fake", "api_base": provider.base_url, "max_cost_usd": None}
        async with AsyncJudgeClient.embedded(data_dir=Path(folder), **settings) as client:
            await score_all(client, traces)()
        return [json.dumps(request.body).encode() for request in provider.requests]


async def cold_and_warm(
    provider: ProviderProcess, traces: list[dict[str, Any]]
) -> tuple[float, float, float, list[Scorecard]]:
    """(seconds cold, CPU seconds cold, CPU seconds warm, scorecards of the cold run)."""
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"judge": "openai/fake", "api_base": provider.base_url, "max_cost_usd": None}
        async with AsyncJudgeClient.embedded(data_dir=Path(folder), **settings) as client:
            await client.score(
                {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
            )
            wall, cpu, cards = await measured(score_all(client, traces))
            _, warm, _ = await measured(score_all(client, traces))
    return wall, cpu, warm, cards


async def warm_over_http(traces: list[dict[str, Any]], provider: ProviderProcess, repeats: int) -> float:
    """Cached steps a second and core of a service over HTTP: its process's own processor time."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            **os.environ,
            "STEPJUDGE_DATA_DIR": folder,
            "STEPJUDGE_JUDGE": "openai/fake",
            "STEPJUDGE_API_BASE": provider.base_url,
            "STEPJUDGE_MAX_COST_USD": "1000",
        }
        port = environ["STEPJUDGE_PORT"] = str(_free_port())
        service = _served(environ)
        try:
            async with AsyncJudgeClient(f"http://127.0.0.1:{port}") as client:
                await _ready(client)
                await score_all(client, traces)()
                before = _cpu(service.pid)
                for _ in range(repeats):
                    for each in traces:
                        await client.score(each)
                spent = _cpu(service.pid) - before
        finally:
            service.terminate()
            service.wait()
    return repeats * len(traces) * STEPS_OF_A_TRACE / spent


def _served(environ: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "judge_service"], env=environ, stderr=subprocess.DEVNULL)


async def _ready(client: AsyncJudgeClient) -> None:
    for _ in range(600):
        try:
            await client.judges()
            return
        except JudgeUnreachable:
            await asyncio.sleep(0.1)
    raise RuntimeError("the service did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _cpu(pid: int) -> float:
    """Seconds of processor time, user and system, of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def run(steps: int, rounds: int) -> None:
    count = max(1, steps // STEPS_OF_A_TRACE)
    total = count * STEPS_OF_A_TRACE
    ideal = total / AT_ONCE * LATENCY_S
    bodies = await bodies_of([trace(number, "bare") for number in range(count)])
    ratios: list[tuple[float, float, float, float, float]] = []
    for attempt in range(rounds):
        traces = [trace(number, f"round {attempt}") for number in range(count)]
        with provider_process(latency=LATENCY_S) as free:
            wall_bare, cpu_bare, _ = await measured(lambda: bare(free.base_url, bodies))
        with provider_process(latency=LATENCY_S, max_in_flight=AT_ONCE) as provider:
            wall, cpu, warm, cards = await cold_and_warm(provider, traces)
            refused = provider.statuses().get(429, 0)
        assert sum(card.undetermined for card in cards) == 0
        ratios.append((cpu / cpu_bare, wall / ideal, refused / total, cpu / warm, wall_bare / ideal))
        print(
            f"round {attempt + 1}: aiohttp {1000 * cpu_bare / total:.2f} ms of CPU a call, {wall_bare:.2f} s; "
            f"stepjudge {1000 * cpu / total:.2f} ms a step, {wall:.2f} s, {refused} refused; "
            f"cached {1000 * warm / total:.3f} ms a step"
        )
    cpus, walls, shares, savings, bares = (statistics.median(column) for column in zip(*ratios, strict=True))
    with provider_process(latency=LATENCY_S, trouble=True) as troubled:
        wall, _, _, cards = await cold_and_warm(troubled, [trace(number, "trouble") for number in range(count)])
        lost = sum(card.undetermined > 0 for card in cards)
        statuses = troubled.statuses()
        per_second = await warm_over_http([trace(number, "http") for number in range(4)], troubled, 10)
    print(
        f"\nmedian of {rounds} rounds, {total} steps, {LATENCY_S * 1000:.0f} ms, {AT_ONCE} at once; ideal {ideal:.2f} s"
    )
    print(f"CPU a step / bare aiohttp's CPU a call        {cpus:6.2f}   (target: at most 5)")
    print(
        f"time / ideal time                             {walls:6.2f}   (target: at most 1.10; aiohttp, told the limit: {bares:.2f})"
    )
    print(f"refused requests / steps                      {shares:6.1%}   (target: at most 3%)")
    print(f"CPU cold / CPU cached                         {savings:6.1f}   (target: at least 10)")
    print(f"cached steps a second and core over HTTP      {per_second:6.0f}   (target: at least 3,000)")
    print(
        f"with 5% refused, 2% errors, 2% malformed      {lost:6d}   traces with a lost answer, {wall:.2f} s, statuses {statuses}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    asyncio.run(run(options.steps, options.rounds))


if __name__ == "__main__":
    main()

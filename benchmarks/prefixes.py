"""What prompts cost with a provider's prefix cache: ours, and four other ways to ask the same. Tokens, not seconds.

    python benchmarks/prefixes.py [--steps 10,50,200] [--window 5]

The referee is the fake model API, which bills a prompt's longest prefix that it has answered before as cached. A cached
token is counted as 0.1, as most providers price it. `all at once` sends our very prompts together, with no first one to
warm the cache. `one call per criterion` is our own order with a rubric that asks each criterion alone. `whole trace per
metric` sends everything once for each of four metrics, as trace-level evaluators do; it says nothing about a step. The
last column is an estimate from the same counts: windows of several steps in one call, and what they would save.
"""

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import aiohttp
from judging import trace as trace_of_fifty
from provider_process import Provider, always

from stepjudge.client import AsyncJudgeClient
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file, shipped

CACHED = 0.1
METRICS = 4


def trace(steps: int) -> dict[str, Any]:
    """A trace of that many steps, each with a call and a result of some hundred tokens."""
    messages = [message for number in range(-(-steps // 50)) for message in trace_of_fifty(number, "p")["messages"][1:]]
    return {"messages": [{"role": "user", "content": "Find out how the pump starts."}, *messages[: 2 * steps]]}


async def scored(provider: Provider, document: dict[str, Any], rubric: Rubric) -> None:
    settings: dict[str, Any] = {"judge": "openai/fake", "api_base": provider.base_url, "max_cost_usd": None}
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncJudgeClient.embedded(data_dir=Path(folder), **settings) as client:
            await client.score(document, rubric=rubric)


async def sent(provider: Provider, bodies: list[bytes]) -> None:
    """All of them at the same moment."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(body: bytes) -> None:
            headers = {"content-type": "application/json"}
            async with session.post(f"{provider.base_url}/chat/completions", data=body, headers=headers) as response:
                await response.read()

        await asyncio.gather(*map(ask, bodies))


def billed(provider: Provider) -> float:
    used = provider.usage
    return used.prompt_tokens - (1 - CACHED) * used.cached_tokens


def window_saving(provider: Provider, window: int) -> float:
    """The share of the bill that windows would save: only every so many-th prompt is sent, each with its last steps."""
    prompts = sorted((each.usage.prompt_tokens for each in provider.exchanges), reverse=True)
    longest, others = prompts[0], prompts[1:]
    ours = longest + CACHED * sum(others)
    return 1 - (longest + CACHED * sum(others[window - 1 :: window])) / ours


async def row(steps: int, window: int) -> dict[str, float]:
    document, rubric = trace(steps), read_rubric_file(shipped() / "step" / "1.0.0.yaml")
    alone = Rubric.model_validate({**rubric.model_dump(), "name": "alone", "ask": "criterion"})
    with Provider(always("yes"), latency=0.02) as ours:
        await scored(ours, document, rubric)
        bodies = [json.dumps(request.body).encode() for request in ours.requests]
        figures = {"ours": billed(ours), f"saved by windows of {window}": window_saving(ours, window)}
    with Provider(always("yes"), latency=2.0, record=False) as together:
        await sent(together, bodies)
        figures["all at once"] = billed(together)
    with Provider(always("yes"), latency=0.02, record=False) as apart:
        await scored(apart, document, alone)
        figures["one call per criterion"] = billed(apart)
    with Provider(always("yes"), latency=2.0, record=False) as whole:
        await sent(whole, [max(bodies, key=len)] * METRICS)
        figures["whole trace per metric"] = billed(whole)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="10,50,200")
    parser.add_argument("--window", type=int, default=5)
    options = parser.parse_args()
    print(f"billed input tokens, a cached one counted as {CACHED}, and what each is to ours")
    for steps in map(int, options.steps.split(",")):
        figures = asyncio.run(row(steps, options.window))
        ours = figures.pop("ours")
        saved = figures.pop(f"saved by windows of {options.window}")
        others = "   ".join(
            f"{name} {tokens:,.0f} (ours is {ours / tokens:.2f} of it)" for name, tokens in figures.items()
        )
        print(
            f"{steps:4d} steps: ours {ours:,.0f}, {ours / steps:,.0f} a step   {others}   windows would save {saved:.0%}"
        )
    print("target: at 50 steps at most 0.25 of the same prompts sent all at once")


if __name__ == "__main__":
    main()

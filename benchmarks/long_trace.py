"""How work and memory grow: keys, facts, rendering and scheduling with a trace's length, memory with the number of steps.

    python benchmarks/long_trace.py [--steps 250,500,1000,2000] [--megabytes 50] [--bulk 10000,50000,100000] [--model]

The first table is processor time of one process on one trace, whose size grows with its steps; the exponent is the slope
of a line through the logarithms, so 1 is linear. Prompts themselves grow with the square of the length in bytes, because
each holds all steps before it: building the text of each is not in the table, sending it is the price of judging in
state. `scheduled` is the whole of Judging, with facts, keys, cache and ledger, under a judge that asks no model.

The second part scores traces of 50 steps in bulk, with the rules and, with `--model`, the fake model, and prints how much
memory the process holds.
"""

import argparse
import asyncio
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from judging import STEPS_OF_A_TRACE
from judging import trace as trace_of_fifty
from provider_process import provider_process

from judge_service.facts import facts
from judge_service.shown import Shown
from judge_service.state import states
from stepjudge.bulk import Bulk, Tally
from stepjudge.client import AsyncJudgeClient
from stepjudge.formats import read_document
from stepjudge.trace import Trace


def trace(steps: int, characters: int) -> Trace:
    """Steps that each read a file of so many characters, no two alike."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out how the pump starts."}]
    for index in range(steps):
        call = {
            "id": f"c{index}",
            "type": "function",
            "function": {"name": "view", "arguments": json.dumps({"path": f"/pump/{index}.py"})},
        }
        lines = "".join(f"line {index}-{line}: the motor turns the shaft\n" for line in range(characters // 40))
        messages += [
            {"role": "assistant", "content": f"Looking at part {index}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{index}", "content": lines},
        ]
    return next(read_document({"messages": messages}))


def cpu_s(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


async def scheduled(document: Trace) -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncJudgeClient.embedded(data_dir=Path(folder), judge="rules", max_body_bytes=2**30) as client:
            await client.score(
                {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}
            )
            before = time.process_time()
            await client.score(document)
            return time.process_time() - before


def curve(lengths: list[int], megabytes: float) -> None:
    characters = int(megabytes * 1e6 / lengths[-1])
    rows: list[tuple[float, ...]] = []
    print(f"{'steps':>6} {'MB':>6} {'keyed':>8} {'facts':>8} {'rendered':>9} {'scheduled':>10}   seconds of CPU")
    for steps in lengths:
        document = trace(steps, characters)
        shown = Shown(document, "0" * 16, reasoning=False)
        row = (
            cpu_s(lambda document=document: states(document)),
            cpu_s(lambda document=document: facts(document)),
            cpu_s(
                lambda shown=shown, steps=steps: [(shown.own_pieces(i), shown.length(i)) for i in range(1, steps + 1)]
            ),
            asyncio.run(scheduled(document)),
        )
        rows.append(row)
        print(f"{steps:6d} {steps * characters / 1e6:6.1f} {row[0]:8.3f} {row[1]:8.3f} {row[2]:9.3f} {row[3]:10.3f}")
    exponents = [slope(lengths, [max(row[place], 1e-6) for row in rows]) for place in range(4)]
    print(
        f"{'exponent':>13} {exponents[0]:8.2f} {exponents[1]:8.2f} {exponents[2]:9.2f} {exponents[3]:10.2f}   (1 is linear)"
    )


def slope(lengths: list[int], seconds: list[float]) -> float:
    xs, ys = [math.log(length) for length in lengths], [math.log(second) for second in seconds]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)


def lines(count: int, salt: str) -> Iterator[str]:
    for number in range(count):
        yield json.dumps(trace_of_fifty(number, salt)) + "\n"


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def memory(marks: list[int], settings: dict[str, Any]) -> None:
    left = sorted(marks)

    def look(tally: Tally) -> None:
        while left and tally.steps >= left[0]:
            print(f"   {left.pop(0):8,d} steps: {resident_mb():6.0f} MB", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "traces.jsonl"
        with file.open("w") as written:
            written.writelines(lines(-(-marks[-1] // STEPS_OF_A_TRACE), "memory"))
        async with AsyncJudgeClient.embedded(data_dir=Path(folder) / "data", max_cost_usd=None, **settings) as client:
            await Bulk(client, [file], Path(folder) / "out.jsonl", {}, jobs=4, on_progress=look).run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="250,500,1000,2000")
    parser.add_argument("--megabytes", type=float, default=50.0, help="of the longest trace")
    parser.add_argument("--bulk", default="10000,50000,100000", help="steps at which memory is read; empty for none")
    parser.add_argument("--model", action="store_true", help="score in bulk with the fake model as well")
    options = parser.parse_args()
    curve([int(steps) for steps in options.steps.split(",")], options.megabytes)
    marks = [int(mark) for mark in options.bulk.split(",") if mark]
    if marks:
        print("memory of the process, scoring in bulk with the rules")
        asyncio.run(memory(marks, {"judge": "rules"}))
    if marks and options.model:
        print("and with the fake model")
        with provider_process(latency=0.0) as provider:
            asyncio.run(memory(marks, {"judge": "openai/fake", "api_base": provider.base_url}))


if __name__ == "__main__":
    main()

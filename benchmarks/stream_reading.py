"""Reads a large JSONL of traces: speed beside what the disk gives and what only parsing costs, and resident memory.

python benchmarks/stream_reading.py [--megabytes 1024] [--shape openai-chat-5kB …] [--file traces.jsonl]

For each shape of trace (format and size of a tool's result) a file is written, measured and deleted. Each reading runs in a
process of its own, with the file dropped from the page cache before it:

- `disk` reads the file in blocks and does nothing with them;
- `json.loads` parses every line and throws the result away;
- `stepjudge` reads every trace.

MB/s is by the clock, so that the first and the last compare; MB/CPU s tells the same on a machine that others use too.
Peak memory is of the process and its children. Where the system cannot drop a file from its cache, `disk` says "cached".
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_BLOCK = 2**20
_TRACE = 100_000
"""Characters of results in one trace, about."""
_LINE = 'File "src/überblick.py", line 42, in read: the quick brown fox {"key": "value"} at C:\\temp\n'
_POOL = "".join(_LINE[: 20 + 7 * n % 70] + ("\n" if n % 3 else "") for n in range(4000))


def page(chance: random.Random, size: int) -> str:
    """A result like those of tools: lines of words, quotes and paths, some letters beyond ASCII."""
    start = chance.randrange(len(_POOL) - size)
    return f"{chance.random()}\n{_POOL[start : start + size]}"


def chat(number: int, pages: Iterator[str]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {number}"}]
    for step, said in enumerate(pages):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "read", "arguments": f'{{"page": {step}}}'}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": said},
        ]
    return {"messages": [*messages, {"role": "assistant", "content": "Done."}]}


def anthropic(number: int, pages: Iterator[str]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {number}"}]
    for step, said in enumerate(pages):
        call = {"type": "tool_use", "id": f"c{step}", "name": "read", "input": {"page": step}}
        result = {"type": "tool_result", "tool_use_id": f"c{step}", "content": [{"type": "text", "text": said}]}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return {"messages": [*messages, {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]}


def atif(number: int, pages: Iterator[str]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": f"Task {number}"}]
    for step, said in enumerate(pages):
        call = {"tool_call_id": f"c{step}", "function_name": "read", "arguments": {"page": step}}
        seen = {"results": [{"source_call_id": f"c{step}", "content": said}]}
        spent = {"prompt_tokens": 900, "completion_tokens": 20, "cost_usd": 0.01}
        steps.append(
            {"source": "agent", "message": "", "tool_calls": [call], "observation": seen, "metrics": spent}
            | {"step_id": step + 2}
        )
    last = {"step_id": len(steps) + 1, "source": "agent", "message": "Done."}
    run = {"schema_version": "ATIF-v1.6", "session_id": f"s{number}", "agent": {"name": "a", "version": "1"}}
    return {**run, "steps": [*steps, last]}


def canonical(number: int, pages: Iterator[str]) -> dict[str, Any]:
    from stepjudge.formats import read_document

    (trace,) = read_document(atif(number, pages))
    return trace.model_dump(mode="json")


_WRITERS: dict[str, Callable[[int, Iterator[str]], dict[str, Any]]] = {
    "openai-chat": chat,
    "anthropic-messages": anthropic,
    "atif": atif,
    "stepjudge": canonical,
}
SHAPES = ("openai-chat-50kB", *(f"{name}-5kB" for name in _WRITERS), "openai-chat-1kB")


def write(path: Path, shape: str, megabytes: int) -> None:
    name, _, size = shape.removesuffix("kB").rpartition("-")
    characters = int(size) * 1000
    chance = random.Random(shape)
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < megabytes * 2**20:
            pages = (page(chance, characters) for _ in range(_TRACE // characters))
            file.write(json.dumps(_WRITERS[name](number, pages), ensure_ascii=False) + "\n")
            number += 1
        file.flush()
        os.fsync(file.fileno())  # what is not on the disk yet cannot be dropped from the cache


def drop(path: Path) -> bool:
    """Drops the file from the page cache, where the system can."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def only_read(path: Path) -> int:
    with path.open("rb", buffering=0) as file:
        while file.read(_BLOCK):
            pass
    return 0


def only_parse(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line))


def read(path: Path) -> int:
    from stepjudge.formats import read_file

    return sum(1 for _ in read_file(path))


READINGS = {"disk": only_read, "json.loads": only_parse, "stepjudge": read}


def one(name: str, path: Path) -> None:
    """Prints traces, seconds, seconds of CPU and peak resident megabytes."""
    started, before = time.perf_counter(), time.process_time()
    traces = READINGS[name](path)
    seconds, busy = time.perf_counter() - started, time.process_time() - before
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(traces, seconds, busy, peak / (2**20 if sys.platform == "darwin" else 2**10))


def measure(title: str, path: Path) -> None:
    size = path.stat().st_size / 2**20
    print(f"\n{title}: {size:.0f} MB")
    print(f"{'':12} {'MB/s':>7} {'of disk':>8} {'MB/CPU s':>9} {'× json':>7} {'peak MB':>8} {'traces':>8}")
    clocks: dict[str, float] = {}
    busy: dict[str, float] = {}
    counts: dict[str, int] = {}
    for name in READINGS:
        cold = drop(path)
        command = [sys.executable, __file__, "--one", name, str(path)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        counts[name], (clocks[name], busy[name], peak) = int(told[0]), map(float, told[1:])
        of_disk = f"{clocks['disk'] / clocks[name]:.0%}" if cold else "cached"
        of_json = "" if name == "disk" else f"{busy[name] / busy['json.loads']:.1f}"
        speeds = f"{size / clocks[name]:7.0f} {of_disk:>8} {size / max(busy[name], 1e-9):9.0f} {of_json:>7}"
        print(f"{name:12} {speeds} {peak:8.0f} {counts[name] or '':>8}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--shape", choices=SHAPES, nargs="+", default=SHAPES)
    parser.add_argument("--file", type=Path, help="measure a JSONL of your own instead")
    parser.add_argument("--one", nargs=2, metavar=("READING", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], Path(arguments.one[1]))
        return
    if arguments.file:
        measure(arguments.file.name, arguments.file)
        return
    for shape in arguments.shape:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "traces.jsonl")
            write(path, shape, arguments.megabytes)
            measure(shape, path)


if __name__ == "__main__":
    main()

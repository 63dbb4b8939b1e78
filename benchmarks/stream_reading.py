"""Reads a large JSONL of traces: speed beside the bound of only parsing its lines, and resident memory.

python benchmarks/stream_reading.py [--megabytes 1024]

Each reading runs in a process of its own over one file that this command writes and deletes. The bound parses every line
with the standard library and throws the result away: no reader that looks at JSON with it can be faster.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def write(path: Path, megabytes: int) -> int:
    """A file of chat traces of about 100 kB each, all different; how many."""
    traces = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 2**20:
            file.write(json.dumps(chat(traces)) + "\n")
            traces += 1
    return traces


def chat(number: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {number}"}]
    for step in range(20):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "read", "arguments": f'{{"page": {step}}}'}}
        page = f"page {step} of {number}: " + "the quick brown fox jumps over the lazy dog\n" * 110
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": page},
        ]
    return {"messages": [*messages, {"role": "assistant", "content": "Done."}]}


def parse_only(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line))


def read(path: Path) -> int:
    from stepjudge.formats import read_file

    return sum(1 for _ in read_file(path))


def measured(name: str, path: Path) -> tuple[int, float, float]:
    """(traces, seconds, peak resident megabytes) of one reading in a process of its own."""
    run = subprocess.run(
        [sys.executable, __file__, "--one", name, str(path)], capture_output=True, text=True, check=True
    )
    traces, seconds, resident = run.stdout.split()
    return int(traces), float(seconds), float(resident)


def one(name: str, path: Path) -> None:
    started = time.process_time()
    traces = {"bound": parse_only, "stepjudge": read}[name](path)
    seconds = time.process_time() - started
    print(traces, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--one", nargs=2, metavar=("READING", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], Path(arguments.one[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "traces.jsonl")
        written = write(path, arguments.megabytes)
        size = path.stat().st_size / 2**20
        print(f"{written} traces, {size:.0f} MB\n")
        print(f"{'':12} {'CPU s':>8} {'MB/CPU s':>9} {'peak MB':>8} {'× bound':>8}")
        seconds_of_bound = 0.0
        for name in ("bound", "stepjudge"):
            traces, seconds, resident = measured(name, path)
            assert traces == written, f"{name} read {traces} of {written} traces"
            seconds_of_bound = seconds_of_bound or seconds
            ratio = seconds / seconds_of_bound
            print(f"{name:12} {seconds:8.1f} {size / seconds:9.0f} {resident:8.0f} {ratio:8.2f}")


if __name__ == "__main__":
    main()

"""Runs every benchmark of speed and cost once, small, and writes one page with what they print.

    python benchmarks/all.py OUTPUT.md [--full]

`--full` runs them at the sizes that docs/performance.md speaks of.
"""

import argparse
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
RUNS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("startup.py", ("--rounds", "3"), ("--rounds", "9")),
    ("prefixes.py", ("--steps", "10,50"), ("--steps", "10,50,200")),
    ("judging.py", ("--steps", "200", "--rounds", "1"), ("--steps", "1000", "--rounds", "5")),
    (
        "long_trace.py",
        ("--steps", "50,100,200", "--megabytes", "5", "--bulk", "1000,2000"),
        ("--model",),
    ),
    (
        "peers.py",
        ("--judgements", "50", "--rounds", "1", "--patience", "200"),
        ("--judgements", "500", "--rounds", "5"),
    ),
)
"""Script, its arguments, and its arguments with `--full`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    with options.output.open("w") as page:
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        page.write(f"# Benchmarks, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n\n")
        page.write(f"{os.cpu_count()} cores, load {load} at the start, Python {sys.version.split()[0]}.\n")
        for script, small, full in RUNS:
            arguments = full if options.full else small
            began = time.perf_counter()
            done = subprocess.run(
                [sys.executable, HERE / script, *arguments], capture_output=True, text=True, check=False
            )
            said = done.stdout if done.returncode == 0 else f"{done.stdout}failed:\n{done.stderr[-2_000:]}"
            table = said if "\n|" in said else f"```\n{said.rstrip()}\n```\n"
            page.write(f"\n## {script} {' '.join(arguments)}\n\n{table}\nTook {time.perf_counter() - began:.0f} s.\n")
            page.flush()
            sys.stderr.write(f"{script}: exit code {done.returncode}\n")


if __name__ == "__main__":
    main()

"""stepjudge beside seven evaluators and bare aiohttp: the same number of judgements against the same fake model API.

    python benchmarks/peers.py [--judgements 500] [--at-once 50] [--rounds 3] [--only aiohttp,stepjudge,ragas]

The model API answers after 200 ms. Each peer runs in its own process, in an environment that uv makes on first use with
pinned versions (tests/hosts.py), with its own retries. Ideal is the time that so many answers take with so many at once.
Processor time is the client's own, without imports. Under faults 5% of requests are refused, 2% meet an error of the
server and 2% get a malformed reply; a judgement is lost when it ends without a verdict. Figures are medians of the
rounds, and ratios medians of the rounds' ratios. Peers may be told to stop after --patience seconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provider_process import provider_process

from hosts import QUIET, interpreter

LATENCY_S = 0.2
PEERS = {
    "aiohttp": None,
    "stepjudge": None,
    "phoenix": "phoenix",
    "mlflow": "mlflow",
    "ragas": "ragas",
    "openevals": "langsmith",
    "pydantic_evals": "pydantic-evals",
    "inspect_ai": "inspect-ai",
    "deepeval": "deepeval",
}
"""Drivers, and the host whose environment each runs in; null for our own."""


@dataclass(frozen=True)
class Figures:
    version: str
    wall_s: float
    cpu_s: float
    ok: int


def ran(peer: str, options: argparse.Namespace, *, trouble: bool) -> Figures | str:
    """What the driver measured, or why there is nothing."""
    host = PEERS[peer]
    python = Path(sys.executable) if host is None else interpreter(host)
    script = "judge" if peer == "stepjudge" else peer
    with (
        provider_process(latency=LATENCY_S, trouble=trouble, script=script) as provider,
        tempfile.TemporaryDirectory() as home,
    ):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        command = [str(python), str(Path(__file__).parent / "peers" / f"{peer}.py"), provider.base_url]
        command += [str(options.judgements), str(options.at_once)]
        environ = {**kept, "HOME": home, **QUIET}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, cwd=home, env=environ, timeout=options.patience
            )
        except subprocess.TimeoutExpired:
            return f"did not end in {options.patience:.0f} s"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or [''])[-1][:200]}"
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return Figures(**told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgements", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--patience", type=float, default=400.0)
    options = parser.parse_args()
    chosen = options.only.split(",")
    ideal = options.judgements / options.at_once * LATENCY_S
    calm: dict[str, list[Figures | str]] = {peer: [] for peer in chosen}
    faulty: dict[str, list[Figures | str]] = {peer: [] for peer in chosen}
    for _ in range(options.rounds):
        for peer in chosen:  # in turn, so that a busy minute of the machine meets all of them
            calm[peer].append(ran(peer, options, trouble=False))
            faulty[peer].append(ran(peer, options, trouble=True))
    print(
        f"{options.judgements} judgements, {options.at_once} at once, {LATENCY_S * 1000:.0f} ms; ideal {ideal:.2f} s; rounds: {options.rounds}"
    )
    print(
        "| peer | version | wall / ideal | CPU ms a judgement | x aiohttp | lost under faults | wall / ideal under faults |"
    )
    print("|---|---|---|---|---|---|---|")
    for peer in chosen:
        print(row(peer, calm, faulty, options.judgements, ideal))


def row(
    peer: str, calm: dict[str, list[Figures | str]], faulty: dict[str, list[Figures | str]], count: int, ideal: float
) -> str:
    good = [each for each in calm[peer] if isinstance(each, Figures)]
    troubled = [each for each in faulty[peer] if isinstance(each, Figures)]
    why = next((each for each in (*calm[peer], *faulty[peer]) if isinstance(each, str)), "")
    if not good:
        return f"| {peer} | {why} | | | | | |"
    pairs = zip(calm[peer], calm.get("aiohttp", []), strict=False)
    ratios = [a.cpu_s / b.cpu_s for a, b in pairs if isinstance(a, Figures) and isinstance(b, Figures)]
    cells = [
        peer,
        good[0].version,
        f"{statistics.median(each.wall_s for each in good) / ideal:.2f}",
        f"{statistics.median(1000 * each.cpu_s / count for each in good):.2f}",
        f"{statistics.median(ratios):.1f}" if ratios else "",
        f"{statistics.median(count - each.ok for each in troubled):.0f}" if troubled else why,
        f"{statistics.median(each.wall_s for each in troubled) / ideal:.2f}" if troubled else "",
    ]
    calm_lost = max(count - each.ok for each in good)
    return f"| {' | '.join(cells)} |" + (f" ({calm_lost} lost without any fault)" if calm_lost else "")


if __name__ == "__main__":
    main()

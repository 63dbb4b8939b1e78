"""Bulk scoring on a Ray cluster of two nodes, whose workers share a real Redis and a real PostgreSQL.

Runs where Ray is installed (`pip install 'stepjudge[ray]'`): starting the nodes takes tens of seconds of processor time.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.provider import Provider
from scripted import always
from servers import Postgres, Redis

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")

CLUSTER = """
import json, os, subprocess, sys
from ray.cluster_utils import Cluster

cluster = Cluster()
while len(cluster.list_all_nodes()) < 2:
    try:
        cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20, include_dashboard=False)
    except Exception as error:  # Ray gives a node half a minute to start, which is not enough on a busy machine
        print(error, file=sys.stderr)
cluster.wait_for_nodes()
done = [
    subprocess.run(json.loads(sys.argv[1]), env={**os.environ, "RAY_ADDRESS": cluster.address}, capture_output=True, text=True)
    for _ in range(2)
]
cluster.shutdown()
print(json.dumps([[each.returncode, each.stderr] for each in done]))
"""


def test_two_nodes_score_every_trace_once_and_a_second_run_finds_all_done(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.jsonl" for name in "ab"]
    for file in files:
        file.write_text("".join(json.dumps(_trace(f"{file.stem}{number}")) + "\n" for number in range(6)) + "{broken\n")
    output = tmp_path / "out.jsonl"
    with Redis() as redis, Postgres() as postgres, Provider(always("yes")) as provider:
        environ = {
            **os.environ,
            "STEPJUDGE_DATA_DIR": str(tmp_path / "data"),
            "STEPJUDGE_LEDGER_URL": postgres.new_database(),
            "STEPJUDGE_CACHE_URL": redis.url,
            "STEPJUDGE_API_BASE": provider.base_url,
            "STEPJUDGE_JUDGE": "openai/fake",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        command = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", "score", *map(str, files)]
        command += ["--output", str(output), "--ray", "--jobs", "2"]
        told = subprocess.run(
            [sys.executable, "-c", CLUSTER, json.dumps(command)],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        asked = provider.count
    assert told.returncode == 0, told.stderr
    first, second = json.loads(told.stdout.splitlines()[-1])
    lines: list[dict[str, Any]] = [json.loads(line)["value"] for line in output.read_text().splitlines()]
    assert first[0] == 1, first[1]
    assert "14 traces, 12 steps" in first[1]
    assert [sum("scorecard" in line for line in lines), asked] == [12, 12]
    assert "12 traces were finished before" in second[1], second[1]


def _trace(name: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"Say {name}."}, {"role": "assistant", "content": name}]}

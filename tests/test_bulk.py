"""Bulk scoring over a real provider and real files: what is read, what is left out, and what a kill loses."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepjudge.bulk import Bulk, Tally, entries_of
from stepjudge.client import AsyncJudgeClient
from stepjudge.contract import Scorecard

from fakes.faults import SERVER_ERROR, first
from fakes.provider import Provider
from scripted import always


def _trace(number: int, steps: int = 1) -> dict[str, Any]:
    said = [{"role": "assistant", "content": f"Part {index} of answer {number}."} for index in range(steps)]
    return {"messages": [{"role": "user", "content": f"Question {number}?"}, *said]}


def _written(path: Path, lines: Sequence[object]) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["value"] for line in path.read_text().splitlines()]


async def _run(files: Sequence[Path], output: Path, data_dir: Path, provider: Provider, **bulk: Any) -> Tally:
    settings: dict[str, Any] = {"judge": "openai/fake", "api_base": provider.base_url, "max_cost_usd": None}
    client = AsyncJudgeClient.embedded(data_dir=data_dir, **settings)
    async with client:
        return await Bulk(client, files, output, {}, **bulk).run()


async def test_every_trace_has_a_line_whether_it_could_be_read_or_not(tmp_path: Path) -> None:
    first_file = _written(tmp_path / "a.jsonl", [_trace(1), "{broken", _trace(2), {"no": "trace"}, _trace(3, steps=2)])
    with Provider(always("yes")) as provider:
        files = [first_file, tmp_path / "missing.json", _written(tmp_path / "b.json", [_trace(4)])]
        tally = await _run(files, tmp_path / "out.jsonl", tmp_path / "data", provider, jobs=2)

    assert (tally.done, tally.failed, tally.steps, tally.undetermined) == (7, 3, 5, 0)
    lines = _lines(tmp_path / "out.jsonl")
    assert len({(line["source"], line["number"]) for line in lines}) == 7
    cards = [Scorecard.model_validate(line["scorecard"]) for line in lines if "scorecard" in line]
    assert sorted(len(card.steps) for card in cards) == [1, 1, 1, 2]
    errors = sorted(line["error"].removeprefix(f"{tmp_path}/")[:16] for line in lines if "error" in line)
    assert errors == ["a.jsonl: line 2,", "a.jsonl: line 4:", "missing.json: ca"]


async def test_what_an_earlier_run_finished_is_neither_scored_nor_paid_again(tmp_path: Path) -> None:
    file = _written(tmp_path / "a.jsonl", [_trace(number) for number in range(5)])
    with Provider(always("yes"), faults=first(5, SERVER_ERROR)) as provider:
        judge = {"model": "openai/fake", "api_base": provider.base_url, "attempts": 1}
        settings: dict[str, Any] = {"judge": "fake", "judges": {"fake": judge}, "max_cost_usd": None}

        async def run() -> Tally:
            client = AsyncJudgeClient.embedded(data_dir=tmp_path / "data", **settings)
            async with client:
                return await Bulk(client, [file], tmp_path / "out.jsonl", {}, jobs=1).run()

        failing, mended, nothing = await run(), await run(), await run()

    assert (failing.done, failing.unfinished) == (5, 5)
    assert (mended.done, mended.unfinished, mended.kept) == (5, 0, 0)
    assert (nothing.done, nothing.kept) == (0, 5)


async def test_other_options_are_another_scoring(tmp_path: Path) -> None:
    file = _written(tmp_path / "a.jsonl", [_trace(1, steps=3)])
    async with AsyncJudgeClient.embedded(data_dir=tmp_path / "data") as client:
        await Bulk(client, [file], tmp_path / "out.jsonl", {}).run()
        narrower = await Bulk(client, [file], tmp_path / "out.jsonl", {"steps": "1"}).run()
    assert (narrower.done, narrower.steps) == (1, 1)


def test_traces_are_read_only_as_they_are_needed(tmp_path: Path) -> None:
    file = _written(tmp_path / "a.jsonl", [*(_trace(number) for number in range(100)), "{broken"])
    entries = entries_of([file], None)
    assert [next(entries).number for _ in range(3)] == [1, 2, 3]


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    count = 40
    file = _written(tmp_path / "a.jsonl", [_trace(number) for number in range(count)])
    output = tmp_path / "out.jsonl"
    with Provider(always("yes"), latency=0.05) as provider:
        environ = {
            **os.environ,
            "STEPJUDGE_DATA_DIR": str(tmp_path / "data"),
            "STEPJUDGE_API_BASE": provider.base_url,
            "STEPJUDGE_JUDGE": "openai/fake",
        }
        command = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", "score", str(file)]
        command += ["--output", str(output), "--jobs", "2"]
        process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and (not output.exists() or output.read_bytes().count(b"\n") < 5):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        written = output.read_bytes().count(b"\n")
        asked = provider.count
        again = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        paid = provider.statuses[200]

    assert again.returncode == 0, again.stderr
    assert 5 <= written < count
    lines = _lines(output)
    assert sorted(line["number"] for line in lines) == list(range(1, count + 1))
    assert paid <= count + 2, f"{asked} asked before the kill: at most the two under way are paid twice"
    assert "were finished before" in again.stderr


async def test_a_limit_that_is_ample_stops_no_trace_whose_requests_could_cost_more_than_they_do(tmp_path: Path) -> None:
    file = _written(tmp_path / "a.jsonl", [_trace(number) for number in range(4)])
    with Provider(always("yes")) as provider:
        prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
        judge = {"model": "openai/fake", "api_base": provider.base_url, **prices}
        settings: dict[str, Any] = {"judge": "fake", "judges": {"fake": judge}, "max_cost_usd": None}
        async with AsyncJudgeClient.embedded(data_dir=tmp_path / "data", **settings) as client:
            tally = await Bulk(client, [file], tmp_path / "out.jsonl", {}, jobs=2, max_cost_usd=1.0).run()
    assert (tally.done, tally.undetermined) == (4, 0)

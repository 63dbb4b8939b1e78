"""Inspect Scout: its own scans over logs that Inspect wrote, in process and from the command line, and their results."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hosts
from documented import block
from judged import Judged, judged

SCRIPT = """
import json, runpy, sys
from importlib.metadata import entry_points
from pathlib import Path

def main(url, dead):
    log = runpy.run_path("agent.py", run_name="__main__")["log"]
    said = {sample.id: [each.id for each in sample.messages if each.role == "assistant"] for sample in log.samples if sample.epoch == 1}
    Path("said.json").write_text(json.dumps(said))
    page = runpy.run_path("example.py", run_name="__main__")

    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate
    from inspect_scout import scan, scan_list, scan_results_df, transcripts_from
    from stepjudge.adapters.inspect_scout import step_scanner

    def written(name, status):
        results = scan_results_df(status.location)
        (columns,) = results.scanners.values()
        Path(f"{name}.json").write_text(json.dumps({"complete": status.complete, "rows": json.loads(columns.to_json(orient="records"))}))

    def scanned(name, where="logs", **options):
        written(name, scan([step_scanner(**options)], transcripts=transcripts_from(where), scans=name, display="none", max_processes=1))

    written("page", page["status"])
    scanned("again", url=url)
    scanned("dead", url=dead)
    scanned("precision", url=url, score="tool_call_precision")

    def count(messages, tools, tool_choice, config):
        output = ModelOutput.from_content("mockllm/model", messages[0].text + " is a number.")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    hundred = Task(dataset=[Sample(input=str(number), target="SECRET-TARGET") for number in range(100)], solver=generate())
    eval(hundred, model=get_model("mockllm/model", custom_outputs=count), log_dir="hundred-logs", display="none")
    scanned("hundred", "hundred-logs", url=url)

    (command,) = entry_points(group="console_scripts", name="scout")
    sys.argv = ["scout", "scan", "stepjudge/step_scanner", "-T", "logs", "-S", f"url={url}", "--scans", "by-command", "--display", "none",
                "--max-processes", "2"]
    try:
        command.load()()
    except SystemExit as stopped:
        assert not stopped.code, stopped.code
    written("command", scan_list("by-command")[0])

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


class Scans:
    """What Scout wrote: the rows of its data frames."""

    def __init__(self, folder: Path, printed: str, service: Judged) -> None:
        self._folder = folder
        self.printed = printed
        self.service = service

    def complete(self, name: str) -> bool:
        return self._read(name)["complete"]

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self._read(name)["rows"]

    def values(self, name: str) -> dict[tuple[str, int], float | None]:
        """Where a value is missing, Scout writes all of them as text."""
        return {
            (row["transcript_task_id"], row["transcript_task_repeat"]): None
            if row["value"] is None
            else float(row["value"])
            for row in self.rows(name)
        }

    def row(self, name: str, sample: str) -> dict[str, Any]:
        """Of the sample's first epoch."""
        (row,) = (r for r in self.rows(name) if (r["transcript_task_id"], r["transcript_task_repeat"]) == (sample, 1))
        return row

    def said(self, sample: str) -> list[str]:
        """The ids of the agent's messages in the sample's first epoch."""
        return json.loads((self._folder / "said.json").read_text())[sample]

    def _read(self, name: str) -> dict[str, Any]:
        return json.loads((self._folder / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scans]:
    folder = tmp_path_factory.mktemp("scout")
    (folder / "agent.py").write_text(block("adapters/inspect-ai.md"))
    (folder / "example.py").write_text(block("adapters/inspect-scout.md"))
    with (
        judged(folder / "service", concurrency=8, latency=0.05) as service,
        judged(folder / "without", provider_is_up=False) as dead,
    ):
        printed = hosts.run("inspect-scout", SCRIPT, service.url, dead.url, folder=folder, STEPJUDGE_URL=service.url)
        yield Scans(folder, printed, service)


def test_the_page_says_how_and_its_example_runs(scans: Scans) -> None:
    assert scans.printed.count("lima 0.667 step_level 0.667 (2/3)") == 2, "one for each epoch"
    assert scans.complete("page")
    assert scans.values("page") == {
        **{(city, epoch): pytest.approx(2 / 3) for city in ("lima", "cusco") for epoch in (1, 2)},
        **{("thanks", epoch): 1.0 for epoch in (1, 2)},
    }


def test_a_result_explains_itself_and_refers_to_the_message_of_each_step_that_does_not_pass(scans: Scans) -> None:
    row = scans.row("page", "lima")
    assert "scripted: step 2 brought nothing" in row["explanation"]
    (reference,) = json.loads(row["message_references"])
    assert reference == {"type": "message", "cite": "step 2 (weather)", "id": scans.said("lima")[1]}
    metadata = json.loads(row["metadata"])
    assert metadata["scores"]["tool_call_precision"] == 0.5
    assert [step["passes"] for step in metadata["steps"]] == [True, False, True]


def test_what_the_scorer_has_asked_is_not_asked_again(scans: Scans) -> None:
    for name in ("page", "again", "command"):
        assert {json.loads(row["metadata"])["requests"] for row in scans.rows(name)} == {0}
        assert scans.values(name) == scans.values("page")


def test_a_failed_judge_is_a_scan_error_to_be_tried_again(scans: Scans) -> None:
    assert not scans.complete("dead")
    assert {row["value"] for row in scans.rows("dead")} == {None}
    assert all("the judge failed" in row["scan_error"] for row in scans.rows("dead"))


def test_a_score_that_does_not_apply_is_a_result_without_a_value(scans: Scans) -> None:
    assert scans.complete("precision")
    assert scans.values("precision")["thanks", 1] is None
    assert scans.values("precision")["lima", 1] == 0.5
    assert "tool_call_precision has nothing to count" in scans.row("precision", "thanks")["explanation"]


def test_a_hundred_transcripts_at_once_hold_to_the_limits_of_the_service(scans: Scans) -> None:
    assert [row["value"] for row in scans.rows("hundred")] == [1.0] * 100
    assert 1 < scans.service.provider.in_flight_peak <= 8
    assert not any("SECRET-TARGET" in request.user for request in scans.service.provider.requests)

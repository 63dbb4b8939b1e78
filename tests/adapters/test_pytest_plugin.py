"""The pytest plugin, in a pytest of its own that finds it by its entry point and asks a real service."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from documented import block
from judged import Judged, documents, judged

HEAD = """
import json
from pathlib import Path
from stepjudge import assert_steps as imported

TRACES = {name: json.loads(Path(f"{name}.json").read_text()) for name in ("pytest-5262", "museum", "small")}
"""

ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Without the many plugins of this environment, which take seconds to load."""


class Pytest:
    """Runs a test module in a folder and keeps what pytest printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, document in documents().items():
            (folder / f"{name}.json").write_text(json.dumps(document))

    def __call__(self, tests: str, *arguments: str, **environment: str) -> tuple[int, str]:
        (self.folder / "test_agent.py").write_text(HEAD + tests)
        (self.folder / "pytest.ini").touch()
        plugin = ("-p", "stepjudge.adapters.pytest_plugin")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *arguments]
        inherited = {"HOME": str(self.folder), "PYTHONUTF8": "1", "COLUMNS": "200", **ALONE}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, env={**inherited, **environment}
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def run(tmp_path: Path) -> Pytest:
    return Pytest(tmp_path)


def test_a_test_passes_when_enough_steps_do_and_the_summary_says_how_many(run: Pytest, service: Judged) -> None:
    tests = """
def test_by_fixture(assert_steps):
    reading = assert_steps(TRACES["pytest-5262"], rubric="step", at_least=0.8)
    assert reading.rates["step_level"].numerator == 7

def test_by_import():
    imported("small.json", at_least=0.6)
    imported(TRACES["small"], at_least=1.0, score="argument_accuracy")

async def test_nothing_to_do_with_steps():
    pass
"""
    code, said = run(tests, "--stepjudge-url", service.url, "-k", "by")

    assert code == 0, said
    summary = said[said.index("step scores") :]
    assert "test_agent.py::test_by_fixture: passed: " in summary
    assert "step_level 0.875 (7/8)" in summary
    assert "argument_accuracy 1.000 (2/2)" in summary
    assert "3 assertions about steps, 0 of them not scored" in summary


def test_a_failure_names_the_step_the_answer_and_the_evidence(run: Pytest, service: Judged) -> None:
    tests = """
def test_museum(assert_steps):
    assert_steps(TRACES["museum"], at_least=0.8)
"""
    code, said = run(tests, f"--junitxml={run.folder / 'junit.xml'}", STEPJUDGE_URL=service.url)

    assert code == 1
    for line in (
        "step_level is below 0.8",
        "step_level 0.500 (3/6), tool_call_precision 0.400 (2/5)",
        "judge openai/scripted (provisional: the judge is not validated against human labels)",
        "step 3 (read_page): bad",
        "valid (call 1): no: the environment rejected the call",
        "s3.c1.result: “Error: invalid arguments for read_page: 'page' must be an integer, got 'first'”",
    ):
        assert line in said
    assert "adapters/assertion.py" not in said, "our own frames are of no interest"
    xml = ElementTree.parse(run.folder / "junit.xml")
    noted = [each.attrib["value"] for each in xml.iter("property") if each.attrib["name"] == "stepjudge"]
    assert [each.split(":")[0] for each in noted] == ["failed"]


@pytest.mark.parametrize(
    ("arguments", "code", "counted"),
    [((), 1, "1 failed"), (("--stepjudge-when-not-scored=skip",), 0, "1 skipped")],
)
def test_a_judge_that_fails_is_not_scored_which_fails_or_skips_as_chosen(
    run: Pytest, without_judge: Judged, arguments: tuple[str, ...], code: int, counted: str
) -> None:
    tests = """
def test_small(assert_steps):
    assert_steps(TRACES["small"], at_least=0.0)
"""
    got, said = run(tests, *arguments, STEPJUDGE_URL=without_judge.url)

    assert (got, counted in said) == (code, True), said
    assert "the judge failed (provider)" in said
    assert "1 assertions about steps, 1 of them not scored" in said
    assert ("NotScored" in said) == (code == 1)


def test_a_service_that_is_not_there_is_not_scored(run: Pytest) -> None:
    tests = """
import pytest, stepjudge
from stepjudge.errors import NotScored

def test_small(assert_steps):
    with pytest.raises(NotScored, match="no answer from") as caught:
        assert_steps(TRACES["small"], at_least=0.5)
    assert caught.value.reason == "unreachable"
"""
    code, said = run(tests, STEPJUDGE_URL="http://127.0.0.1:9")
    assert code == 0, said


def test_undetermined_steps_decide_only_within_the_allowed_share(run: Pytest, tmp_path: Path) -> None:
    def unsure_of_the_second(step: int, _unit: str, criterion: str) -> Mapping[str, Any] | str:
        if criterion == "recovery":
            return "not_applicable"
        return "undetermined" if step == 2 else "yes"

    tests = """
import pytest
from stepjudge.errors import NotScored

def test_holds_whatever_the_second_step_is(assert_steps):
    assert_steps(TRACES["small"], at_least=0.6)

def test_would_turn_on_it(assert_steps):
    with pytest.raises(NotScored, match="between 0.667 and 1.000, on either side of 0.9: 1 of 3 are undetermined"):
        assert_steps(TRACES["small"], at_least=0.9)

def test_is_let_through(assert_steps):
    assert_steps(TRACES["small"], at_least=0.9, max_undetermined=0.34)
"""
    with judged(tmp_path / "unsure", answers=unsure_of_the_second) as service:
        code, said = run(tests, STEPJUDGE_URL=service.url)
    assert code == 0, said
    assert "3 assertions about steps, 1 of them not scored" in said


def test_options_may_stand_in_the_configuration_and_keywords_come_first(run: Pytest, service: Judged) -> None:
    (run.folder / "tox.ini").write_text("")
    tests = """
import pytest
from stepjudge.errors import NotScored

def test_of_the_configuration(assert_steps):
    with pytest.raises(NotScored, match="no judge 'nobody'"):
        assert_steps(TRACES["small"], at_least=0.5)

def test_of_the_keyword(assert_steps):
    assert assert_steps(TRACES["small"], at_least=0.5, judge="openai/scripted").judge == "openai/scripted"
"""
    code, said = run(tests, "-o", "stepjudge_judge=nobody", "-o", f"stepjudge_url={service.url}")
    assert code == 0, said
    inside = """
def test_of_an_embedded_service(assert_steps, tmp_path):
    assert assert_steps(TRACES["small"], at_least=0, judge="rules", data_dir=tmp_path, max_undetermined=1).judge == "rules"
"""
    code, said = run(inside, "-o", "stepjudge_url=http://127.0.0.1:9", "-o", "stepjudge_when_not_scored=skip")
    assert "only for the embedded service" not in said, said
    assert "no answer from" not in said, said
    code, said = run(tests, "-o", "stepjudge_when_not_scored=maybe")
    assert (code, "write fail or skip" in said) == (4, True), said


def test_the_plugin_is_found_by_its_entry_point_and_imports_nothing_heavy() -> None:
    script = """
import sys
from importlib.metadata import entry_points
[plugin] = entry_points(group="pytest11", name="stepjudge")
plugin.load()
print(sorted({"pydantic", "anyio", "httpx2", "yaml", "stepjudge.trace"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_is_true(run: Pytest, service: Judged) -> None:
    (run.folder / "trace.json").write_text(json.dumps(documents()["museum"]))
    code, said = run(block("adapters/pytest.md"), STEPJUDGE_URL=service.url)
    assert code == 0, said

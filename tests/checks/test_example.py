"""The example's outcome is real: the repository's own tests run in what the recorded agent left, and in the base.

Slow for a good reason: two environments are installed, and pytest 4.5 runs its tests in each.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from checks.checking import ROOT, checked
from stepjudge.checks import CheckResult
from stepjudge.formats import read_file

EXAMPLE = ROOT / "examples" / "pytest-5262"
SHARED = ROOT.parent / "shared" / "data" / "pytest-5262"


def prepared(folder: Path, *options: str) -> Path:
    done = subprocess.run(
        [sys.executable, EXAMPLE / "prepare.py", *options, folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def final(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("final"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("base"), "--base")


async def hidden_tests(environment: Path) -> CheckResult:
    suite = yaml.safe_load((EXAMPLE / "suite.yaml").read_text(encoding="utf-8"))
    (document,) = suite["tasks"][0]["checks"]
    return await checked(document, environment, folder=EXAMPLE)


async def test_the_recorded_attempt_solves_the_issue(final: Path) -> None:
    result = await hidden_tests(final)
    assert (result.outcome, result.reason) == ("pass", "1 of 1 FAIL_TO_PASS and 60 of 60 PASS_TO_PASS pass")


async def test_the_base_does_not(base: Path) -> None:
    result = await hidden_tests(base)
    assert (result.outcome, result.reason) == ("fail", "0 of 1 FAIL_TO_PASS and 60 of 60 PASS_TO_PASS pass")


async def test_an_attempt_that_breaks_pytest_itself_fails(final: Path) -> None:
    sources = final / "src" / "_pytest" / "capture.py"
    kept = sources.read_bytes()
    sources.write_text("this is no Python")
    try:
        assert (await hidden_tests(final)).outcome == "fail"
    finally:
        sources.write_bytes(kept)


def test_the_recorded_state_is_what_the_trace_says_the_agent_wrote(base: Path, final: Path) -> None:
    (trace,) = read_file(EXAMPLE / "trace.json")
    (edit,) = [
        call.arguments
        for _, _, call in trace.calls()
        if call.arguments is not None and call.arguments.get("command") == "str_replace"
    ]
    capture = Path("src/_pytest/capture.py")
    before, after = (base / capture).read_text(), (EXAMPLE / "environment" / capture).read_text()
    assert before.replace(str(edit["old_str"]), str(edit["new_str"])) == after
    assert (final / capture).read_text() == after
    subprocess.run(["git", "apply", EXAMPLE / "agent.patch"], cwd=base, check=True)
    try:
        assert (base / capture).read_text() == after
    finally:
        (base / capture).write_text(before)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_everything_else_is_as_at_the_base_commit(base: Path) -> None:
    for path in ("src/_pytest/capture.py", "testing/conftest.py", "testing/test_capture.py", "tox.ini", "LICENSE"):
        assert (base / path).read_bytes() == (SHARED / "base" / path).read_bytes()

"""The tests check: real pytest runs, and reports as hostile code would write them."""

import difflib
import sys
from pathlib import Path
from typing import Any

import pytest

from checks.checking import checked, outcome, written

CODE = "def double(x):\n    return x + x\n"
TESTS = """
import pytest
from code_under_test import double

class TestDouble:
    @pytest.mark.parametrize("x", [1, "a::b", "[c]"])
    def test_is_sum(self, x):
        assert double(x) == x + x

def test_of_two():
    assert double(2) == 4, "two"

@pytest.mark.skip
def test_left_out():
    pass

@pytest.fixture
def broken_end():
    yield
    raise RuntimeError("teardown")

def test_with_a_broken_end(broken_end):
    pass
"""
RUN = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml={report}"]
FILE = "tests/test_double.py"
REPORT = (
    '<testsuites><testsuite name="s"><testcase classname="a.b" name="ok"/>'
    '<testcase classname="a.b" name="no"><failure message="boom &#10; more"/></testcase></testsuite></testsuites>'
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(tmp_path / "root", **{"code_under_test.py": CODE, FILE: TESTS})


def asked(*fail_to_pass: str, **fields: Any) -> dict[str, Any]:
    document = {"kind": "tests", "argv": [*RUN, FILE], "env": {"PYTHONPATH": "."}, "fail_to_pass": fail_to_pass}
    return {**document, **fields}


@pytest.mark.parametrize(
    ("fail_to_pass", "pass_to_pass", "expected"),
    [
        (["test_of_two"], [], "pass"),
        (["TestDouble::test_is_sum[1]", "TestDouble::test_is_sum[a::b]", "TestDouble::test_is_sum[[c]]"], [], "pass"),
        (["test_of_two"], ["TestDouble::test_is_sum[1]"], "pass"),
        (["test_left_out"], [], "fail"),
        (["test_with_a_broken_end"], [], "fail"),
        (["test_of_two"], ["test_with_a_broken_end"], "fail"),
        (["test_absent"], [], "fail"),
    ],
)
async def test_named_tests_must_pass(
    root: Path, fail_to_pass: list[str], pass_to_pass: list[str], expected: str
) -> None:
    document = asked(*(f"{FILE}::{each}" for each in fail_to_pass))
    document["pass_to_pass"] = [f"{FILE}::{each}" for each in pass_to_pass]
    result = await checked(document, root)
    assert result.outcome == expected, result
    assert not list(root.rglob("__pycache__"))  # it ran in a copy


async def test_only_the_named_tests_run_when_the_command_asks_for_them(root: Path) -> None:
    named = asked(f"{FILE}::test_of_two", argv=[*RUN, "{tests}"])
    assert await outcome(named, root) == "pass"
    everything = {"kind": "tests", "argv": [*RUN, FILE], "env": {"PYTHONPATH": "."}}
    result = await checked(everything, root)
    assert (result.outcome, result.reason) == ("fail", "4 of 5 tests that ran pass")
    assert "test_with_a_broken_end: error: failed on teardown" in result.evidence[0].text


async def test_a_failing_test_says_why_and_the_same_failure_has_the_same_digest(root: Path) -> None:
    written(root, **{"code_under_test.py": "def double(x):\n    return 5\n"})
    one, two = [await checked(asked(f"{FILE}::test_of_two"), root) for _ in "12"]
    assert one.reason == "0 of 1 FAIL_TO_PASS pass"
    assert one.evidence[0].text == f"FAIL_TO_PASS {FILE}::test_of_two: failed: AssertionError: two"
    assert one.digest == two.digest


async def test_hidden_tests_replace_those_of_the_attempt_and_follow_no_link_it_planted(
    root: Path, tmp_path: Path
) -> None:
    suite = written(tmp_path / "suite", **{"hidden/test_double.py": TESTS})
    outside = written(tmp_path / "outside", **{"test_double.py": "untouched"})
    cheat = "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n    pass\n"
    (root / FILE).unlink()
    (root / FILE).symlink_to(outside / "test_double.py")
    written(root, **{"tests/conftest.py": cheat})
    document = asked(f"{FILE}::test_of_two", restore={"tests": "hidden"})
    assert await outcome(document, root, folder=suite) == "pass"
    (root / FILE).unlink()
    (root / "tests" / "conftest.py").unlink()
    (root / "tests").rmdir()
    (root / "tests").symlink_to(outside)
    assert await outcome(document, root, folder=suite) == "pass"
    assert (outside / "test_double.py").read_text() == "untouched"


async def test_a_patch_of_the_suite_is_applied_before_the_tests_run(root: Path, tmp_path: Path) -> None:
    hidden_tests = f"{TESTS}\ndef test_hidden():\n    assert double(3) == 6\n"
    lines = difflib.unified_diff(TESTS.splitlines(True), hidden_tests.splitlines(True), f"a/{FILE}", f"b/{FILE}")
    patch = "".join(lines)
    suite = written(
        tmp_path / "suite", **{"test.patch": patch, "bad.patch": patch.replace(" def test_with", " def other")}
    )
    hidden = f"{FILE}::test_hidden"
    assert await outcome(asked(hidden), root) == "fail"
    assert await outcome(asked(hidden, patch="test.patch"), root, folder=suite) == "pass"
    result = await checked(asked(hidden, patch="bad.patch"), root, folder=suite)
    assert result.outcome == "error"
    assert "the patch does not apply to the environment" in result.reason


@pytest.mark.parametrize("path", ["../outside.txt", "/tmp/outside.txt", "out/outside.txt"])
async def test_a_patch_does_not_leave_the_environment(root: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    suite = written(tmp_path / "suite", **{"test.patch": patch})
    assert await outcome(asked("a::b", patch="test.patch"), root, folder=suite) == "error"
    assert not list((tmp_path / "outside").iterdir())


async def test_tests_that_leave_no_report_are_an_error_unless_the_task_says_otherwise(root: Path) -> None:
    written(root, **{"tests/conftest.py": "raise SystemExit(3)"})
    document = asked(f"{FILE}::test_of_two")
    assert await outcome(document, root) == "error"
    assert await outcome({**document, "without_report": "fail"}, root) == "fail"
    absent = asked(f"{FILE}::test_of_two", argv=[".venv/bin/python", "{report}"], without_report="fail")
    assert await outcome(absent, root) == "error"


async def test_a_report_that_the_attempt_planted_is_not_taken_for_that_of_the_run(root: Path) -> None:
    written(root, **{"report.xml": REPORT})
    read = {"kind": "tests", "report": "report.xml", "fail_to_pass": ["a.b::ok"]}
    assert await outcome(read, root) == "pass"
    assert await outcome({**read, "argv": ["true"]}, root) == "error"
    assert await outcome({**read, "argv": ["touch", "x"], "without_report": "fail"}, root) == "fail"
    assert (root / "report.xml").read_text() == REPORT


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (REPORT, "pass"),
        (REPORT.replace("ok", "other"), "fail"),
        (REPORT.replace('name="no"', 'name="ok"'), "fail"),  # one name twice: the worse ending counts
        ("", "error"),
        ("no xml", "error"),
        ("<html/>", "error"),
        (REPORT[:-3], "error"),
        (f'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>{REPORT}', "error"),
        (f'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>{REPORT}', "error"),
        (f'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">{REPORT}', "error"),
        (f"{'<testsuite>' * 20_000}{REPORT}{'</testsuite>' * 20_000}", "pass"),
    ],
)
async def test_a_report_is_read_and_one_that_is_no_report_is_an_error(
    tmp_path: Path, report: str, expected: str
) -> None:
    written(tmp_path, **{"report.xml": report})
    document = {"kind": "tests", "report": "report.xml", "fail_to_pass": ["a.b::ok"]}
    result = await checked(document, tmp_path)
    assert result.outcome == expected, result
    assert "broke" not in result.reason


@pytest.mark.parametrize(("fields", "expected"), [({}, "error"), ({"timeout": "fail"}, "fail")])
async def test_tests_that_hang_are_an_error_unless_the_task_says_otherwise(
    root: Path, fields: dict[str, str], expected: str
) -> None:
    document = asked("a::b", argv=["sh", "-c", "sleep 60", "{report}"], timeout_s=2, **fields)
    result = await checked(document, root)
    assert result.outcome == expected, result
    assert "not done" in result.reason


HUGE = f"open(sys.argv[1], 'wb').truncate({2**26 + 1})"
KILLERS = ["os.kill(os.getppid(), 9); time.sleep(60)", "os._exit(127)", HUGE]


@pytest.mark.parametrize("code", KILLERS)
@pytest.mark.parametrize("expected", ["error", "fail"])
async def test_an_attempt_that_ends_its_runner_is_taken_as_the_task_says(root: Path, code: str, expected: str) -> None:
    argv = [sys.executable, "-c", f"import os, sys, time; {code}", "{report}"]
    result = await checked(asked("a::b", argv=argv, without_report=expected, timeout_s=20), root)
    assert result.outcome == expected, result
    assert "not done" not in result.reason

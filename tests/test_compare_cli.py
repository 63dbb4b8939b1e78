"""`stepjudge compare` and `stepjudge report`, over runs that `stepjudge evaluate` left."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepjudge.cli.compare import compare
from stepjudge.cli.evaluate import evaluate
from stepjudge.cli.report import report
from stepjudge.errors import StepjudgeError

from fakes.provider import Provider
from scripted import Scripted, always

SUITE = ["examples/suite", "--trials", "museum-architect=examples/museum/trace.json"]


def run(command: object, *arguments: object, status: int = 0) -> str:
    done = CliRunner(env={"COLUMNS": "160"}).invoke(command, list(map(str, arguments)))  # pyright: ignore[reportArgumentType]
    assert done.exit_code == status, f"{done.output}{done.exception!r}"
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One trial judged twice: everything right, then step 4 not useful."""
    folder = tmp_path_factory.mktemp("runs")
    stricter = Scripted(
        lambda step, _unit, name: (
            "not_applicable" if name == "recovery" else "no" if (step, name) == (4, "useful") else "yes"
        )
    )
    for name, script in (("first", always("yes")), ("second", stricter)):
        with Provider(script) as provider:
            flags = ("--judge", "openai/fake", "--api-base", provider.base_url, "--data-dir", folder / f"{name}-data")
            run(evaluate, *SUITE, *flags, "--output", folder / name)
    return folder / "first", folder / "second"


def test_the_step_whose_answer_changed_is_listed(runs: tuple[Path, Path]) -> None:
    printed = run(compare, *runs)
    assert "1 of 6 compared steps are answered otherwise" in printed
    assert "useful yes → no" in printed
    assert "yes: the judgement changed" in printed
    assert "the judges differ" in printed


def test_a_run_compared_with_itself_changes_nothing(runs: tuple[Path, Path]) -> None:
    found = json.loads(run(compare, runs[0], runs[0], "--json"))
    assert found["step_changes"]["changed"] == []
    assert found["success"]["success"]["difference"] == 0


def test_headline_differences_come_in_pairs(runs: tuple[Path, Path]) -> None:
    printed = run(compare, *runs)
    for first, second in (("success rate", "consistency"), ("tool-call precision", "argument accuracy")):
        assert 0 <= printed.index(first) < printed.index(second)


def test_the_report_is_written_anew(runs: tuple[Path, Path]) -> None:
    page = runs[0] / "report.html"
    page.unlink()
    assert run(report, runs[0]).strip() == str(page)
    assert "Content-Security-Policy" in page.read_text()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    for command, arguments in ((compare, (tmp_path, tmp_path)), (report, (tmp_path,))):
        done = CliRunner().invoke(command, list(map(str, arguments)))
        assert isinstance(done.exception, StepjudgeError)
        assert str(tmp_path) in str(done.exception)

"""`stepjudge evaluate` and `stepjudge check` as a user runs them: real processes, real files."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stepjudge.bundle import read_bundle
from stepjudge.cli.check import check

from fakes.provider import Provider
from scripted import always
from serving import serving
from suites import Evaluate, evaluated, task, write_suite, write_trials

ROOT = Path(__file__).parents[1]


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    write_suite(tmp_path / "suite", task("pump"))
    write_trials(tmp_path / "trials", {"pump": ["42", "41"]})
    return Evaluate(tmp_path)


def test_the_example_is_evaluated_offline(evaluate: Evaluate, tmp_path: Path) -> None:
    example = ROOT / "examples" / "suite"
    printed = evaluate(example, "--trials", example, "--allow-outside", "-o", "run")

    for text in ("success rate", "consistency", "tool-call precision", "argument accuracy", "cost per success"):
        assert text in printed
    assert "provisional" in printed
    scores = {score.task_id: score for score in read_bundle(tmp_path / "run").scores}
    assert scores["museum-architect"].success is True
    assert scores["museum-year"].success is True
    assert scores["pytest-5262"].success is True
    assert scores["museum-year"].views["outcome-and-process"].value == 0.25


def test_json_is_one_document_and_nothing_stands_on_standard_error(evaluate: Evaluate, tmp_path: Path) -> None:
    process = evaluate.start("suite", "--trials", "trials", "-o", "run", "--json", "--no-judge")
    out, told = process.communicate()
    document = json.loads(out)

    assert told == ""
    assert document["output_dir"] == str(tmp_path / "run")
    assert document["summary"]["success"]["success"]["numerator"] == 1
    assert document["summary"]["success"]["success"]["denominator"] == 2


def test_paths_may_follow_one_another(evaluate: Evaluate, tmp_path: Path) -> None:
    trace = "trials/pump/1/trace.json"
    evaluate("suite", "--trials", f"pump={trace}", f"pump={trace}", "--no-judge", "-o", "run")
    assert [trial.id for trial in read_bundle(tmp_path / "run").trials] == ["pump.1", "pump.2"]


def test_passes_are_attempts_at_every_task(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "mender.py").write_text("async def run(assignment):\n    return str(40 + assignment.trial)\n")
    evaluate("suite", "--target", "mender:run", "--passes", 3, "--no-judge", "-o", "run")
    bundle = read_bundle(tmp_path / "run")

    assert [score.success for score in bundle.scores] == [False, True, False]
    assert (bundle.summary.success.consistency.low, bundle.summary.success.consistency.high) == (0, 1)
    told = evaluate("suite", "--target", "mender:run", "--no-judge", "-o", "run", status=1)
    assert "holds a finished run" in told


def test_a_service_elsewhere_judges_with_url(evaluate: Evaluate, tmp_path: Path) -> None:
    with serving(tmp_path / "service") as url:
        evaluate("suite", "--trials", "trials", "-o", "run", "--url", url)
        told = evaluate("suite", "--trials", "trials", "-o", "x", "--url", url, "--temperature", 1, status=2)
    assert "only for the embedded service" in told
    assert [score.scorecard.judge for score in read_bundle(tmp_path / "run").scores if score.scorecard] == ["rules"] * 2
    assert not (tmp_path / "x").exists()


def test_a_judge_that_breaks_down_is_counted_and_is_no_zero(evaluate: Evaluate, tmp_path: Path) -> None:
    with Provider(lambda _: "no JSON at all") as provider:
        judge = ("--judge", "openai/scripted", "--api-base", provider.base_url)
        evaluate("suite", "--trials", "trials", "-o", "run", *judge)
    summary = read_bundle(tmp_path / "run").summary

    assert (summary.step_level.numerator, summary.step_level.denominator) == (0, 0)
    assert summary.step_level.undetermined > 0
    assert summary.success.success.denominator == 2


def test_a_dead_judge_is_counted_as_failed_and_rates_nothing(evaluate: Evaluate, tmp_path: Path) -> None:
    evaluate("suite", "--trials", "trials", "-o", "run", "--judge", "openai/x", "--api-base", "http://127.0.0.1:1/v1")
    bundle = read_bundle(tmp_path / "run")

    assert all("(provider)" in (score.judge_error or "") and score.scorecard is None for score in bundle.scores)
    assert bundle.summary.counts.judge_failed == 2
    assert bundle.summary.step_level.denominator == 0


def test_money_is_limited_over_all_trials(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", task("pump"))
    trials = write_trials(tmp_path / "trials", {"pump": [str(number) for number in range(6)]})
    prices = {"model": "openai/scripted", "input_cost_per_token": 1e-5, "output_cost_per_token": 1e-5}

    def spent(folder: str, limit: float | None) -> tuple[float, int]:
        with Provider(always("yes")) as provider:
            judge: dict[str, Any] = {"judge": "paid", "judges": {"paid": {**prices, "api_base": provider.base_url}}}
            bundle = evaluated(tmp_path / folder, suite, trials, "run", max_cost_usd=limit, **judge)
        cards = [score.scorecard for score in bundle.scores if score.scorecard]
        failed = [score.judge_error for score in bundle.scores if score.judge_error]
        assert len(cards) + len(failed) == 6
        assert all("budget" in error for error in failed)
        ran_out = len(failed) + sum("budget" in card.causes for card in cards)
        return sum(card.cost_usd or 0 for card in cards), ran_out

    whole, ran_out = spent("whole", None)
    assert whole > 0
    assert not ran_out
    assert spent("none", 0.0) == (0, 6)
    some, ran_out = spent("some", whole * 0.7)
    assert 0 < some <= whole * 0.7
    assert ran_out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("suite", "-o", "run"), "say what is to be scored"),
        (("suite", "--trials", "trials", "--target", "a:b", "-o", "run"), "say what is to be scored"),
        (("suite", "trials", "-o", "run"), "say what is to be scored"),
        (("suite", "--trials", "nowhere", "-o", "run", "--no-judge"), "nowhere"),
        (("nowhere", "--trials", "trials", "-o", "run"), "nowhere:1:1: cannot be read"),
        (("suite", "--target", "json:loads", "-o", "run"), "no async function"),
        (("suite", "--trials", "trials", "-o", "run", "--rubric", "nothing"), "nothing"),
        (("suite", "--trials", "trials", "-o", "run", "--url", "http://127.0.0.1:9"), "no answer from"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is_written(
    evaluate: Evaluate, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    process = evaluate.start(*arguments)
    _, error = process.communicate()
    assert process.returncode != 0
    assert told in error
    assert not (tmp_path / "run" / "run.json").exists()


def test_the_checks_of_a_task_run_alone(tmp_path: Path) -> None:
    file = {"name": "mended", "kind": "file", "path": "done.txt"}
    suite = write_suite(tmp_path / "suite", task("pump", checks=[*task()["checks"], file]))
    trace = write_trials(tmp_path / "trials", {"pump": ["42"]}) / "pump" / "1" / "trace.json"
    world = tmp_path / "world"
    world.mkdir()

    def run(*arguments: object, status: int) -> str:
        done = CliRunner().invoke(check, [str(argument) for argument in (suite, *arguments)])
        assert done.exit_code == status, done.output
        return done.output

    told = run("pump", "--environment", world, "--trace", trace, status=1)
    assert "pass   right" in told
    assert "fail   mended" in told
    (world / "done.txt").touch()
    results = json.loads(run("pump", "--environment", world, "--trace", trace, "--json", status=0))["checks"]
    assert [result["outcome"] for result in results] == ["pass", "pass"]
    assert "error  mended" in run("pump", "--trace", trace, status=3)
    assert "its tasks are pump" in run("valve", status=2)
    assert "no such regular file" in run("pump", "--output", tmp_path / "nothing.txt", status=1)

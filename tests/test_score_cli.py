"""`stepjudge score` and `stepjudge audit` as a user runs them: real processes, real files."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.provider import Provider
from published import PUBLISHED
from scripted import always
from serving import serving

EXAMPLE = "examples/pytest-5262"


class Cli:
    """The command over one data folder, without any setting of the machine."""

    def __init__(self, data_dir: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPJUDGE_")}
        self._environment = {**kept, "STEPJUDGE_DATA_DIR": str(data_dir), "COLUMNS": "160"}

    def __call__(self, *arguments: object, status: int = 0, stdin: str = "", **variables: str) -> str:
        done = self.run(*arguments, stdin=stdin, **variables)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    def run(self, *arguments: object, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", *map(str, arguments)]
        environment = {**self._environment, **variables}
        return subprocess.run(program, input=stdin, capture_output=True, text=True, env=environment, check=False)

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        program = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", *map(str, arguments)]
        return subprocess.Popen(
            program, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=self._environment
        )

    def json(self, *arguments: object, **options: Any) -> dict[str, Any]:
        return json.loads(self(*arguments, "--json", **options))


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_the_example_is_scored_offline_and_the_second_run_is_cached(cli: Cli) -> None:
    printed = cli("score", EXAMPLE)
    for text in ("step-level score", "tool-call precision", "argument accuracy", "undetermined", "provisional"):
        assert text in printed
    assert "rules" in printed
    assert "step@1.0.0" in printed
    assert "0 of 8 steps answered from the cache" in printed
    assert "8 of 8 steps answered from the cache" in cli("score", EXAMPLE)


def test_json_is_one_document_with_all_that_is_promised(cli: Cli) -> None:
    card = cli.json("score", EXAMPLE)

    assert {"trace_id", "rubric", "judge", "provisional", "range", "grouping", "undetermined", "cost_usd"} <= set(card)
    assert set(card["rubric"]) == {"name", "version", "digest"}
    fields = ["index", "turn", "calls", "answers", "passes", "bad", "score", "settled_by", "cached", "verdict_id"]
    assert set(fields) <= set(card["steps"][0])
    for name in ("step_level", "tool_call_precision", "argument_accuracy", "recovery_rate"):
        assert {"numerator", "denominator"} <= set(card["scores"][name])
    assert [step["cached"] for step in cli.json("score", EXAMPLE)["steps"]] == [True] * 8


def test_a_model_on_an_openai_compatible_server_judges_by_flags(cli: Cli) -> None:
    with Provider(PUBLISHED) as provider:
        flags = ("--judge", "openai/scripted", "--api-base", provider.base_url)
        card = cli.json("score", EXAMPLE, *flags, "--steps", "1-5", "--group", "consecutive-reads")
        printed = cli("score", EXAMPLE, *flags, "--steps", "1-5", "--group", "consecutive-reads")

    assert card["scores"]["step_level"] == {"numerator": 3, "denominator": 4, "undetermined": 0}
    assert card["cost_usd"] is None
    assert "0.75 (3/4)  steps 1-5 of 8, grouping consecutive-reads" in printed
    assert "1.00 (4/4)" in printed
    assert "[fixes 2]" in printed
    assert provider.count == 5


def test_a_model_judges_by_environment(cli: Cli) -> None:
    with Provider(always("yes")) as provider:
        card = cli.json(
            "score",
            EXAMPLE,
            STEPJUDGE_JUDGE="openai/scripted",
            STEPJUDGE_API_BASE=provider.base_url,
            OPENAI_API_KEY="sk-x",
        )
        keys = {request.headers["authorization"] for request in provider.requests}
    assert card["scores"]["step_level"]["numerator"] == 8
    assert keys == {"Bearer none"}, "the key of the environment is for the provider, not for this address"


def test_a_service_elsewhere_is_asked_with_url(cli: Cli, tmp_path: Path) -> None:
    with serving(tmp_path / "service") as url:
        assert cli.json("score", EXAMPLE, "--url", url)["judge"] == "rules"
        assert "api_base" in cli("score", EXAMPLE, "--url", url, "--api-base", "http://127.0.0.1:1", status=2)
    assert "no answer from" in cli("score", EXAMPLE, "--url", "http://127.0.0.1:9", status=2)


def test_a_dry_run_counts_and_spends_nothing(cli: Cli) -> None:
    with Provider(always("yes")) as provider:
        flags = ("--judge", "openai/scripted", "--api-base", provider.base_url)
        total = cli.json("score", EXAMPLE, *flags, "--dry-run")
        assert provider.count == 0
        cli("score", EXAMPLE, *flags)
        usage = provider.usage
        assert cli.json("score", EXAMPLE, *flags, "--dry-run")["requests"] == 0

    assert (total["traces"], total["steps"], total["calls"], total["requests"]) == (1, 8, 8, 8)
    assert total["prompt_tokens"] == pytest.approx(usage.prompt_tokens, rel=0.2)
    assert total["cost_usd"] is None


def test_a_dry_run_of_a_priced_model_names_the_price(cli: Cli) -> None:
    assert 0.005 < cli.json("score", EXAMPLE, "--judge", "openai/gpt-4o-mini", "--dry-run")["cost_usd"] < 0.1


def test_what_the_budget_does_not_cover_is_undetermined(cli: Cli) -> None:
    judges = {"paid": {"model": "openai/scripted", "input_cost_per_token": 1e-5, "output_cost_per_token": 1e-5}}
    with Provider(always("yes")) as provider:
        judges["paid"]["api_base"] = provider.base_url
        card = cli.json("score", EXAMPLE, "--judge", "paid", "--max-cost", "0.8", STEPJUDGE_JUDGES=json.dumps(judges))
    assert 0 < card["cost_usd"] <= 0.8
    assert card["causes"]["budget"] > 0
    assert card["scores"]["step_level"]["undetermined"] > 0


def test_traces_come_from_standard_input_and_several_files(cli: Cli) -> None:
    text = Path(EXAMPLE, "trace.json").read_text()
    assert cli.json("score", "-", stdin=text)["total_steps"] == 8
    assert len(cli.json("score", EXAMPLE, f"{EXAMPLE}/trace.json")["scorecards"]) == 2


def test_a_rubric_file_of_ones_own_judges(cli: Cli, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(Path("rubrics/step/1.0.0.yaml").read_text().replace("version: 1.0.0", "version: 1.1.0"))
    assert cli.json("score", EXAMPLE, "--rubric", own)["rubric"]["version"] == "1.1.0"
    own.write_text("name: x\nversoin: 1\n")
    assert "own.yaml:2" in cli("score", EXAMPLE, "--rubric", own, status=2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("no/such/file.json",), "no/such/file.json"),
        ((EXAMPLE, "--rubric", "nope"), "step@1.0.0"),
        ((EXAMPLE, "--rubric", "step@7.0.0"), "step@1.0.0"),
        ((EXAMPLE, "--judge", "nonsense"), "rules"),
        ((EXAMPLE, "--steps", "x"), "range of steps"),
        (("README.md",), "README.md"),
        ((EXAMPLE, "--format", "xml"), "openai-chat"),
        ((EXAMPLE, "--api-key-env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE"),
    ],
)
def test_bad_input_is_one_message_and_no_traceback(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    done = cli.run("score", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_unknown_provider_is_refused_by_name(cli: Cli) -> None:
    assert "no provider 'nosuchprovider'" in cli("score", EXAMPLE, "--judge", "nosuchprovider/model", status=2)


def test_audit_shows_everything_about_a_verdict(cli: Cli, tmp_path: Path) -> None:
    with Provider(PUBLISHED) as provider:
        card = cli.json("score", EXAMPLE, "--judge", "openai/scripted", "--api-base", provider.base_url, "--steps", "2")
        sent = provider.requests[0]
    verdict_id = card["steps"][0]["verdict_id"]

    audit = cli.json("audit", "show", verdict_id)
    assert audit["prompts"] == [f"{sent.system}\n{sent.user}"]
    assert (audit["prompt_matches"], audit["state_matches"]) == (True, True)
    printed = cli("audit", "show", verdict_id)
    for text in ("useful of call 1: no", "matches what was sent", "scripted for step 2", "s2.c1.tool", verdict_id):
        assert text in printed
    assert verdict_id in cli("audit", "list")
    assert "no verdict" in cli("audit", "show", "0" * 32, status=2)


def test_help_is_there_for_every_command(cli: Cli) -> None:
    for command in ("score", "serve", "key", "rubric", "audit"):
        assert command in cli("--help")
        assert "Usage" in cli(command, "--help")


def test_serve_refuses_an_open_address_without_keys(cli: Cli) -> None:
    assert "API keys" in cli("serve", "--host", "0.0.0.0", status=2)


def test_a_narrow_terminal_gets_lines_instead_of_a_table(cli: Cli) -> None:
    printed = cli("score", "examples/museum", COLUMNS="80")
    assert "valid yes · arguments" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_what_was_scored_before_a_broken_trace_is_printed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    done = cli.run("score", "examples/museum", tmp_path / "broken.json")
    assert done.returncode == 2
    assert "step-level score" in done.stdout
    assert "broken.json" in done.stderr


@pytest.mark.parametrize("limit", ["nan", "-1", "inf", "much"])
def test_an_amount_that_cannot_be_spent_is_refused(cli: Cli, limit: str) -> None:
    assert "no amount of USD" in cli("score", EXAMPLE, "--max-cost", limit, status=2)


def test_why_a_judge_gives_no_answer_stands_below_the_table(cli: Cli) -> None:
    with Provider(always("yes"), api_key="sk-right") as provider:
        printed = cli("score", EXAMPLE, "--judge", "openai/fake", "--api-base", provider.base_url, "--steps", "1")
    assert "rejected: " in printed
    assert "API key" in printed


def test_an_interrupted_run_says_that_it_can_go_on(cli: Cli) -> None:
    with Provider(always("yes"), latency=30.0) as provider:
        process = cli.start("score", EXAMPLE, "--judge", "openai/fake", "--api-base", provider.base_url)
        provider.wait_until(lambda: provider.in_flight > 0, timeout=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr is not None
        assert "the same command goes on" in process.stderr.read()
        process.stderr.close()

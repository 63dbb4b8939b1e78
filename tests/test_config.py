"""Settings come from keywords, the environment or a file; `stepjudge config` shows which, and no secret."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from judge_service.settings import Settings
from stepjudge.cli.main import stepjudge

SECRET = "hunter22hunter22"


def run(*arguments: str, env: Mapping[str, str]) -> Result:
    unset = dict.fromkeys(("STEPJUDGE_URL", "STEPJUDGE_JUDGE", "STEPJUDGE_CONFIG"))
    return CliRunner(env={**unset, **env}).invoke(stepjudge, list(arguments))


YAML = f"""
judge: fast
concurrency: 8
ledger_url: postgresql://me:{SECRET}@db/ledger
cache_url: redis://:{SECRET}@cache:6379/0
api_keys:
  ann: {{sha256: {"a" * 64}, scopes: [read]}}
judges:
  fast: {{model: openai/gpt-4o-mini, api_key: {SECRET}, api_base: "https://models.example/v1"}}
"""
TOML = """
judge = "fast"
concurrency = 8

[judges.fast]
model = "openai/gpt-4o-mini"
"""


@pytest.mark.parametrize(("suffix", "text"), [("yaml", YAML), ("toml", TOML), ("json", '{"concurrency": 8}')])
def test_a_file_holds_settings_and_the_environment_and_keywords_go_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, text: str
) -> None:
    file = tmp_path / f"settings.{suffix}"
    file.write_text(text)
    monkeypatch.setenv("STEPJUDGE_CONFIG", str(file))
    assert Settings().concurrency == 8
    monkeypatch.setenv("STEPJUDGE_CONCURRENCY", "9")
    assert Settings().concurrency == 9
    assert Settings(concurrency=10).concurrency == 10


def test_the_effective_settings_say_where_they_came_from_and_hold_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(YAML)
    judges = {"slow": {"model": "openai/gpt-5.2", "api_key": SECRET + "2"}}
    env = {
        "STEPJUDGE_CONFIG": str(file),
        "STEPJUDGE_CONCURRENCY": "16",
        "STEPJUDGE_JUDGES": json.dumps(judges),
        "STEPJUDGE_API_KEY": SECRET + "3",
    }
    shown = run("config", "--json", env=env)
    assert shown.exit_code == 0, shown.output
    told: dict[str, Any] = json.loads(shown.stdout)
    assert told["concurrency"] == {"value": 16, "source": "environment"}
    assert told["judge"] == {"value": "fast", "source": str(file)}
    assert told["port"] == {"value": 8262, "source": "default"}
    assert told["judges"]["source"] == f"environment and {file}"
    assert told["judges"]["value"].keys() == {"fast", "slow"}
    assert told["judges"]["value"]["fast"]["api_base"] == "https://models.example/v1"
    assert told["ledger_url"]["value"] == "postgresql://…@db/ledger"
    assert told["cache_url"]["value"] == "redis://…@cache:6379/0"
    assert told["api_keys"]["value"]["ann"]["sha256"] == "…"

    lines = run("config", env=env)
    every = run("config", "--all", env=env)
    assert "concurrency = 16  # environment" in lines.stdout
    assert "port" not in lines.stdout
    assert "port = 8262  # default" in every.stdout
    for output in (shown.output, lines.output, every.output):
        assert SECRET not in output
        assert "a" * 64 not in output


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.yaml", "concurency: 8", "'concurency' is no setting of stepjudge: is 'concurrency' meant?"),
        ("a.yaml", f"judges: {{m: {{modell: openai/x, model: openai/x, api_key: {SECRET}}}}}", "is 'model' meant?"),
        ("a.yaml", f"api_key: {SECRET}\nport: [", "a.yaml:"),
        ("a.yaml", "- 1", "a mapping of settings"),
        ("a.yaml", "!!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("a.toml", f"api_key = '{SECRET}'\nport =", "not a .toml file"),
        ("a.json", "[" * 100_000, "not a .json file"),
        ("a.ini", "port=1", "ends in .yaml, .toml or .json"),
        ("a.json", '{"port": 123456}', "port: Input should be less than"),
    ],
    ids=["top", "nested", "cut", "list", "object", "toml", "deep", "ini", "value"],
)
@pytest.mark.parametrize("command", ["config", "serve"])
def test_a_file_that_does_not_hold_is_one_error_that_says_where_without_a_secret(
    tmp_path: Path, name: str, text: str, says: str, command: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    failed = run(command, env={"STEPJUDGE_CONFIG": str(file)})
    assert failed.exit_code != 0
    assert says in str(failed.exception)
    assert type(failed.exception).__name__ == "StepjudgeError"
    assert SECRET not in str(failed.exception)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    failed = run("config", env={"STEPJUDGE_CONFIG": str(tmp_path / "none.yaml")})
    assert "No such file" in str(failed.exception)


def test_a_variable_that_does_not_parse_is_named(tmp_path: Path) -> None:
    failed = run("config", env={"STEPJUDGE_JUDGES": f"{{not json {SECRET}"})
    assert "judges" in str(failed.exception)
    assert SECRET not in str(failed.exception)

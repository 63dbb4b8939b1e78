"""The reward files of Harbor's verifier: whatever fails, none is left that would pass for the whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stepjudge.adapters.harbor import main

from judged import SMALL, Judged


def verifier(folder: Path, *arguments: str, url: str = "http://127.0.0.1:9", reward: str = "1") -> Any:
    (folder / "trajectory.json").write_text(json.dumps(SMALL))
    (folder / "reward.txt").write_text(reward)
    own = ("--trajectory", str(folder / "trajectory.json"), f"--output={folder}", "--url", url)
    return CliRunner().invoke(main, [*own, *arguments])


def left(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob("reward.*"))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--beside",),
        ("--besides",),
        ("--score", "recovery"),
        ("--timeout", "soon"),
        ("--timeout", "0"),
        ("--rubric", "nothing.yaml"),
        ("--max-cost-usd", "-1"),
        ("--url", "http://127.0.0.1:99999"),
        ("--url", "nowhere:1"),
    ],
)
def test_no_reward_is_left_whatever_fails(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = verifier(tmp_path, *arguments)
    assert (done.exit_code != 0, left(tmp_path)) == (True, [])
    assert json.loads((tmp_path / "stepjudge.json").read_text())["not_scored"]


@pytest.mark.parametrize("reward", ["nan", "inf", '{"reward": 1}', "much"])
def test_a_reward_that_is_no_number_is_refused(service: Judged, tmp_path: Path, reward: str) -> None:
    done = verifier(tmp_path, "--beside", url=service.url, reward=reward)
    assert (done.exit_code, left(tmp_path)) == (1, [])
    assert "reward.txt" in json.loads((tmp_path / "stepjudge.json").read_text())["not_scored"]


def test_a_score_does_not_replace_a_reward_of_the_same_name(service: Judged, tmp_path: Path) -> None:
    (tmp_path / "reward.json").write_text('{"step_level": 0.25}')
    done = verifier(tmp_path, "--beside", url=service.url)
    assert (done.exit_code, left(tmp_path)) == (1, [])
    kept = json.loads((tmp_path / "stepjudge.json").read_text())
    assert kept["rewards"] == {"step_level": 0.25}
    assert "step_level" in kept["not_scored"]


def test_a_reward_stays_beside_the_score_and_in_one_file(service: Judged, tmp_path: Path) -> None:
    done = verifier(tmp_path, "--beside", url=service.url)
    assert (done.exit_code, left(tmp_path)) == (0, ["reward.json"]), done.output
    assert json.loads((tmp_path / "reward.json").read_text()) == {"reward": 1.0, "step_level": pytest.approx(2 / 3)}


def test_help_leaves_rewards_as_they_are(tmp_path: Path) -> None:
    assert verifier(tmp_path, "--help").exit_code == 0
    assert left(tmp_path) == ["reward.txt"]

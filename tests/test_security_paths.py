"""Paths: what trials, suites and rubric folders name stays where they are, links followed, unless the user says otherwise."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from judge_service.shelf import Shelf
from stepjudge.cli.main import stepjudge
from stepjudge.errors import BadRubric
from stepjudge.rubric_file import shipped
from stepjudge.suite import Suite
from stepjudge.suite_file import BadSuite, read_suite
from stepjudge.trial_files import BadTrials, find_trials, read_trial

SECRET = "the-contents-of-a-file-elsewhere"
SUITE = "name: pumps\ntasks:\n- id: pump\n  intent: Mend it.\n  checks:\n  - kind: final-output\n    expected: ok\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    (folder / "environment").mkdir(parents=True)
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "suite.yaml").write_text(SUITE)
    return read_suite(tmp_path / "suite.yaml")


@pytest.mark.parametrize("field", ["trace", "output", "environment"])
@pytest.mark.parametrize("way", ["up", "absolute", "link", "link to the folder", "a loop of links"])
def test_an_index_of_trials_cannot_point_elsewhere(
    tmp_path: Path, suite: Suite, elsewhere: Path, field: str, way: str
) -> None:
    trials = tmp_path / "trials"
    trials.mkdir()
    (trials / "linked.txt").symlink_to(elsewhere / "secret.txt")
    (trials / "folder").symlink_to(elsewhere)
    (trials / "loop").symlink_to(trials / "loop")
    named = {
        "up": "../elsewhere/secret.txt",
        "absolute": str(elsewhere / "secret.txt"),
        "link": "linked.txt",
        "link to the folder": "folder/secret.txt",
        "a loop of links": "loop",
    }[way]
    (trials / "trials.jsonl").write_text(f'{{"task_id": "pump", "{field}": "{named}"}}\n')
    for source in (trials, trials / "trials.jsonl"):
        with pytest.raises(BadTrials, match="--allow-outside") as refused:
            find_trials(suite, [str(source)])
        assert SECRET not in str(refused.value)


def test_links_in_a_folder_of_trials_cannot_lead_elsewhere(tmp_path: Path, suite: Suite, elsewhere: Path) -> None:
    trial = tmp_path / "trials" / "pump" / "1"
    trial.mkdir(parents=True)
    (trial / "output.txt").symlink_to(elsewhere / "secret.txt")
    with pytest.raises(BadTrials, match=r"output\.txt"):
        find_trials(suite, [str(tmp_path / "trials")])


def test_whoever_trusts_the_trials_lets_them_out(tmp_path: Path, suite: Suite, elsewhere: Path) -> None:
    index = tmp_path / "trials.jsonl"
    index.write_text('{"task_id": "pump", "output": "elsewhere/secret.txt"}\n')
    (inside,) = find_trials(suite, [str(index)])
    assert read_trial(inside).output_text == SECRET

    (tmp_path / "other").mkdir()
    moved = tmp_path / "other" / "trials.jsonl"
    moved.write_text(f'{{"task_id": "pump", "output": "{elsewhere / "secret.txt"}"}}\n')
    (outside,) = find_trials(suite, [str(moved)], allow_outside=True)
    assert read_trial(outside).output_text == SECRET

    options = ["evaluate", str(tmp_path / "suite.yaml"), "--no-judge", "-o", str(tmp_path / "bundle"), "--trials"]
    refused = CliRunner().invoke(stepjudge, [*options, str(moved)])
    assert refused.exit_code != 0
    assert SECRET not in refused.output + str(refused.exception)
    allowed = CliRunner().invoke(stepjudge, [*options, str(moved), "--allow-outside"])
    assert allowed.exit_code == 0, allowed.output


def test_links_inside_are_taken_as_a_mounted_config_map_has_them(tmp_path: Path) -> None:
    folder = tmp_path / "rubrics"
    (folder / "..data").mkdir(parents=True)
    text = (shipped() / "step" / "1.0.0.yaml").read_text().replace("name: step\n", "name: ours\n")
    (folder / "..data" / "ours.yaml").write_text(text)
    (folder / "ours.yaml").symlink_to(folder / "..data" / "ours.yaml")
    assert Shelf(shipped(), [folder]).find("ours").name == "ours"


def test_a_rubric_folder_cannot_lead_elsewhere(tmp_path: Path, elsewhere: Path) -> None:
    folder = tmp_path / "rubrics"
    folder.mkdir()
    (folder / "ours.yaml").symlink_to(elsewhere / "secret.txt")
    with pytest.raises(BadRubric, match="leads out of the folder") as refused:
        Shelf(shipped(), [folder])
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("name", ["suite.yaml", "tasks/pump.yaml"])
def test_a_suite_folder_cannot_lead_elsewhere(tmp_path: Path, elsewhere: Path, name: str) -> None:
    folder = tmp_path / "suite"
    (folder / "tasks").mkdir(parents=True)
    if name != "suite.yaml":
        (folder / "suite.yaml").write_text("name: pumps\n")
    (folder / name).symlink_to(elsewhere / "secret.txt")
    with pytest.raises(BadSuite, match="leads out of the suite's folder") as refused:
        read_suite(folder)
    assert SECRET not in str(refused.value)

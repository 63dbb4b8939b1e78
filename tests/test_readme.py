"""What the README shows is true: its example runs, its commands exist, its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path("README.md").read_text()
PAGES = ["README.md", "CONTRIBUTING.md", *map(str, sorted(Path("docs").glob("*.md")))]


def test_the_example_runs_and_finds_what_the_text_says(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    environment = {**os.environ, "STEPJUDGE_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "1/4 calls pass, 1 undetermined"
    assert "a repeated search" in " ".join(README.split())
    assert "repeats an earlier one" in lines[2]
    assert "rejected the call" in lines[3]


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    commands = re.findall(r"^    (pip install .*)$", README, re.MULTILINE)
    assert commands[1] in Path(".ci/run").read_text().splitlines()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_that_exist(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", Path(page).read_text())
    assert [link for link in links if not (Path(page).parent / link).exists()] == []


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    from judge_service.settings import Settings

    documented = set(re.findall(r"STEPJUDGE_([A-Z_]+)", Path("docs/service.md").read_text())) - {"CLIENT_KEY", "URL"}
    assert documented == {name.upper() for name in Settings.model_fields}


def test_every_cause_is_documented() -> None:
    from typing import get_args

    from stepjudge.verdict import Cause

    text = Path("docs/service.md").read_text()
    assert [cause for cause in get_args(Cause) if f"`{cause}`" not in text] == []

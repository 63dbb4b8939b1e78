"""What an embedded service says when a module is not there: a package to install, or a broken installation."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("missing", "advised"), [("some_package", True), ("judge_service.gone", False), ("stepjudge.gone", False)]
)
def test_only_packages_of_others_are_advised_to_be_installed(tmp_path: Path, missing: str, advised: bool) -> None:
    package = tmp_path / "judge_service"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "app.py").write_text(f"import {missing}\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from stepjudge.client import JudgeClient\n"
        "with JudgeClient.embedded(): pass"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert ("needs more packages" in last) == advised, done.stderr
    assert missing in last

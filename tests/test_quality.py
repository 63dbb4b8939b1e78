"""Lint, format, types, layers and the built wheel are checked like everything else: `pytest` is the one command."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))


def output(*command: str | Path) -> str:
    """What the command prints. Fails the test, with all of that, when the command fails."""
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_lint_is_clean() -> None:
    output(SCRIPTS / "ruff", "check", ".")


def test_the_format_is_ruffs() -> None:
    output(SCRIPTS / "ruff", "format", "--check", ".")


def test_types_are_strict_and_clean() -> None:
    output(sys.executable, "-m", "pyright", "--pythonpath", sys.executable)


def test_imports_keep_to_the_layers() -> None:
    output(SCRIPTS / "lint-imports")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    output(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ".")
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_both_packages_and_the_rubrics_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"stepjudge", "judge_service", "stepjudge-0.1.0.dist-info"}
    assert {"stepjudge/rubrics/step/1.0.0.yaml", "stepjudge/rubrics/published.json", "stepjudge/py.typed"} <= set(names)


def test_the_thin_client_works_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    output(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    output(python, "-m", "pip", "install", "--quiet", wheel)
    listed = output(python, "-m", "pip", "list", "--format=freeze").lower()
    assert not [name for name in ("fastapi", "litellm", "sqlalchemy", "diskcache") if name in listed]
    assert "step@1.0.0" in output(tmp_path / "venv" / "bin" / "stepjudge", "rubric", "list")
    code = (
        "import stepjudge\n"
        "from stepjudge import JudgeClient, JudgeUnreachable\n"
        "try:\n    with JudgeClient.embedded(): pass\n"
        "except JudgeUnreachable as error:\n    print(error)\n"
    )
    assert "pip install 'stepjudge[service]'" in output(python, "-c", code)

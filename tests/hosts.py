"""A host is somebody else's package in an environment of its own, made once and kept in `.venv-hosts/`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

KEPT = Path(__file__).parents[1] / ".venv-hosts"

NEMO = ("nemo-helix==0.8.1",)
NEMO_NEEDS = ("pydantic", "httpx<1", "jinja2", "jsonpath-ng", "jsonschema", "openai", "opentelemetry-proto", "anyio")
"""What its agent evaluation imports: the declared dependencies are ten times as much and not needed to read a bundle."""


def python_3_12() -> Path | None:
    """An interpreter of Python 3.12; null when this machine has none."""
    if sys.version_info[:2] == (3, 12):
        return Path(sys.executable)
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*sorted(versions.glob("3.12*/bin/python3.12")), shutil.which("python3.12")]
    for each in found:
        if each and subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
            return Path(each)
    return None


def nemo(python: Path) -> Path:
    """The interpreter of an environment in which NeMo Evaluator's SDK can be imported."""
    return _made("nemo-helix-0.8.1", python, NEMO, NEMO_NEEDS)


def _made(name: str, python: Path, packages: Sequence[str], needs: Sequence[str]) -> Path:
    place = KEPT / name
    inside = place / "bin" / "python"
    complete = place / "complete"
    if not complete.exists():
        shutil.rmtree(place, ignore_errors=True)
        uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
        if uv:
            _run(uv, "venv", "--quiet", "--python", python, place)
            install = (uv, "pip", "install", "--quiet", "--python", inside)
        else:
            _run(python, "-m", "venv", place)
            install = (inside, "-m", "pip", "install", "--quiet")
        _run(*install, "--no-deps", *packages)
        _run(*install, *needs)
        complete.touch()
    return inside


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True)

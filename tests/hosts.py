"""A host is somebody else's package, pinned, in an environment of its own beside stepjudge's; hosts may share one.

Environments are made by uv on first use and kept in `.venv-hosts/`, by a digest of all that is installed there. What uses
one runs a script in its interpreter: `run("deepeval", script)`. Hosts hold no secrets, report nothing, reach no network.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".venv-hosts"


@dataclass(frozen=True)
class Host:
    """Packages that are installed together with those of every other host in the same environment."""

    environment: str
    """Name of the environment, which ends with its Python: `evaluators-3.11`."""
    packages: tuple[str, ...]
    """Requirements, pinned."""
    extra: str | None = None
    """The extra of stepjudge that stands for this host: its range must admit the pinned package."""
    bare: tuple[str, ...] = ()
    """Requirements that are installed without what they depend on."""


HOSTS: Mapping[str, Host] = {
    "deepeval": Host("evaluators-3.11", ("deepeval==4.3.1",), extra="deepeval"),
    "pydantic-evals": Host("evaluators-3.11", ("pydantic-evals[logfire]==2.62.0",), extra="pydantic-evals"),
    "inspect-ai": Host("agents-3.12", ("inspect-ai==0.3.285",), extra="inspect-ai"),
    "inspect-scout": Host("agents-3.12", ("inspect-scout==0.6.1",), extra="inspect-scout"),
    "harbor": Host("agents-3.12", ("harbor==0.26.0", "harbor-rewardkit==0.2.3"), extra="harbor"),
    "mlflow": Host("evaluators-3.11", ("mlflow==3.17.2",), extra="mlflow"),
    "langsmith": Host(
        "evaluators-3.11", ("langsmith==0.15.1", "openevals==0.2.2", "agentevals==0.0.9"), extra="langsmith"
    ),
    "phoenix": Host("evaluators-3.11", ("arize-phoenix-evals==3.9.4",), extra="phoenix"),
    "ragas": Host("evaluators-3.11", ("ragas==0.4.3", "langchain-community==0.4.1"), extra="ragas"),
    # What its agent evaluation imports: the declared dependencies are ten times as much, and not needed for it.
    "nemo": Host(
        "nemo-3.12",
        ("pydantic", "httpx<1", "jinja2", "jsonpath-ng", "jsonschema", "openai", "opentelemetry-proto", "anyio"),
        bare=("nemo-helix==0.8.1",),
    ),
    # The same agent evaluation under its first name.
    "nemo-platform": Host(
        "nemo-3.11",
        (
            *("pydantic", "httpx<1", "jinja2", "jsonpath-ng", "jsonschema", "openai", "opentelemetry-proto", "anyio"),
            *("pyarrow", "sacrebleu"),
        ),
        bare=("nemo-platform==0.3.0",),
    ),
}

QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "RAGAS_DO_NOT_TRACK": "true",
    "LANGSMITH_TRACING": "false",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "PYTHONUTF8": "1",
    # nothing listens there: whoever calls home fails at once, and loopback is asked directly
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
    "no_proxy": "127.0.0.1,localhost",
    "NO_PROXY": "127.0.0.1,localhost",
}
"""Environment variables of every script: no telemetry, and no network but loopback."""


def interpreter(host: str) -> Path:
    """The interpreter in which the host and stepjudge can be imported. Skips the test where its Python is missing."""
    name = HOSTS[host].environment
    python = _python(name.rpartition("-")[2])
    if python is None:
        pytest.skip(f"{host} needs Python {name.rpartition('-')[2]}, which this machine has not")
    together = [each for each in HOSTS.values() if each.environment == name]
    place = KEPT / f"{name}-{_digest(together)}"
    with _alone(place):
        if not (place / "complete").exists():
            _make(place, python, together)
    return place / "bin" / "python"


def run(host: str, script: str, *arguments: str, folder: Path, **environment: str) -> str:
    """What the script prints, run in the host's interpreter and in the folder. Fails the test where it fails."""
    command = [str(interpreter(host)), "-c", script, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=_environment(folder, environment)
    )
    assert done.returncode == 0, f"{host}: exit code {done.returncode}\n{done.stdout[-4_000:]}\n{done.stderr[-8_000:]}"
    return done.stdout


def run_json(host: str, script: str, *arguments: str, folder: Path, **environment: str) -> Any:
    """The JSON in the last line that the script prints: hosts like to print above it."""
    return json.loads(run(host, script, *arguments, folder=folder, **environment).strip().splitlines()[-1])


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(folder), **QUIET, **more}


def _python(version: str) -> Path | None:
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Path(sys.executable)
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*sorted(versions.glob(f"{version}*/bin/python{version}")), shutil.which(f"python{version}")]
    for each in found:
        if each and subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
            return Path(each)
    return None


def _digest(together: list[Host]) -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [project["optional-dependencies"][host.extra] for host in together if host.extra]
    installed = [
        project["dependencies"],
        extras,
        [(host.packages, host.bare) for host in together],
        project["entry-points"],
    ]
    return sha256(json.dumps(installed).encode()).hexdigest()[:10]


@contextmanager
def _alone(place: Path) -> Generator[None]:
    """While one test process makes an environment, the others that need it wait."""
    KEPT.mkdir(exist_ok=True)
    with Path(f"{place}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(place: Path, python: Path, together: list[Host]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    assert uv is not None, "no uv: it is one of the dev packages"
    _run(uv, "venv", "--quiet", "--python", python, place)
    install = (uv, "pip", "install", "--quiet", "--python", place / "bin" / "python")
    bare = [requirement for host in together for requirement in host.bare]
    if bare:
        _run(*install, "--no-deps", *bare)
    extras = ",".join(host.extra for host in together if host.extra)
    packages = [requirement for host in together for requirement in host.packages]
    _run(*install, *packages, "--editable", f"{ROOT}[{extras}]" if extras else ROOT)
    (place / "complete").touch()


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True)

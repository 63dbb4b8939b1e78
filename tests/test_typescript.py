"""From outside Python: the OpenAPI document is good enough that a generated TypeScript client scores a trace, with types."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest

from fakes.provider import Provider
from hosts import KEPT
from scripted import Scripted
from serving import serving

PROJECT = Path(__file__).parent / "typescript"
TRACE = Path("examples/museum/trace.json")

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="a TypeScript client needs node and npm")


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def succeed(folder: Path, *command: str, **variables: str) -> str:
    done = run(folder, *command, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    judge = Scripted(lambda step, _unit, name: "not_applicable" if name == "recovery" else "no" if step == 1 else "yes")
    with (
        Provider(judge) as provider,
        serving(
            tmp_path_factory.mktemp("data"),
            judge="openai/fake",
            api_base=provider.base_url,
            api_keys={"ann": {"sha256": hashlib.sha256(b"ann-secret").hexdigest(), "scopes": ("judge", "read")}},
        ) as url,
    ):
        yield url


@pytest.fixture(scope="module")
def project(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the packages of its lock file, a client generated from the running service, and built.

    The compiler also reads `mistakes.ts`, which must not fit the generated types.
    """
    folder = tmp_path_factory.mktemp("typescript") / "project"
    shutil.copytree(PROJECT, folder)
    (folder / "node_modules").symlink_to(packages(folder))
    (folder / "openapi.json").write_text(httpx2.get(f"{url}/openapi.json").text)
    succeed(folder, "npm", "run", "--silent", "generate")
    succeed(folder, "npm", "run", "--silent", "check")
    return folder


def packages(project: Path) -> Path:
    """Installed once for each lock file, beside and then moved, so that two runs cannot disturb each other."""
    lock = (project / "package-lock.json").read_bytes()
    kept = KEPT / f"typescript-{hashlib.sha256(lock).hexdigest()[:10]}"
    if not kept.exists():
        KEPT.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=KEPT) as folder:
            made = Path(folder) / "made"
            shutil.copytree(PROJECT, made)
            succeed(made, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
            with suppress(OSError):  # another was first
                made.rename(kept)
    return kept / "node_modules"


def test_a_generated_client_scores_a_trace_and_the_compiler_knows_its_fields(url: str, project: Path) -> None:
    printed = succeed(project, "node", "built/score.js", url, str(TRACE.absolute()), STEPJUDGE_CLIENT_KEY="ann-secret")

    told: dict[str, Any] = json.loads(printed)
    reasons, events = told.pop("reasons"), told.pop("streamed")
    assert told == {
        "judge": "openai/fake",
        "provisional": True,
        "step_level": "2/6, 0 undetermined",
        "tool_call_precision": "1/5, 0 undetermined",
        "steps_estimated": 6,
        "own_rubric": "99.0.0",
        "problem": {"status": 404, "title": "Unknown rubric"},
        "audited": True,
    }
    assert reasons[0][0] == "valid: no: scripted for step 1"
    assert sorted(line.split(" (")[0] for line in events[:-1]) == [
        *("step 1: -1", "step 2: 0", "step 3: -1", "step 4: 1", "step 5: -1", "step 6: 1")
    ]
    assert events[-1] == "scorecard of 6 steps"

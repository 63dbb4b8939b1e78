"""Harbor: its own jobs run tasks whose verifiers judge the steps, in a mount namespace where it would use a container."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stepjudge.formats import read_document
from stepjudge.formats.to_atif import to_atif

import hosts
from documented import block
from judged import documents, judged

SANDBOX = r"""
import asyncio, os, shutil, tempfile
from pathlib import Path
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

OWN = ("logs/agent", "logs/verifier", "logs/artifacts", "tests", "solution", "app")
ENTER = '''
set -e
for each in /*; do
  name=${each#/}
  case $name in logs|tests|solution|app) continue;; esac
  if [ -L "$each" ]; then [ -L fs/"$name" ] || cp -P "$each" fs/
  elif [ -d "$each" ]; then mkdir -p fs/"$name"; mount --rbind "$each" fs/"$name"; fi
done
for each in own/*; do mkdir -p fs/"${each#own/}"; mount --bind "$each" fs/"${each#own/}"; done
exec chroot fs sh -c 'cd "$1" && eval "$2"' sh "$1" "$2"
'''

class Sandbox(BaseEnvironment):
    @staticmethod
    def type(): return "namespace"
    @property
    def capabilities(self): return EnvironmentCapabilities()
    def _validate_definition(self): pass
    def _host(self, path): return self.root / "own" / str(path).lstrip("/")
    async def start(self, force_build):
        self.root = Path(tempfile.mkdtemp(dir=os.environ["HOME"]))
        for each in OWN: (self.root / "own" / each).mkdir(parents=True)
        (self.root / "fs").mkdir()
    async def stop(self, delete): pass
    async def upload_file(self, source_path, target_path): shutil.copy(source_path, self._host(target_path))
    async def upload_dir(self, source_dir, target_dir): shutil.copytree(source_dir, self._host(target_dir), dirs_exist_ok=True)
    async def download_file(self, source_path, target_path): shutil.copy(self._host(source_path), target_path)
    async def download_dir(self, source_dir, target_dir): shutil.copytree(self._host(source_dir), target_dir, dirs_exist_ok=True)
    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        process = await asyncio.create_subprocess_exec(
            "unshare", "-rm", "sh", "-c", ENTER, "sh", cwd or "/app", command, cwd=self.root,
            env={**os.environ, **(self._merge_env(env) or {})}, stdout=-1, stderr=-1)
        out, err = await process.communicate()
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)
"""
"""A Harbor environment in which `/logs`, `/tests`, `/solution` and `/app` are its own, and all else is this machine's."""

SCRIPT = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, os.getcwd())
from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig

async def run(name, tasks, url):
    os.environ["STEPJUDGE_URL"] = url
    job = await Job.create(JobConfig(
        job_name=name, jobs_dir=Path("jobs"), quiet=True, n_concurrent_trials=4, agents=[AgentConfig(name="oracle")],
        tasks=[TaskConfig(path=Path("tasks") / task) for task in tasks],
        environment=EnvironmentConfig(import_path="sandbox:Sandbox")))
    await job.run()

async def main(url, dead):
    await run("first", ["museum", "pytest-5262", "small", "empty"], url)
    await run("beside", ["beside", "kit"], url)
    await run("dead", ["beside", "kit"], dead)

asyncio.run(main(*sys.argv[1:]))
"""

TASK = """schema_version = "1.4"
[verifier]
timeout_sec = 300.0
{env}
[agent]
timeout_sec = 60.0
[environment]
"""


class Jobs:
    """What Harbor wrote of its jobs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, job: str) -> dict[str, Any]:
        """The group of trials in the job's result."""
        (group,) = json.loads((self._folder / job / "result.json").read_text())["stats"]["evals"].values()
        return group

    def trial(self, job: str, task: str) -> dict[str, Any]:
        return json.loads((self._trial(job, task) / "result.json").read_text())

    def rewards(self, job: str, task: str) -> dict[str, float]:
        return self.trial(job, task)["verifier_result"]["rewards"]

    def verifier(self, job: str, task: str, file: str) -> Any:
        return json.loads((self._trial(job, task) / "verifier" / file).read_text())

    def _trial(self, job: str, task: str) -> Path:
        (place,) = (self._folder / job).glob(f"{task}__*")
        return place


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine allows no mount namespaces, which stand for Harbor's containers here")
    folder = tmp_path_factory.mktemp("harbor")
    (folder / "sandbox.py").write_text(SANDBOX)
    page = "adapters/harbor.md"
    plain, beside = (block(page, "bash", number) for number in (1, 2))
    for name, document in documents().items():
        _task(folder / "tasks" / name, document, {"test.sh": plain})
    _task(folder / "tasks" / "empty", None, {"test.sh": plain})
    small = documents()["small"]
    _task(folder / "tasks" / "beside", small, {"test.sh": beside})
    kit = {
        "test.sh": "#!/bin/bash\npython -m rewardkit /tests\n",
        "steps.py": block(page, "python", 1),
        "known.py": block(page, "python", 2),
        "judged.toml": block(page, "toml", 2),
    }
    _task(folder / "tasks" / "kit", small, kit)
    path = f"{hosts.interpreter('harbor').parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0", "STEPJUDGE_CLIENT_KEY": "", "PATH": path}
    with judged(folder / "service") as service, judged(folder / "without", provider_is_up=False) as dead:
        hosts.run("harbor", SCRIPT, service.url, dead.url, folder=folder, **quiet)
    return Jobs(folder / "jobs")


def test_the_step_level_score_is_the_reward_and_harbor_takes_its_mean(jobs: Jobs) -> None:
    found = {task: jobs.rewards("first", task) for task in ("museum", "pytest-5262", "small")}
    expected = {"museum": 3 / 6, "pytest-5262": 7 / 8, "small": 2 / 3}
    assert found == {task: {"reward": pytest.approx(value)} for task, value in expected.items()}
    assert jobs.of("first")["metrics"] == [{"mean": pytest.approx(sum(expected.values()) / 3)}]


def test_a_trial_that_cannot_be_scored_is_a_verifiers_error_and_in_no_mean(jobs: Jobs) -> None:
    assert jobs.trial("first", "empty")["exception_info"]["exception_type"] == "RewardFileNotFoundError"
    assert (jobs.of("first")["n_trials"], jobs.of("first")["n_errors"]) == (3, 1)
    assert "trajectory.json" in jobs.verifier("first", "empty", "stepjudge.json")["not_scored"]


def test_the_details_are_the_steps_with_their_reasons(jobs: Jobs) -> None:
    details = jobs.verifier("first", "small", "reward-details.json")["step_level"]
    assert [each["value"] for each in details["criteria"]] == [1.0, 0.0, 1.0]
    assert details["criteria"][1]["name"].startswith("step 2 (weather)")
    assert "scripted: step 2 brought nothing" in details["criteria"][1]["reasoning"]
    assert jobs.verifier("first", "small", "stepjudge.json")["recoveries"] == 1


def test_scores_stand_beside_the_outcome_and_the_second_run_is_free(jobs: Jobs) -> None:
    assert jobs.rewards("beside", "beside") == {
        "reward": 1.0,
        "step_level": pytest.approx(2 / 3),
        "tool_call_precision": pytest.approx(1 / 2),
    }
    assert jobs.verifier("beside", "beside", "stepjudge.json")["requests"] == 0


def test_rewardkit_has_the_scores_as_criteria_and_as_its_judge(jobs: Jobs) -> None:
    of_steps, of_judge = (2 * 2 / 3 + 1) / 3, (2 / 3 + 1 / 2) / 2
    assert jobs.rewards("beside", "kit") == {"reward": pytest.approx((of_steps + of_judge) / 2, abs=1e-3)}
    parts = jobs.verifier("beside", "kit", "reward-details.json")["reward"]["components"]
    details = {part["name"]: part["detail"] for part in parts}
    assert [each["name"] for each in details["steps"]["criteria"]] == ["step_level", "argument_accuracy"]
    assert [each["name"] for each in details["judged"]["criteria"]] == ["step_level", "tool_call_precision"]
    for each in details.values():
        assert "scripted: step 2 brought nothing" in each["criteria"][0]["reasoning"]


@pytest.mark.parametrize("task", ["beside", "kit"])
def test_a_failed_judge_leaves_no_reward_behind(jobs: Jobs, task: str) -> None:
    assert jobs.trial("dead", task)["verifier_result"] is None
    assert jobs.trial("dead", task)["exception_info"]["exception_type"] == "RewardFileNotFoundError"
    assert jobs.of("dead")["metrics"] == []


def test_the_outcome_of_a_trial_without_a_judge_is_kept_aside(jobs: Jobs) -> None:
    kept = jobs.verifier("dead", "beside", "stepjudge.json")
    assert kept["rewards"] == {"reward": 1.0}
    assert "the judge failed" in kept["not_scored"]


def _task(place: Path, document: Any, tests: dict[str, str]) -> None:
    """A task whose solution is to leave a trajectory; none for a task without a document."""
    for each in ("environment", "solution", "tests"):
        (place / each).mkdir(parents=True)
    (place / "instruction.md").write_text("Do it.")
    (place / "task.toml").write_text(TASK.format(env=block("adapters/harbor.md", "toml", 1)))
    (place / "environment" / "Dockerfile").write_text("FROM scratch\n")
    trajectory = to_atif(next(read_document(document))) if document else {}
    (place / "solution" / "trajectory.json").write_text(json.dumps(trajectory))
    (place / "solution" / "solve.sh").write_text(
        "#!/bin/bash\ncp /solution/trajectory.json /logs/agent/trajectory.json\n"
    )
    for name, text in tests.items():
        (place / "tests" / name).write_text(text)

"""NeMo: its own agent evaluation scores trials with the metric, under both names of the package, and over plain HTTP."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from judge_service.settings import ApiKey
from stepjudge.formats import read_document
from stepjudge.formats.to_atif import to_atif

import hosts
from documented import block, run_page
from judged import Judged, documents, judged
from serving import serving

SCRIPT = """
import asyncio, json, sys
from importlib import import_module
from pathlib import Path

root = sys.argv[1]
url, dead, folder = sys.argv[2], sys.argv[3], Path(sys.argv[4])
module = lambda name: import_module(f"{root}.{name}")
tasks, trials, evidence = module("agent_eval.tasks"), module("agent_eval.trials"), module("values.evidence")
from stepjudge.adapters.nemo import StepJudgeMetric

atif = {file.stem: json.loads(file.read_text()) for file in sorted((folder / "traces").glob("*.json"))}

def trial(id, status="completed", **descriptors):
    made = {key.replace("_", ":"): evidence.EvidenceDescriptor(kind="trace", **value) for key, value in descriptors.items()}
    return trials.AgentEvalTrial(id=id, task_id="task", status=status, output=trials.AgentOutput(output_text="x"),
                                 evidence=evidence.CandidateEvidence(descriptors=made) if made else None)

def run(name, metrics, of, parallelism=8, **more):
    where = {"work_dir" if "work_dir" in tasks.AgentEvalRunConfig.model_fields else "output_dir": folder / name}
    config = tasks.AgentEvalRunConfig(**where, parallelism=parallelism)
    task = tasks.AgentEvalTask(id="task", intent="i", inputs={"instruction": "i"}, reference={"expected": "SECRET-REFERENCE"},
                               metrics=metrics, **more)
    result = module("agent_eval.evaluator").AgentEvaluator().run_sync(tasks=[task], trials=of, config=config)
    if hasattr(result, "persist"):
        result.persist(folder / name)
    return result

view = tasks.SemanticView(reducer="all", signals=[tasks.ViewSignal(metric="stepjudge", output="step_level")])
three = [
    trial("museum", trace={"format": "otlp", "data": {"resourceSpans": []}}, trace_atif={"format": "atif", "data": atif["museum"]}),
    trial("pytest-5262", trace={"format": "atif", "ref": str(folder / "traces" / "pytest-5262.json")}),
    trial("small", trace={"format": "atif", "data": atif["small"]}),
]
run("first", [StepJudgeMetric(url=url)], [*three, trial("empty"), trial("crashed", "failed", trace={"data": {}})], views={"all": view})
run("again", [StepJudgeMetric(url=url)], module("agent_eval.persistence").read_trials(folder / "first")[:3])
run("dead", [StepJudgeMetric(url=dead), StepJudgeMetric(type="unreachable", url="http://127.0.0.1:9")], three)

short = lambda n: {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": [
    {"step_id": 1, "source": "user", "message": f"What is {n} + 1?"}, {"step_id": 2, "source": "agent", "message": f"{n + 1}"}]}
hundred = run("hundred", [StepJudgeMetric(url=url)], [trial(f"t{n}", trace={"format": "atif", "data": short(n)}) for n in range(100)], 100)

exec((folder / "remote.py").read_text().replace("nhx_evals_sdk", root))
run("remote", [steps_over_http(url)], [three[2]])
run("remote-dead", [steps_over_http(dead).model_copy(update={"max_retries": 0})], [three[2]])

import pickle
assert pickle.loads(pickle.dumps(StepJudgeMetric(url=url))).type == "stepjudge"
print(json.dumps({"hundred": [score.status.value for score in hundred.scores]}))
"""


@pytest.fixture(scope="module", params=["nemo", "nemo-platform"])
def bundles(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Bundles"]:
    folder = tmp_path_factory.mktemp("nemo")
    _write_traces(folder)
    (folder / "remote.py").write_text(block("adapters/nemo.md", number=2))
    root = {"nemo": "nhx_evals_sdk", "nemo-platform": "nemo_evaluator_sdk"}[request.param]
    with (
        judged(folder / "service", concurrency=8, latency=0.05) as service,
        judged(folder / "dead", provider_is_up=False) as dead,
    ):
        hosts.run(request.param, SCRIPT, root, service.url, dead.url, str(folder), folder=folder)
        yield Bundles(folder, service)


class Bundles:
    """What NeMo wrote: its run bundles by name."""

    def __init__(self, folder: Path, service: Judged) -> None:
        self._folder = folder
        self.service = service

    def scores(self, name: str) -> dict[str, dict[str, Any]]:
        """The scores of a run by trial, and by metric where it has several."""
        lines = (self._folder / name / "scores.jsonl").read_text().splitlines()
        return {f"{each['trial_id']}": each for each in map(json.loads, lines)}

    def summary(self, name: str) -> dict[str, Any]:
        summary = json.loads((self._folder / name / "summary.json").read_text())
        return {each["name"]: each for each in summary["scores"]["scores"]}

    def report(self, name: str) -> str:
        return (self._folder / name / "report.html").read_text()


def test_trials_are_scored_from_inline_evidence_from_files_and_beside_another_encoding(bundles: Bundles) -> None:
    scores = bundles.scores("first")
    assert {id: _outputs(scores[id]).get("step_level") for id in ("museum", "pytest-5262", "small")} == {
        "museum": 3 / 6,
        "pytest-5262": 7 / 8,
        "small": 2 / 3,
    }
    mean = bundles.summary("first")["stepjudge.step_level"]
    assert mean["mean"] == pytest.approx((3 / 6 + 7 / 8 + 2 / 3) / 3)
    assert bundles.summary("first")["view.all"]["mean"] == pytest.approx(mean["mean"])


def test_every_step_is_a_diagnostic_with_its_answers_and_the_report_explains(bundles: Bundles) -> None:
    score = bundles.scores("first")["small"]
    whole, *steps = score["diagnostics"]
    assert whole["message"] == _outputs(score)["explanation"]
    assert [each["details"]["step"] for each in steps] == [1, 2, 3]
    assert "scripted: step 2 brought nothing" in steps[1]["message"]
    assert {each["criterion"] for each in steps[1]["details"]["findings"]} >= {"valid", "relevant", "useful"}
    assert "scripted: step 2 brought nothing" in bundles.report("first")


def test_what_cannot_be_scored_is_a_failed_score_outside_every_mean(bundles: Bundles) -> None:
    first, dead = bundles.scores("first"), bundles.scores("dead")
    assert first["empty"]["status"] == first["crashed"]["status"] == "failed"
    assert "no trace evidence" in first["empty"]["diagnostics"][0]["message"]
    assert bundles.summary("first")["stepjudge.step_level"]["count"] == 3
    assert {each["status"] for each in dead.values()} == {"failed"}
    summary = bundles.summary("dead")
    assert {summary[f"{name}.step_level"]["mean"] for name in ("stepjudge", "unreachable")} == {None}


def test_a_score_that_does_not_apply_is_in_no_mean(bundles: Bundles) -> None:
    rates = {id: _outputs(score).get("recovery_rate") for id, score in bundles.scores("first").items()}
    counted = [rate for rate in rates.values() if isinstance(rate, float)]
    assert bundles.summary("first")["stepjudge.recovery_rate"]["count"] == len(counted) > 0


def test_a_stored_bundle_is_scored_again_without_a_model(bundles: Bundles) -> None:
    for id, score in bundles.scores("again").items():
        assert score["diagnostics"][0]["details"]["requests"] == 0
        assert _outputs(score)["step_level"] == _outputs(bundles.scores("first")[id])["step_level"]


def test_a_hundred_trials_at_once_hold_to_the_limits_of_the_service(bundles: Bundles) -> None:
    assert {each["status"] for each in bundles.scores("hundred").values()} == {"completed"}
    assert len(bundles.scores("hundred")) == 100
    assert 1 < bundles.service.provider.in_flight_peak <= 8


def test_the_judge_never_sees_the_reference(bundles: Bundles) -> None:
    assert bundles.service.provider.count > 100
    assert not any("SECRET-REFERENCE" in request.user for request in bundles.service.provider.requests)


def test_nemos_own_remote_metric_reads_the_services_flat_numbers(bundles: Bundles) -> None:
    (score,) = bundles.scores("remote").values()
    outputs = _outputs(score)
    assert outputs["step_level"] == pytest.approx(2 / 3)
    (failed,) = bundles.scores("remote-dead").values()
    assert (failed["status"], failed["outputs"]) == ("failed", [])


def test_the_page_says_how_and_its_example_runs(tmp_path: Path, service: Judged) -> None:
    _write_traces(tmp_path)
    printed = run_page("adapters/nemo.md", "nemo", url=service.url, folder=tmp_path)
    assert "small completed 0.667" in printed
    assert "scripted: step 2 brought nothing" in printed
    assert "mean 0.681" in printed


def test_flat_numbers_leave_out_what_has_no_value_and_fail_where_there_is_none(
    service: Judged, without_judge: Judged
) -> None:
    one = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
    numbers = httpx2.post(f"{service.url}/v1/metrics/nemo", json={"trace": one}).json()
    assert (numbers["step_level"], numbers["steps"], numbers["undetermined"]) == (1.0, 1, 0)
    assert not {"tool_call_precision", "argument_accuracy", "recovery_rate"} & numbers.keys()

    failed = httpx2.post(f"{without_judge.url}/v1/metrics/nemo", json={"trace": one}, timeout=60)
    assert (failed.status_code, failed.json()["title"]) == (503, "Judge failed")
    by_rules = httpx2.post(f"{service.url}/v1/metrics/nemo", json={"trace": one, "judge": "rules"})
    assert (by_rules.status_code, by_rules.json()["title"]) == (422, "Nothing scored")


def test_numbers_are_for_those_who_may_ask_a_judge(tmp_path: Path) -> None:
    keys = {"bob": ApiKey(sha256=sha256(b"bob-secret").hexdigest(), scopes=("read",))}
    with serving(tmp_path, api_keys=keys) as url:
        statuses = [
            httpx2.post(f"{url}/v1/metrics/nemo", json={"trace": {}}, headers=headers).status_code
            for headers in ({}, {"authorization": "Bearer bob-secret"})
        ]
    assert statuses == [401, 403]


def _write_traces(folder: Path) -> None:
    (folder / "traces").mkdir()
    for name, document in documents().items():
        (trace,) = read_document(document)
        (folder / "traces" / f"{name}.json").write_text(json.dumps(to_atif(trace)))


def _outputs(score: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each["value"] for each in score["outputs"]}

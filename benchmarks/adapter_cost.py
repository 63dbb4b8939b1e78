"""What an adapter costs per sample over calling the client directly, and what samples with one beginning share.

All is asked of one service over HTTP whose verdicts are remembered: what is left is the round trip and the adapter. Each
adapter runs in its host's environment, made on first use, and is measured in turns with the client there, in one process.
Both clocks are medians over the rounds: the time that passed, whose floor is the ratio 1.0, and the processor's time in the
caller's process, which a busy machine disturbs less.

    python benchmarks/adapter_cost.py [--rounds 30] [--samples 20] [--hosts core pytest deepeval …]
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from stepjudge.client import JudgeClient

import hosts
from judged import SMALL, documents, judged

HEAD = """
import json, statistics, sys, time
from pathlib import Path
from stepjudge.client import JudgeClient

url, rounds = sys.argv[1], int(sys.argv[2])
trace = json.loads(Path("trace.json").read_text())

def measured(adapter):
    passed, busy = {"client": [], "adapter": []}, {"client": [], "adapter": []}
    with JudgeClient(url) as client:
        def direct():
            client.score(trace)
        for number in range(rounds + 3):  # the first rounds open connections and import what is imported late
            for name, call in (("client", direct), ("adapter", adapter)):
                start, begun = time.perf_counter(), time.process_time()
                call()
                if number >= 3:
                    passed[name].append(time.perf_counter() - start)
                    busy[name].append(time.process_time() - begun)
    print(json.dumps([[statistics.median(each) for each in clock.values()] for clock in (passed, busy)]))
"""

ADAPTERS = {
    "core": """
from stepjudge.adapters.metric import StepMetric
metric = StepMetric(url=url)
measured(lambda: metric.score(trace))
""",
    "pytest": """
from stepjudge import assert_steps
measured(lambda: assert_steps(trace, at_least=0.5, url=url))
""",
    "deepeval": """
from deepeval.test_case import LLMTestCase
from stepjudge.adapters.deepeval import StepJudgeMetric
metric = StepJudgeMetric(url=url)
case = LLMTestCase(input="-", actual_output="-", metadata={"trace": trace})
measured(lambda: metric.measure(case))
""",
    "pydantic-evals": """
import asyncio
from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals.otel import SpanTree
from stepjudge.adapters.pydantic_evals import StepJudge
judge = StepJudge(url=url)
context = EvaluatorContext(name="-", inputs="-", metadata=None, expected_output=None, output=trace, duration=0.0,
                           _span_tree=SpanTree(), attributes={}, metrics={})
with asyncio.Runner() as runner:
    measured(lambda: runner.run(judge.evaluate_async(context)))
""",
    "langsmith": """
from stepjudge.adapters.openevals import create_step_evaluator
evaluator = create_step_evaluator(url=url)
measured(lambda: evaluator(outputs=trace))
""",
    "phoenix": """
from stepjudge.adapters.phoenix import StepEvaluator
evaluator = StepEvaluator(url=url)
measured(lambda: evaluator.evaluate({"trace": trace}))
""",
    "mlflow": """
from stepjudge.adapters.mlflow import StepScorer
scorer = StepScorer(url=url)
measured(lambda: scorer(outputs=trace))
""",
    "nemo": """
import asyncio
from nhx_evals_sdk.values.evidence import CandidateEvidence, EvidenceDescriptor
from nhx_evals_sdk.metrics.protocol import CandidateOutput, DatasetRow, MetricInput
from stepjudge.adapters.nemo import StepJudgeMetric
metric = StepJudgeMetric(url=url)
evidence = CandidateEvidence(descriptors={"trace": EvidenceDescriptor(kind="trace", data=trace)})
sample = MetricInput(row=DatasetRow(row_index=0, data={}), candidate=CandidateOutput(output_text="-", evidence=evidence))
with asyncio.Runner() as runner:
    measured(lambda: runner.run(metric.compute_scores(sample)))
""",
}
HOST = {"core": "deepeval", "pytest": "deepeval"}
"""Any environment will do."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--hosts", nargs="+", default=list(ADAPTERS), choices=list(ADAPTERS))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = documents()["pytest-5262"]
        (folder / "trace.json").write_text(json.dumps(trace))
        with judged(folder / "service") as service:
            _overhead(folder, service.url, chosen.rounds, chosen.hosts)
        with judged(folder / "other") as service:
            _shared(service.url, chosen.samples)
            print(f"model calls of the provider: {service.provider.count}")


def _overhead(folder: Path, url: str, rounds: int, names: list[str]) -> None:
    print(f"medians of {rounds} samples of 8 steps, all from cache; ms for each sample")
    print(f"{'':<16}{'time':>8}{'':>9}{'':>7}   {'processor':>9}")
    print(f"{'adapter':<16}{'client':>8}{'adapter':>9}{'ratio':>7}   {'client':>9}{'adapter':>9}{'ratio':>7}")
    for name in names:
        found = hosts.run_json(HOST.get(name, name), HEAD + ADAPTERS[name], url, str(rounds), folder=folder)
        (client, adapter), (busy_client, busy_adapter) = ([each * 1000 for each in clock] for clock in found)
        print(
            f"{name:<16}{client:>8.2f}{adapter:>9.2f}{adapter / client:>7.2f}   "
            f"{busy_client:>9.2f}{busy_adapter:>9.2f}{busy_adapter / busy_client:>7.2f}"
        )


def _shared(url: str, samples: int) -> None:
    """Attempts that begin alike and end each in its own answer: the beginning is judged once."""
    attempts = [_attempt(number) for number in range(samples)]
    with JudgeClient(url) as client:
        cards = [client.score(attempt) for attempt in attempts]
    steps, requests = sum(card.total_steps for card in cards), sum(card.requests for card in cards)
    print(f"{samples} attempts of 3 steps of which 2 are alike: {steps} steps, {requests} model calls")


def _attempt(number: int) -> dict[str, Any]:
    *alike, last = SMALL["messages"]
    return {**SMALL, "messages": [*alike, {**last, "content": f"{last['content']} (attempt {number})"}]}


if __name__ == "__main__":
    main()
